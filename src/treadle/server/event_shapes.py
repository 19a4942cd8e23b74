"""The JSON of events: the fields, the type, the number and the time."""

import functools
import operator
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import AwareDatetime, Field
from typing_extensions import TypeAliasType

from treadle.events import Event
from treadle.events.changes import ProposalEvent, SpanWritten, UiRequested
from treadle.server.openapi import object_type
from treadle.ui.messages import AnyRequest

_ABSTRACT = (ProposalEvent, SpanWritten)
_CLOSER: dict[tuple[type[Event], str], Any] = {(UiRequested, "request"): AnyRequest}
"""The types of fields that the package of the events cannot name."""


@functools.cache
def any_event() -> Any:
    """Any event, distinguished by `type`: the data of each message of `/events`."""
    shapes = [_shape(kind) for kind in sorted(_kinds(Event), key=lambda kind: kind.__name__)]
    either = functools.reduce(operator.or_, shapes)
    return TypeAliasType("Event", Annotated[either, Field(discriminator="type")])


def _kinds(base: type[Event]) -> Iterator[type[Event]]:
    for kind in base.__subclasses__():
        # `slots=True` creates a second class; the first exists until it is collected.
        if getattr(sys.modules[kind.__module__], kind.__name__, None) is kind:
            if kind not in _ABSTRACT:
                yield kind
            yield from _kinds(kind)


def _shape(kind: type[Event]) -> Any:
    own = get_type_hints(kind)
    return object_type(
        f"{kind.__name__}Event",
        kind,
        {"type": Literal[kind.__name__], "seq": int, "at": AwareDatetime}
        | {item.name: _CLOSER.get((kind, item.name), own[item.name]) for item in fields(kind)},
    )
