"""Converts events to the JSON that `--json` prints and other programs read, and back."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from uuid import UUID

from treadle.events import changes, types
from treadle.events.bus import Envelope
from treadle.events.types import Event
from treadle.json_records import from_json


def event_json(envelope: Envelope) -> dict[str, object]:
    """Return the event as a dict that `json.dumps` accepts.

    The dict is `{"type": "<class name>", "seq", "at", "request_id", …}`. `at` is RFC 3339 in UTC
    with microseconds. Ids become strings, enums become their values, and nested dataclasses become
    objects.
    """
    at = datetime.fromtimestamp(envelope.at_us // 1_000_000, UTC)
    at = at.replace(microsecond=envelope.at_us % 1_000_000)
    event = envelope.event
    return {
        "type": type(event).__name__,
        "seq": envelope.seq,
        "at": at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        **_object(event),
    }


def plain(value: object) -> object:
    """Return `value` converted to dicts, lists, strings, numbers, booleans and None only.

    Raises TypeError for a value that an event may not contain.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, UUID):
        return str(value)
    if is_dataclass(value):
        return _object(value)
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    raise TypeError(f"an event contains a {type(value).__name__}, which has no JSON form")


def _object(value: object) -> dict[str, object]:
    assert is_dataclass(value)
    return {field.name: plain(getattr(value, field.name)) for field in fields(value)}


def event_from_json(data: Mapping[str, object]) -> Event | None:
    """Read an event that `event_json` wrote. Returns None for an event of a newer version.

    Raises JsonMismatchError if a known event has an unknown form.
    """
    kind = _event_types().get(str(data.get("type")))
    if kind is None:
        return None
    event: Event = from_json(kind, data)
    return event


@cache
def _event_types() -> dict[str, type[Event]]:
    """The event classes by their names."""
    return {
        name: kind
        for module in (types, changes)
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, Event)
    }
