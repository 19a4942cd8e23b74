"""Objects on lines of their own, as tools write them for programs; whatever else may be there."""

import json
from typing import Any

Object = dict[str, Any]


def object_in(text: str) -> Object | None:
    """The object that a line is; None where it is none."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_in(value: Object, name: str) -> str:
    """A member that is text; empty where it is missing or something else."""
    member = value.get(name)
    return member if isinstance(member, str) else ""


def integer(value: Object, name: str) -> int | None:
    """A member that is a whole number; None where it is missing or something else."""
    member = value.get(name)
    return member if isinstance(member, int) and not isinstance(member, bool) else None


def object_at(value: Object, name: str) -> Object:
    """A member that is an object; an empty one where it is missing or something else."""
    member = value.get(name)
    return member if isinstance(member, dict) else {}


def objects_at(value: Object, name: str) -> list[Object]:
    """The objects in a member that is a list."""
    member = value.get(name)
    return [each for each in member if isinstance(each, dict)] if isinstance(member, list) else []
