"""Types for the JSON form of events, which the OpenAPI document contains.

The JSON of an event has the fields of the event, and also `type`, `seq` and `at`. An event of
another server of the project also has `origin_seq`, its number at that server.
"""

import functools
import operator
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, Literal, NotRequired, get_type_hints

from pydantic import AwareDatetime, Field
from typing_extensions import TypeAliasType

from treadle.events import Event
from treadle.events.changes import ProposalEvent, SpanWritten, UiRequested
from treadle.server.openapi import object_type
from treadle.ui.messages import AnyRequest

_ABSTRACT = (ProposalEvent, SpanWritten)
_EXACT_TYPES: dict[tuple[type[Event], str], Any] = {(UiRequested, "request"): AnyRequest}
"""The exact types of event fields that the event classes declare with a wider type.

The package `events` cannot import these types.
"""


@functools.cache
def any_event() -> Any:
    """Return the union of the JSON types of all events. The field `type` distinguishes them.

    Each message of `/events` contains one event.
    """
    event_types = [
        _json_type(kind) for kind in sorted(_kinds(Event), key=lambda kind: kind.__name__)
    ]
    union = functools.reduce(operator.or_, event_types)
    return TypeAliasType("Event", Annotated[union, Field(discriminator="type")])


def _kinds(base: type[Event]) -> Iterator[type[Event]]:
    for kind in base.__subclasses__():
        # The option `slots=True` of a dataclass replaces the class with a second one. The first
        # class stays in `__subclasses__()` until it is garbage-collected, so it is skipped here.
        if getattr(sys.modules[kind.__module__], kind.__name__, None) is kind:
            if kind not in _ABSTRACT:
                yield kind
            yield from _kinds(kind)


def _json_type(kind: type[Event]) -> Any:
    declared_types = get_type_hints(kind)
    return object_type(
        f"{kind.__name__}Event",
        kind,
        {
            "type": Literal[kind.__name__],
            "seq": int,
            "at": AwareDatetime,
            "origin_seq": NotRequired[int],
        }
        | {
            item.name: _EXACT_TYPES.get((kind, item.name), declared_types[item.name])
            for item in fields(kind)
        },
    )
