"""The span: one operation of a run, as it is recorded, stored and exchanged."""

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, cast

from treadle.events.types import Usage

JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]
Attributes = Mapping[str, JsonValue]
NO_ATTRIBUTES: Attributes = MappingProxyType({})
Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]
"""The values that an application attaches to a span, by key. No value is a list or a map."""

MAX_METADATA = 32
"""The maximum number of values in the metadata of a span."""

MAX_METADATA_KEY = 100
"""The maximum length of a key of the metadata in characters."""

MAX_METADATA_TEXT = 512
"""The maximum length of a value of the metadata in characters."""

ROOT_WAIT_SECONDS = 300
"""The time after the last span of a trace, in seconds, until its root no longer is expected.

Exporters send spans at least every few minutes, and the root ends last.
"""

WAITED = "treadle.approval.waited_us"
"""The attribute with the number of microseconds that a tool call waited for a person."""

EXCEPTION_EVENT = "exception"
"""The name of the event with which instrumentations report an exception."""

TOOL_NAME_PREFIX = "execute_tool "
"""The prefix of the name of a tool call's span. The name of the tool follows it."""

ANALYST_LABEL = "treadle:analyst"
"""The label of the spans of Treadle's analyst, which answers questions about recorded traces.

Lists and sums for the analyst omit these spans, so that a question does not change its own answer.
"""

EXPERIMENT_LABEL = "treadle:experiment"
"""The label of every call of an experiment, including the calls that compare outputs."""

OWN_LABELS = (ANALYST_LABEL, EXPERIMENT_LABEL)
"""The labels of spans of Treadle's analyst and experiments, which lists omit by default."""

REPOSITORY_LABEL = "treadle:repository:"
"""The prefix of the label that names the repository in which Treadle recorded a span."""

BUDGET_LABEL = "budget:"
"""The prefix of the label that names the budget of a gateway call."""


def is_shown(label: str) -> bool:
    """Return whether lists show the label. The label of a repository is only used in filters."""
    return not label.startswith(REPOSITORY_LABEL)


def given_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the given labels that a client may set, sorted and without duplicates.

    Labels that affect the counting of a call are reserved for Treadle.
    """
    reserved = (ANALYST_LABEL, BUDGET_LABEL, REPOSITORY_LABEL)
    return tuple(sorted({label for label in labels if label and not label.startswith(reserved)}))


def flat_metadata(values: Attributes) -> dict[str, Scalar]:
    """Return `values` as metadata.

    A key in a nested map is joined to the outer key with a dot. Lists and empty texts are omitted,
    and so are values after the first `MAX_METADATA`. Keys and texts above their limits are omitted
    and not cut, since a part of a value would be a different value.
    """
    found: dict[str, Scalar] = {}
    _flatten("", values, found)
    return found


def _flatten(prefix: str, values: Attributes, found: dict[str, Scalar]) -> None:
    for name, value in values.items():
        key = f"{prefix}{name}"
        if len(found) >= MAX_METADATA:
            return
        if len(key) > MAX_METADATA_KEY:
            continue
        if isinstance(value, Mapping):
            _flatten(f"{key}.", value, found)
        elif is_metadata(key, value):
            found.setdefault(key, cast("Scalar", value))


def is_metadata(key: str, value: JsonValue) -> bool:
    """Return whether a key and its value are within the limits of the metadata of a span."""
    if not 0 < len(key) <= MAX_METADATA_KEY or not key.isprintable():
        return False
    if isinstance(value, str):
        return 0 < len(value) <= MAX_METADATA_TEXT
    if isinstance(value, int):
        return abs(value) < 1 << 63
    return isinstance(value, float) and math.isfinite(value)


def inheritable_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels of a root that the other spans of its trace inherit.

    A label that Treadle sets describes only its span.
    """
    own = (*OWN_LABELS, BUDGET_LABEL, REPOSITORY_LABEL)
    return tuple(label for label in labels if not label.startswith(own))


class SpanKind(StrEnum):
    """The kind of an operation, which does not depend on the vocabulary of its attributes."""

    RUN = "run"
    """One user message and all operations that it causes."""
    MODEL = "model"
    """One attempt of one model request."""
    TOOL = "tool"
    RETRIEVAL = "retrieval"
    EMBEDDING = "embedding"
    AGENT = "agent"
    """A step of an agent or a chain that is not the whole run."""
    APPROVAL = "approval"
    """The wait for a person's decision about a tool call."""
    OTHER = "other"


class SpanStatus(StrEnum):
    """The outcome of a span."""

    UNFINISHED = "unfinished"
    """No end is recorded: the operation still runs, or its process died."""
    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    DENIED = "denied"
    """A rule or a person refused the call, so it never ran."""


class CostSource(StrEnum):
    """The source of the cost of a call."""

    REPORTED = "reported"
    """The provider or the instrumentation reported the cost."""
    PRICES = "prices"
    """Treadle calculated the cost from the tokens and the price table."""
    BASE_MODEL = "base_model"
    """An estimate: the price table lacks this snapshot of a model, but has its base model."""


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A reference to a span that is not the parent. That span may be in another trace."""

    trace_id: str
    span_id: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event within a span. `at_us` is in microseconds since the Unix epoch."""

    at_us: int
    name: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One operation of a run.

    All ids are opaque strings. Times are integer microseconds since the Unix epoch, exactly as
    reported. An end before the start is kept, but `duration_us` is None for such a span. `cost` is
    in US dollars, stored to the billionth. If `tokens`, `cost` or `time_to_first_token_us` are
    unknown, they are None, never 0.

    `attributes` contains the reported attributes unchanged, as JSON values. Treadle's own spans use
    a name of OpenTelemetry (`gen_ai.…`) if there is one, and `treadle.…` otherwise. Other fields,
    such as `kind` and `tokens`, are derived from the attributes in the same way for every
    vocabulary. `input` and `output` are text or JSON text. For a model call, each is a JSON list of
    messages in the form of OpenAI's chat requests. `labels` are sorted and distinct.

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
    """The message of the error."""
    model: str | None = None
    provider: str | None = None
    tokens: Usage = field(default_factory=Usage)
    input_counts_cache: bool | None = None
    """Whether the source's input count includes cached tokens.

    The value is None if this is not known. `tokens.input` always includes cached tokens.
    """
    cost: float | None = None
    cost_source: CostSource | None = None
    time_to_first_token_us: int | None = None
    labels: tuple[str, ...] = ()
    thread_id: str | None = None
    """The thread that the span itself names. The store derives a thread for every run."""
    run_id: str | None = None
    """The run that the span itself names. The store derives a run for every trace."""
    user: str | None = None
    """The user of the application for whom the span ran."""
    release: str | None = None
    """The version of the application."""
    metadata: Metadata = field(default_factory=dict)
    """The values that the application attached, within the limits of `flat_metadata`."""
    start_ns: int | None = None
    """The start in nanoseconds since the Unix epoch, if it was reported in nanoseconds."""
    end_ns: int | None = None
    attributes: Attributes = field(default_factory=dict)
    resource: Attributes = field(default_factory=dict)
    """The attributes of the reporting program. `otel.scope.…` describes its instrumentation."""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    input: str | None = None
    output: str | None = None

    @property
    def duration_us(self) -> int | None:
        """The duration in microseconds.

        It is None if the span has no end, or if its end is before its start.
        """
        if self.end_us is None or self.end_us < self.start_us:
            return None
        return self.end_us - self.start_us

    def to_json(self) -> dict[str, JsonValue]:
        """Return all fields by name, as JSON values."""
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
    """Return the more complete of two versions of a span.

    A finished version is preferred to an unfinished one. Next, the version with more events is
    preferred, and then the version with more known values. If all of these are equal, the JSON text
    decides. Therefore the order of arrival does not matter.
    """
    ranks = _completeness(one), _completeness(other)
    if ranks[0] != ranks[1]:
        return one if ranks[0] > ranks[1] else other
    return max(one, other, key=lambda span: json.dumps(span.to_json(), sort_keys=True))


def _completeness(span: Span) -> tuple[bool, int, int]:
    values = span.to_json()
    known = sum(value is not None for value in values.values())
    known += sum(
        value is not None for value in cast("Mapping[str, JsonValue]", values["tokens"]).values()
    )
    known += len(span.attributes) + len(span.metadata)
    return span.end_us is not None, len(span.events), known


class SpanReference(NamedTuple):
    """The ids of a span."""

    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True)
class SameCall:
    """Another span that recorded the same call (`spans.same_calls`).

    `other` is that span. `counted` is false if `other` counts instead of the span that has this
    record.
    """

    other: SpanReference
    counted: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """All stored spans of one trace, sorted by start time and then by id.

    `same_calls` has the other records of its calls, by span id.
    """

    trace_id: str
    spans: tuple[Span, ...]
    same_calls: Mapping[str, SameCall] = field(default_factory=dict)

    @property
    def root(self) -> Span | None:
        """The span that names the trace. It is None for a trace without spans."""
        return true_root(self.spans)

    @property
    def settled(self) -> bool:
        """Whether the true root has arrived, or no longer can be expected to arrive."""
        root = self.root
        if root is None or root.parent_id in {None, root.span_id}:
            return root is not None
        last_us = max(max(span.start_us, span.end_us or 0) for span in self.spans)
        return last_us < (time.time() - ROOT_WAIT_SECONDS) * 1_000_000

    @property
    def status(self) -> SpanStatus:
        """The status of the root. A trace without spans is unfinished.

        If only the earliest span is known, the trace is unfinished until it is `settled`.
        """
        root = self.root
        return root.status if root is not None and self.settled else SpanStatus.UNFINISHED

    @property
    def duration_us(self) -> int | None:
        """The duration of the root in microseconds. It is None while the trace is unfinished."""
        root = self.root
        return root.duration_us if root is not None and self.settled else None


def true_root(spans: Sequence[Span]) -> Span | None:
    """Return the root that names a trace, by the same rule as in the store (`trace_states`).

    The root is the earliest run without a parent, or the earliest other span without a parent. If
    every span has a parent, it is the earliest span. A span that is its own parent is treated as a
    span without a parent.
    """

    def rank(span: Span) -> tuple[bool, bool, int, str]:
        child = span.parent_id is not None and span.parent_id != span.span_id
        return child, child or span.kind is not SpanKind.RUN, span.start_us, span.span_id

    return min(spans, key=rank, default=None)
