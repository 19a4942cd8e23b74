"""The results of the store's queries, which are also the JSON of the server and the tools."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

from treadle.events.types import Usage
from treadle.json_values import JsonField, json_property
from treadle.spans.span import (
    ROOT_WAIT_SECONDS,
    CostSource,
    SpanKind,
    SpanReference,
    SpanStatus,
    is_shown,
)
from treadle.spans.totals import Totals
from treadle.traces.query.amounts import NANO
from treadle.traces.query.conditions import METADATA_PREFIX, Field, Rows
from treadle.traces.query.language import write_value
from treadle.traces.store.counters import COUNTER_NAMES
from treadle.traces.store.percentiles import Percentiles
from treadle.traces.store.properties import property_pairs
from treadle.traces.store.statements import From, Selection, plain


def dollars(nano: int | None) -> float | None:
    """Return the US dollars of a number of billionths. None stays None."""
    return None if nano is None else nano / NANO


def _cost_source(value: str | None) -> CostSource | None:
    return CostSource(value) if value else None


@lru_cache(4_096)
def shown_labels(labels: str | None) -> tuple[str, ...]:
    """Return those labels in a value of the column `labels` that lists show."""
    return tuple(filter(is_shown, json.loads(labels))) if labels else ()


SAME_CALL = tuple(
    f"""iif(s.same_as IS NULL, NULL, (
        SELECT {column} FROM spans o JOIN traces ON traces.id = o.trace WHERE o.id = s.same_as
    ))"""  # noqa: S608  (names of columns)
    for column in ("trace_id", "span_id")
)
"""SQL of the trace id and the span id of the span that recorded the same call as the span `s`."""


def _same_call(trace_id: str | None, span_id: str | None) -> SpanReference | None:
    return None if trace_id is None or span_id is None else SpanReference(trace_id, span_id)


def user_in(properties: str | None) -> str | None:
    """Return the user in the column `properties` of a span."""
    return _property(properties, Field.USER)


def release_in(properties: str | None) -> str | None:
    """Return the release in the column `properties` of a span."""
    return _property(properties, Field.RELEASE)


def _property(properties: str | None, name: str) -> str | None:
    return next((plain(value) for key, value in property_pairs(properties) if key == name), None)


def metadata_in(properties: str | None) -> Mapping[str, str]:
    """Return the metadata in the column `properties` of a span."""
    pairs = ((plain(name), plain(value)) for name, value in property_pairs(properties))
    return {
        name.removeprefix(METADATA_PREFIX): value
        for name, value in pairs
        if name.startswith(METADATA_PREFIX)
    }


_USER = From("s.properties", convert=user_in)
_RELEASE = From("s.properties", convert=release_in)
_METADATA = From("s.properties", convert=metadata_in)


class ListedSpan(NamedTuple):
    """A span as lists show it.

    `key` orders spans by their start. The previews are the beginnings of the input and the output.
    `counted` is false for a call of a model if another record of the request counts instead. That
    record is a call inside or around the span, or `same_call`. `same_call` is a span of another
    trace that recorded the same call. One of these two spans is of the gateway, and one counts. If
    the span does not state a user, a release or a key of the metadata, it has that of the root.
    """

    key: Annotated[int, From("s.id"), JsonField(omit=True)]
    trace_id: Annotated[str, From("t.trace_id")]
    span_id: str
    parent_id: str | None
    run_id: Annotated[str, From("t.run_id")]
    thread_id: Annotated[str, From("r.thread_id")]
    kind: Annotated[SpanKind, From("s.kind", convert=SpanKind)]
    operation: str
    name: str
    status: Annotated[SpanStatus, From("s.status", convert=SpanStatus)]
    error: str | None
    error_type: str | None
    model: str | None
    provider: str | None
    start_us: int
    end_us: int | None
    duration_us: int | None
    time_to_first_token_us: Annotated[int | None, From("s.ttft_us")]
    tokens: Annotated[
        Usage,
        From(
            "s.input_tokens",
            "s.output_tokens",
            "s.cached_tokens",
            "s.reasoning_tokens",
            "s.cache_write_tokens",
            convert=Usage,
        ),
    ]
    cost: Annotated[float | None, From("s.cost_nano", convert=dollars)]
    cost_source: Annotated[CostSource | None, From("s.cost_source", convert=_cost_source)]
    counted: Annotated[bool, From("s.counted", convert=bool)]
    same_call: Annotated[SpanReference | None, From(*SAME_CALL, convert=_same_call)]
    labels: Annotated[tuple[str, ...], From("s.labels", convert=shown_labels)]
    user: Annotated[str | None, _USER]
    release: Annotated[str | None, _RELEASE]
    metadata: Annotated[Mapping[str, str], _METADATA]
    input_preview: str | None
    output_preview: str | None
    revision: int


LISTED_SPAN = Selection(ListedSpan, "s")
"""Reads a `ListedSpan` from spans `s`, their traces `t` and their runs `r`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """The sums of the spans of a run, a thread or a group.

    Tokens and cost are sums of the known values. They are None if no value is known. `busy_us` is
    the sum of all durations in microseconds, whether they overlap or not. `errors` counts failed
    spans of any kind. `faults` counts the failed spans without a failed child, so an exception that
    passes from a tool to its run counts once.
    """

    totals: Annotated[Totals, JsonField(inline=True)]
    errors: int
    faults: int
    unfinished: int
    busy_us: int


def sums(*counters: int | None) -> Sums:
    """Return the sums of a row of counters.

    If there is no span, SQL returns None for all counters.
    """
    of = {name: count or 0 for name, count in zip(COUNTER_NAMES, counters, strict=True)}
    metered = of["metered"] > 0
    usage = Usage(
        input=of["input_tokens"] if metered or of["input_tokens"] else None,
        output=of["output_tokens"] if metered or of["output_tokens"] else None,
        # No counter states how many calls reported these tokens, so a sum of 0 may be unknown.
        cached=of["cached_tokens"] or None,
        reasoning=of["reasoning_tokens"] or None,
        cache_write=of["cache_write_tokens"] or None,
    )
    return Sums(
        totals=Totals(
            spans=of["spans"],
            model_calls=of["model_calls"],
            tool_calls=of["tool_calls"],
            failed=of["failed"],
            tokens=usage,
            cost=dollars(of["cost_nano"]) if of["priced"] else None,
            unmetered=of["unmetered"],
            unpriced=of["unpriced"],
        ),
        errors=of["errors"],
        faults=of["faults"],
        unfinished=of["unfinished"],
        busy_us=of["busy_us"],
    )


_SUMS_OF_ROW = From(*(f"g.{name}" for name in COUNTER_NAMES), convert=sums)


QUESTION = """coalesce(s.input_preview, (
    SELECT m.input_preview FROM spans m
    WHERE m.trace = s.trace AND m.kind = 'model' AND m.input_preview IS NOT NULL
    ORDER BY m.id LIMIT 1
))"""
"""SQL of the question of the root `s`: its input, or else that of the first model call."""

_ANSWER = """coalesce(s.output_preview, iif(s.status = 'ok', (
    SELECT m.output_preview FROM spans m
    WHERE m.trace = s.trace AND m.kind = 'model' AND m.output_preview IS NOT NULL
    ORDER BY m.id DESC LIMIT 1
), NULL))"""
"""SQL of the answer of the root `s`: its output, or else that of the last model call.

The output of the last call of a run that failed, or that still runs, is not an answer.
"""


@dataclass(frozen=True, slots=True)
class ListedError:
    """A failed span of a run, with the beginning of its message.

    Many instrumentations begin the message with the type, which `error_type` already has.
    `message` is without that type.
    """

    trace_id: str
    span_id: str
    name: str
    error_type: str | None
    message: str | None


_SETTLED = f"t.rooted = 1 OR t.last_us < (unixepoch() - {ROOT_WAIT_SECONDS}) * 1000000"
STATUS_OF_ROOT = f"iif({_SETTLED}, s.status, 'unfinished')"
"""SQL of the status of a run from its root `s` and the root's trace `t`, as in `Trace.status`.

If the root has not arrived, `s` is the earliest span. Its status is not that of the run, so the run
is unfinished. The root may never arrive, for example because a program sends it to another
recorder. Therefore, after `ROOT_WAIT_SECONDS` without a span, the run has the earliest span's
status.
"""
DURATION_OF_ROOT = f"iif({_SETTLED}, s.duration_us, NULL)"


class RunSummary(NamedTuple):
    """A run as lists show it.

    `trace_id` is the trace of the run's root. `question` and `answer` are the beginnings of the
    root's input and output. If the root has no input, `question` is that of the first model call of
    its trace. If a successful root has no output, `answer` is that of the last model call. The
    user, release and metadata are those of the root. `duration_us` is the duration of the root.
    While the root is unfinished or has not arrived, `duration_us` is None and `status` is
    `unfinished`. `error` is the earliest span that counts as a fault, or else the
    earliest failed span.
    """

    key: Annotated[int, From("g.id"), JsonField(omit=True)]
    run_id: str
    thread_id: str
    trace_id: Annotated[str, From("t.trace_id")]
    name: Annotated[str, From("s.name")]
    question: Annotated[str | None, From(QUESTION)]
    answer: Annotated[str | None, From(_ANSWER)]
    status: Annotated[SpanStatus, From(STATUS_OF_ROOT, convert=SpanStatus)]
    error: ListedError | None
    start_us: int
    last_us: int
    duration_us: Annotated[int | None, From(DURATION_OF_ROOT)]
    models: tuple[str, ...]
    labels: tuple[str, ...]
    user: Annotated[str | None, _USER]
    release: Annotated[str | None, _RELEASE]
    metadata: Annotated[Mapping[str, str], _METADATA]
    sums: Annotated[Sums, _SUMS_OF_ROW]


RUN_SUMMARY = Selection(RunSummary, "g", given=("models", "labels", "error"))
"""Reads a `RunSummary` from runs `g`, their root spans `s`, and the traces `t` of these spans."""


def _title(question: str | None, name: str) -> str:
    return question or name


class ThreadSummary(NamedTuple):
    """A thread as lists show it.

    `title` is the question of its first run. If the run has no question, `title` is the name of its
    root span. `user` is the user of its first run. `error` is that of the newest run with an error.
    """

    key: Annotated[int, From("g.id"), JsonField(omit=True)]
    thread_id: str
    title: Annotated[str | None, From(QUESTION, "s.name", convert=_title)]
    runs: int
    error: ListedError | None
    start_us: int
    last_us: int
    models: tuple[str, ...]
    labels: tuple[str, ...]
    user: Annotated[str | None, _USER]
    sums: Annotated[Sums, _SUMS_OF_ROW]


THREAD_SUMMARY = Selection(ThreadSummary, "g", given=("models", "labels", "error"))
"""Reads a `ThreadSummary` from threads `g` and the root spans `s` of their first runs."""


@dataclass(frozen=True, slots=True)
class LabelCount:
    """A label, and the number of spans with it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """The labels with the most spans. `total` is the number of all labels."""

    data: tuple[LabelCount, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value, and the number of spans, runs or threads that have it.

    `count` is None if they were not counted.
    """

    value: str
    count: int | None

    @json_property
    def written(self) -> str:
        """The value in the query language, quoted if necessary."""
        return write_value(self.value)


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The most frequent values of a field. `more` states whether the field has further values.

    `field` is the name in the query language, such as `model` or `metadata.tenant`.
    """

    field: str
    values: tuple[ValueCount, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Facets:
    """The facets of a list. `complete` is false if only the newest matching rows were counted."""

    rows: Rows
    data: tuple[FieldValues, ...]
    complete: bool


FoundIn = Literal["name", "input", "output"]
"""The texts of a span that text search reads."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A span that text search found, with an excerpt of the text `field`.

    `ranges` are the matches in `excerpt`, each with its start and its end (exclusive) in
    characters.
    """

    span: Annotated[ListedSpan, JsonField(inline=True)]
    field: FoundIn
    excerpt: str
    ranges: tuple[tuple[int, int], ...]


class DurationsOf(StrEnum):
    """What the durations of a group measure: whole runs, single model calls or single spans."""

    RUNS = "runs"
    CALLS = "calls"
    SPANS = "spans"


@dataclass(frozen=True, slots=True)
class Group:
    """The sums of one group, and figures of its runs.

    `value` is the model, the thread or another property by which spans are grouped. It is empty for
    the spans that have no such property. In groups by time, it is the start in Unix microseconds.

    A run belongs to each group that has one of its spans. `duration` has percentiles of durations,
    and `duration_of` states what they measure: the model calls in groups by model, the spans in
    groups by operation, and the runs in all other groups. In a group within a group, they measure
    the same as in the outer group. The figures of runs and durations are None if they were not
    requested.
    """

    value: str | int
    sums: Annotated[Sums, JsonField(inline=True)]
    runs: int | None = None
    failed_runs: int | None = None
    duration: Percentiles | None = None
    duration_of: DurationsOf | None = None

    @json_property
    def cost_per_run(self) -> float | None:
        """The known cost of the group's spans, divided by the number of its runs."""
        cost = self.sums.totals.cost
        return cost / self.runs if cost is not None and self.runs else None


@dataclass(frozen=True, slots=True)
class RunTotals:
    """The sums of runs, the number of failed runs, and percentiles of their durations."""

    runs: int
    failed_runs: int
    sums: Annotated[Sums, JsonField(inline=True)]
    duration: Percentiles


@dataclass(frozen=True, slots=True)
class SpanChange:
    """A span that was written, with its revision at that time.

    `ended` states whether the span has ended.
    """

    trace_id: str
    span_id: str
    revision: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """The spans that were written after a revision, the oldest change first.

    Each span occurs once, in its current state. Pass `newest` to the next call. `more` states
    whether there are further changes.
    """

    newest: int
    spans: tuple[SpanChange, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    """The numbers of deleted spans and traces, and the approximate bytes that they had."""

    spans: int
    traces: int
    bytes: int


@dataclass(frozen=True, slots=True)
class HeldTraces:
    """The totals of a store or of a part of it. `bytes` is the approximate size in the file.

    `runs` counts the runs with a trace in that part. `oldest_us` is the first start, and
    `newest_us` is the last known moment, in Unix microseconds.
    """

    spans: int
    traces: int
    runs: int
    bytes: int
    oldest_us: int | None
    newest_us: int | None


@dataclass(frozen=True, slots=True)
class Blob:
    """A large value or an attachment. It is stored only once, even if many spans contain it."""

    media_type: str | None
    data: bytes
