"""How tools answer with recorded data: what is unknown is null, and an odd id stays as it is."""

import json
import re
from typing import Any

from pydantic import BaseModel, Field

_SURROGATE = re.compile("[\ud800-\udfff]")


def if_any(alias: str | None = None) -> Any:
    """A field that is left out where there is nothing to tell."""
    return Field(default=None, serialization_alias=alias, exclude_if=_nothing)


def _nothing(value: object) -> bool:
    return value is None or value == ()


def written(result: BaseModel) -> str:
    """A result as JSON, with its nulls; an id with half a surrogate pair comes back as it was."""
    values = result.model_dump(mode="json", by_alias=True)
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
