"""The values of a report: figures, tables, suspects with evidence, recommendations."""

from dataclasses import dataclass
from enum import StrEnum

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.evidence import Evidence, SpanReference


class Focus(StrEnum):
    """The subject of a report. Causes that do not concern the subject get lower scores."""

    EVERYTHING = "everything"
    ERRORS = "errors"
    PERFORMANCE = "performance"
    COST = "cost"


class Cause(StrEnum):
    """The causes that a report can name."""

    FAILED_CALL = "failed call"
    """A call ended with an error, or its result reports one."""
    FAILED_STEP = "failed step"
    """A span that is not a call ended with an error, such as a run or an agent."""
    SWALLOWED_EXCEPTION = "swallowed exception"
    """A call has an exception although its status is ok."""
    EMPTY_RESULT = "silent empty result"
    """A call found nothing, and its status does not report that."""
    ODD_RESULT = "odd result"
    """The form of a result differs from the form of nearly all other results of its tool."""
    WRONG_ARGUMENT = "wrong argument"
    """A call has an argument that the tool does not have, or lacks a required argument."""
    UNKNOWN_TOOL = "unknown tool"
    LOOP = "loop"
    """The same call was repeated although it had already returned an answer."""
    RETRIES = "retries"
    """The same call was repeated because it failed."""
    POLLING = "polling"
    """The same call was repeated until its answer changed."""
    SLOW_STEP = "slow step"
    NEVER_ENDED = "never ended"
    TRUNCATED_OUTPUT = "truncated output"
    BAD_REPLY = "bad reply"
    """A reply refuses, is empty, or was filtered or interrupted."""
    CONTRADICTORY_PROMPT = "contradictory prompt"
    OTHER_MODEL = "other model"
    """A call went to another model than its peers."""
    CACHE_MISS = "cache miss"
    COST_SPIKE = "cost spike"
    LARGE_RESULT = "large result"
    """Later requests contain this result and are therefore far larger."""
    STOPPED_RUN = "stopped run"
    """A limit or a guardrail ended a run before its answer."""
    DENIED_CALL = "denied call"
    UNANSWERED_CALL = "unanswered call"
    """A later request contains a tool call without its result."""
    RULE_MATCH = "rule match"
    """A rule of the user matches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A span that may be the cause of a fault.

    `score` orders the suspects of one report. `why` contains sentences for a person, which quote
    recorded text. `also` contains other spans with the same fault.
    """

    span: SpanReference
    name: str
    """The recorded name of the span."""
    kind: Cause
    severity: Severity
    why: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()
    score: float
    also: tuple[SpanReference, ...] = ()
    involved: tuple[SpanReference, ...] = ()
    """Spans that belong to this fault: repeated calls, or spans that show its consequences."""


class Unit(StrEnum):
    """The unit of a figure."""

    COUNT = "count"
    TOKENS = "tokens"
    MICROSECONDS = "us"
    DOLLARS = "dollars"
    SHARE = "share"
    """A share from 0 to 1."""
    TEXT = "text"
    """Recorded text, which is shown in quotation marks."""
    WORDS = "words"
    """Text that Treadle wrote, which is shown without quotation marks."""


@dataclass(frozen=True, slots=True)
class NamedSpan:
    """A span as a value of a table: its recorded name, and its identity for the link."""

    name: str
    span: SpanReference


Value = int | float | str | NamedSpan | None


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its name and unit. A `value` of None means that the number is unknown.

    `n` is the number of values from which the figure was computed. `before` is the same figure of
    the preceding period.
    """

    name: str
    value: int | float | None
    unit: Unit
    n: int | None = None
    before: int | float | None = None

    @property
    def change_percent(self) -> float | None:
        """The change in percent. It is None if the preceding figure is unknown or 0."""
        if self.value is None or not self.before:
            return None
        return 100 * (self.value - self.before) / self.before


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values. `units` contains the unit of each column."""

    title: str
    columns: tuple[str, ...]
    units: tuple[Unit, ...]
    rows: tuple[tuple[Value, ...], ...]
    left_out: int = 0
    """The number of rows that were left out at the end."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do about a cause, and the span with the highest score for this cause."""

    advice: str
    name: str
    """The recorded name of the span."""
    span: SpanReference


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The report on the spans that match a query. Equal spans give equal reports.

    `total` is the number of matching spans. The figures cover all matching spans. Causes are
    searched only in the newest `read` spans.
    """

    total: int
    read: int
    summary: tuple[str, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    issues: tuple[Suspect, ...]
    """The suspects, the likeliest cause first."""
    issues_left_out: int
    recommendations: tuple[Recommendation, ...]
