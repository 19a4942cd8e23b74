"""The span: one operation of a run, as it is recorded, stored, exchanged and shown."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import cast

from treadle.events.types import Usage

JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]
Attributes = Mapping[str, JsonValue]

WAITED = "treadle.approval.waited_us"
"""Attribute of a tool call: how long it waited for a person, in microseconds."""

TOOL_NAME_PREFIX = "execute_tool "
"""The name of a span of a tool call is this prefix and the name of the tool."""

ANALYST_LABEL = "treadle:analyst"
"""The label of all that is recorded of questions about the records themselves, which lists and
sums of the analyst leave out: asking must not change the answer."""

EXPERIMENT_LABEL = "treadle:experiment"
"""The label of every call that an experiment makes, including those that compare outputs."""

OWN_LABELS = (ANALYST_LABEL, EXPERIMENT_LABEL)
"""Labels of what Treadle's own analyst and experiments did, which lists leave out by default."""

REPOSITORY_LABEL = "treadle:repository:"
"""What the label begins with that says in which repository Treadle itself recorded a span."""

BUDGET_LABEL = "budget:"
"""What the label begins with that says for which budget a call of the gateway counts."""


def is_shown(label: str) -> bool:
    """Whether lists show the label: that of a repository is only for filters."""
    return not label.startswith(REPOSITORY_LABEL)


def given_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Those of a client's labels that it may give: none by which calls are counted or left out."""
    own = (ANALYST_LABEL, BUDGET_LABEL, REPOSITORY_LABEL)
    return tuple(sorted({label for label in labels if label and not label.startswith(own)}))


class SpanKind(StrEnum):
    """What a span is, whatever the vocabulary that it came in."""

    RUN = "run"
    """One user message and all that it set off."""
    MODEL = "model"
    """One attempt of one model request."""
    TOOL = "tool"
    RETRIEVAL = "retrieval"
    EMBEDDING = "embedding"
    AGENT = "agent"
    """A step of an agent or a chain that is not the whole run."""
    APPROVAL = "approval"
    """The wait for a person who was asked about a call."""
    OTHER = "other"


class SpanStatus(StrEnum):
    """How a span ended."""

    UNFINISHED = "unfinished"
    """No end was recorded: it still runs, or its process ended in the middle."""
    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    DENIED = "denied"
    """A rule or a person did not allow it, so it never ran."""


class CostSource(StrEnum):
    """Where the cost of a call is from."""

    REPORTED = "reported"
    """The provider or the instrumentation reported it."""
    PRICES = "prices"
    """Reckoned from the tokens and the table of prices."""


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A span of any trace that this one refers to without being its child."""

    trace_id: str
    span_id: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened at one moment of a span. `at_us` is Unix microseconds."""

    at_us: int
    name: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One operation of a run.

    All ids are opaque strings. Times are integer microseconds since the Unix epoch, exactly as
    they were reported: an end before the start is kept, and `duration_us` is then None. `tokens`,
    `cost` (US dollars, kept to the billionth) and `time_to_first_token_us` are None where nobody
    knows them, never 0. `attributes` holds, verbatim, what was reported, as JSON values; our own
    spans use the names of OpenTelemetry (`gen_ai.…`) where it has one, else `treadle.…`. Everything
    else is derived from them, in the same way whatever the vocabulary. `input` and `output` are
    the content: text, or JSON text; of a model call, a JSON list of messages in the form of
    OpenAI's chat requests. `labels` are sorted and differ from each other.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    kind: SpanKind
    operation: str
    """The operation name of OpenTelemetry, such as `chat` or `execute_tool`."""
    name: str
    start_us: int
    end_us: int | None = None
    status: SpanStatus = SpanStatus.UNFINISHED
    error: str | None = None
    """What went wrong, in words."""
    model: str | None = None
    provider: str | None = None
    tokens: Usage = field(default_factory=Usage)
    input_counts_cache: bool | None = None
    """Whether the source counted cached tokens inside its input; `tokens.input` always has them."""
    cost: float | None = None
    cost_source: CostSource | None = None
    time_to_first_token_us: int | None = None
    labels: tuple[str, ...] = ()
    thread_id: str | None = None
    """The thread that the span itself names; the store derives one for every run."""
    run_id: str | None = None
    """The run that the span itself names; the store derives one for every trace."""
    start_ns: int | None = None
    """The start as reported, where that was in nanoseconds since the Unix epoch."""
    end_ns: int | None = None
    attributes: Attributes = field(default_factory=dict)
    resource: Attributes = field(default_factory=dict)
    """What OpenTelemetry says of the program that reported it, and under `otel.scope.…` of the
    instrumentation."""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    input: str | None = None
    output: str | None = None

    @property
    def duration_us(self) -> int | None:
        """Microseconds from start to end; None while unfinished or when the clock went back."""
        if self.end_us is None or self.end_us < self.start_us:
            return None
        return self.end_us - self.start_us

    def to_json(self) -> dict[str, JsonValue]:
        """All fields by name, as JSON values."""
        values: dict[str, JsonValue] = {
            item.name: getattr(self, item.name) for item in fields(self)
        }
        values["tokens"] = {item.name: getattr(self.tokens, item.name) for item in fields(Usage)}
        values["events"] = [
            {"at_us": event.at_us, "name": event.name, "attributes": event.attributes}
            for event in self.events
        ]
        values["links"] = [
            {"trace_id": link.trace_id, "span_id": link.span_id, "attributes": link.attributes}
            for link in self.links
        ]
        return values


def more_complete(one: Span, other: Span) -> Span:
    """Which of two versions of a span to keep.

    The finished one wins, then the one with more events, then the one that knows more. What is
    still equal is decided by the text, so that the order of arrival never matters.
    """
    knowledge = _knowledge(one), _knowledge(other)
    if knowledge[0] != knowledge[1]:
        return one if knowledge[0] > knowledge[1] else other
    return max(one, other, key=lambda span: json.dumps(span.to_json(), sort_keys=True))


def _knowledge(span: Span) -> tuple[bool, int, int]:
    values = span.to_json()
    known = sum(value is not None for value in values.values())
    known += sum(
        value is not None for value in cast("Mapping[str, JsonValue]", values["tokens"]).values()
    )
    return span.end_us is not None, len(span.events), known + len(span.attributes)


@dataclass(frozen=True, slots=True)
class Trace:
    """All stored spans of one trace, by start time and then by id."""

    trace_id: str
    spans: tuple[Span, ...]

    @property
    def root(self) -> Span | None:
        """The span that names the trace; None for one without spans."""
        return true_root(self.spans)

    @property
    def status(self) -> SpanStatus:
        """The status of the root; unfinished of a trace without spans."""
        return self.root.status if self.root else SpanStatus.UNFINISHED


def true_root(spans: Sequence[Span]) -> Span | None:
    """The root that names a trace, by the rule that the store has too (`trace_states`).

    It is the earliest run without a parent, else the earliest span without one, else the earliest
    span: that of a trace whose root has not arrived. A span that is its own parent has none. A
    later child that calls itself a root is not it.
    """

    def rank(span: Span) -> tuple[bool, bool, int, str]:
        child = span.parent_id is not None and span.parent_id != span.span_id
        return child, child or span.kind is not SpanKind.RUN, span.start_us, span.span_id

    return min(spans, key=rank, default=None)
