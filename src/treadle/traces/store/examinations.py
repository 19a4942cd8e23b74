"""The stored results of examinations, their tables, and the examiner that a caller passes."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from treadle.spans.span import Span


class ExaminationTable(StrEnum):
    """The tables of results. Each table has the results of one examiner at a time."""

    EXAMINED = "examined"
    """The results of the built-in detectors."""
    RULED = "ruled"
    """The results of the user's rules."""


@dataclass(frozen=True, slots=True)
class SpanExaminer:
    """Examines spans one at a time. Only one thread may use it.

    `examine` returns the result to store, or None if it finds nothing. Examiners with equal digests
    return equal results for every span.
    """

    table: ExaminationTable
    digest: bytes
    examine: Callable[[Span], bytes | None]


@dataclass(frozen=True, slots=True)
class Examination:
    """The stored result of the examination of one span."""

    trace_id: str
    span_id: str
    start_us: int
    result: bytes


@dataclass(frozen=True, slots=True)
class Examinations:
    """The results of the spans that match a query, in no particular order.

    `snapshot` has the meaning of `Summary.snapshot`. `spans` is the number of matching spans. One
    call examines a limited number of new spans. `unexamined` is the number of matching spans that
    remain for the next call.
    """

    snapshot: int
    spans: int
    unexamined: int
    data: tuple[Examination, ...]


EXAMINATION_TABLES: tuple[str, ...] = (
    """CREATE TABLE examined (
        span INTEGER PRIMARY KEY, -- spans.id
        call BLOB, -- no longer written
        found_nothing INTEGER NOT NULL, -- no longer written: always 0
        told BLOB -- the result of the detectors (diagnosis.detectors)
    )""",
    "CREATE INDEX examined_faults ON examined (span) WHERE told IS NOT NULL",
    "CREATE TABLE ruled (span INTEGER PRIMARY KEY, told BLOB NOT NULL) -- by the user's rules",
    """CREATE TABLE examinations (
        kept_in TEXT PRIMARY KEY, -- the table
        digest BLOB, revision INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "INSERT INTO examinations VALUES ('examined', NULL, 0), ('ruled', NULL, 0)",
)
"""The tables that version 5 of the schema adds.

Each row is the result for one version of a span, and is deleted with that version. A span without a
result has no row. `examinations` has the revision up to which all spans were examined, and the
digest of the examiner. NULL means that nothing was examined.
"""

KEYED_BY_SPAN = ("examined", "ruled")
"""Tables whose column `span` is the key of a span."""
