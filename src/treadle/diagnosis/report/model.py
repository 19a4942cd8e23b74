"""What an analysis says: figures, tables, suspects with evidence, and what to do."""

from dataclasses import dataclass
from enum import StrEnum

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.evidence import Evidence, SpanReference
from treadle.diagnosis.repeated_failures import RepeatedFailure
from treadle.spans.page_links import span_link


class Focus(StrEnum):
    """What an analysis is asked for. It decides which causes count most."""

    EVERYTHING = "everything"
    ERRORS = "errors"
    PERFORMANCE = "performance"
    COST = "cost"


class Cause(StrEnum):
    """What may have been at the bottom of it. The closed vocabulary of suspects."""

    FAILED_CALL = "failed call"
    """A call that ended with an error, or whose result says that it failed."""
    SWALLOWED_EXCEPTION = "swallowed exception"
    """An exception in a call that nevertheless says that it went well."""
    EMPTY_RESULT = "silent empty result"
    """A call that found nothing and did not say so by its status."""
    ODD_RESULT = "odd result"
    """A result of another form than all others of its tool."""
    WRONG_ARGUMENT = "wrong argument"
    """A call with an argument that the tool does not have, or without one that it needs."""
    UNKNOWN_TOOL = "unknown tool"
    LOOP = "loop"
    """The same tool with the same arguments again and again, though it had answered."""
    RETRIES = "retries"
    """The same call again and again since it failed."""
    POLLING = "polling"
    """The same call again and again, with other answers: somebody waits for a change."""
    SLOW_STEP = "slow step"
    NEVER_ENDED = "never ended"
    TRUNCATED_OUTPUT = "truncated output"
    BAD_REPLY = "bad reply"
    """A reply that refuses, is empty, was filtered or broken off."""
    CONTRADICTORY_PROMPT = "contradictory prompt"
    OTHER_MODEL = "other model"
    """A call of another model than all its likes."""
    CACHE_MISS = "cache miss"
    COST_SPIKE = "cost spike"
    LARGE_RESULT = "large result"
    """A result whose text every later request carries along."""
    FAULT = "fault"
    """Anything else that a detector found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A span that may be the cause of what went wrong.

    `score` orders suspects, the likeliest first; it compares within one analysis alone. `why` are
    sentences for a person; what they repeat of a trace is quoted. `also` are spans that show the
    same, or that only followed from it.
    """

    span: SpanReference
    name: str
    """The name of the span, as it was recorded."""
    kind: Cause
    severity: Severity
    why: tuple[str, ...]
    evidence: tuple[Evidence, ...] = ()
    score: float
    also: tuple[SpanReference, ...] = ()

    @property
    def link(self) -> str:
        """Where the page shows the span."""
        return span_link(self.span.trace_id, self.span.span_id)


class Unit(StrEnum):
    """How a figure is written."""

    COUNT = "count"
    TOKENS = "tokens"
    MICROSECONDS = "us"
    DOLLARS = "dollars"
    SHARE = "share"
    """0 to 1."""
    TEXT = "text"
    """Recorded text, which is quoted where it is shown."""
    WORDS = "words"
    """Words of ours."""


Value = int | float | str | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its name. `value` is None where nobody knows it.

    `n` is how many values it was made of, `before` the same figure of the period before.
    """

    name: str
    value: int | float | None
    unit: Unit
    n: int | None = None
    before: int | float | None = None

    @property
    def change_percent(self) -> float | None:
        """By how much it changed; None where the figure before is unknown or 0."""
        if self.value is None or not self.before:
            return None
        return 100 * (self.value - self.before) / self.before


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values; `units` says how each column is written."""

    title: str
    columns: tuple[str, ...]
    units: tuple[Unit, ...]
    rows: tuple[tuple[Value, ...], ...]
    left_out: int = 0
    """Rows that there would be besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The analysis of a set of spans at a snapshot; the same for the same spans.

    `total` spans fit the question. The figures are of all of them; causes were looked for in the
    newest `read` of these. `unverified` quotes did not stand where they should and were left out.
    """

    question: str
    """In the language of queries; empty for everything."""
    focus: Focus
    snapshot: int
    total: int
    read: int
    summary: tuple[str, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    repeated: tuple[RepeatedFailure, ...]
    issues: tuple[Suspect, ...]
    """The likeliest cause first."""
    issues_left_out: int
    recommendations: tuple[str, ...]
    unverified: int
