"""What a store keeps of the examination of a span, and the examiner that its caller injects."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from treadle.spans.span import Span


class ExaminationTable(StrEnum):
    """The tables of results. Each has one examiner at a time."""

    EXAMINED = "examined"
    """The results of the built-in detectors."""
    RULED = "ruled"
    """The results of the user's rules."""


@dataclass(frozen=True, slots=True)
class SpanExaminer:
    """Examines spans one at a time, for one thread.

    `examine` returns the result to store, or None where it finds nothing. Equal digests mean equal
    results for every span.
    """

    table: ExaminationTable
    digest: bytes
    examine: Callable[[Span], bytes | None]


@dataclass(frozen=True, slots=True)
class Examination:
    """The stored result of one span."""

    trace_id: str
    span_id: str
    start_us: int
    result: bytes


@dataclass(frozen=True, slots=True)
class Examinations:
    """The results of the spans that match a query, in no particular order.

    `snapshot` is as that of a `Summary`. `spans` match. Of these, `unexamined` are new and were too
    many to examine for this call; the next call continues with them.
    """

    snapshot: int
    spans: int
    unexamined: int
    data: tuple[Examination, ...]
