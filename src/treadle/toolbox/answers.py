"""How tools answer with recorded data: what is unknown is null, and an odd id stays as it is."""

import json
from typing import Any

from pydantic import BaseModel, Field

from treadle.visible import in_json


def if_any(alias: str | None = None) -> Any:
    """A field that is omitted if it is empty."""
    return Field(default=None, serialization_alias=alias, exclude_if=_nothing)


def _nothing(value: object) -> bool:
    return value is None or value == ()


def written(result: BaseModel) -> str:
    """A result as JSON, with its nulls.

    Ids and labels are exact, since callers pass them back: what is hidden in one is an escape.
    """
    values = result.model_dump(mode="json", by_alias=True)
    return in_json(json.dumps(values, ensure_ascii=False, separators=(",", ":")))
