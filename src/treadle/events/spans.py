"""Events about spans that were written, by whatever way they came. The store is the truth."""

from dataclasses import dataclass
from typing import ClassVar

from treadle.events.types import Delivery, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanWritten(Event):
    """A span as the store has it from `revision` on."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    trace_id: str
    span_id: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanStarted(SpanWritten):
    """A span was written that has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEnded(SpanWritten):
    """A span was written that has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansLeftOut(Event):
    """More spans were written at once than are announced; a front end reads its list again.

    There are `count` of them, up to `revision`.
    """

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    count: int
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpansDeleted(Event):
    """A person deleted so many spans of so many traces here; who shows any reads it again."""

    delivery: ClassVar[Delivery] = Delivery.LOSSY

    spans: int
    traces: int
