"""The results of the store's queries, which are also the JSON of the server and the tools."""

import json
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

from treadle.events.types import Usage
from treadle.json_values import JsonField, json_property
from treadle.spans.span import CostSource, SpanKind, SpanReference, SpanStatus, is_shown
from treadle.spans.totals import Totals
from treadle.traces.query.amounts import NANO
from treadle.traces.query.conditions import METADATA_PREFIX, Field, Rows
from treadle.traces.query.language import write_value
from treadle.traces.store.counters import COUNTER_NAMES
from treadle.traces.store.properties import property_pairs
from treadle.traces.store.statements import From, Selection, plain


def dollars(nano: int | None) -> float | None:
    """Return the US dollars of a number of billionths. None stays None."""
    return None if nano is None else nano / NANO


def _cost_source(value: str | None) -> CostSource | None:
    return CostSource(value) if value else None


@lru_cache(4_096)
def shown_labels(labels: str | None) -> tuple[str, ...]:
    """Return the labels of a span that lists show. `labels` is the column of the span."""
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


@dataclass(frozen=True, slots=True)
class ListedError:
    """The span that caused an error of a run, with the beginning of its message."""

    trace_id: str
    span_id: str
    name: str
    error_type: str | None
    message: str | None


STATUS_OF_ROOT = "iif(t.rooted, s.status, 'unfinished')"
"""SQL of the status of a run from its root `s` and the root's trace `t`.

If the root has not arrived, `s` is the earliest span, whose status is not that of the run.
"""
DURATION_OF_ROOT = "iif(t.rooted, s.duration_us, NULL)"


class RunSummary(NamedTuple):
    """A run as lists show it.

    `trace_id` is the trace of the run's root. `question` and `answer` are the beginnings of the
    root's input and output. If the root has no input, `question` is that of the first model call of
    its trace. The user, the release and the metadata are those of the root. `duration_us` is the
    duration of the root. While the root is unfinished or has not arrived, `duration_us` is None and
    `status` is `unfinished`. `error` is the earliest failed span without a failed child.
    """

    key: Annotated[int, From("g.id"), JsonField(omit=True)]
    run_id: str
    thread_id: str
    trace_id: Annotated[str, From("t.trace_id")]
    name: Annotated[str, From("s.name")]
    question: Annotated[str | None, From(QUESTION)]
    answer: Annotated[str | None, From("s.output_preview")]
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


Integers = Annotated[list[int], JsonField(as_is=True)]
KnownIntegers = Annotated[list[int | None], JsonField(as_is=True)]


@dataclass(slots=True)
class Columns:
    """The spans of a trace as columns.

    Parents come before children, and siblings are sorted by start. `parents` are positions in these
    lists, or -1 for no parent. `names`, `kinds`, `operations`, `models` and `statuses` are
    positions in `Skeleton.texts`, or -1 for no value. `starts` are microseconds since the start of
    the trace. `first_tokens` are microseconds since the start of the span. `costs` are billionths
    of a US dollar.

    `flags` are sums of powers of two. 1 means that the span is its own ancestor, and 2 that it is a
    parent that never arrived. 4 means that it ended before it started, and 8 that it is unfinished.
    16 means that it is outside of the time of its parent. 32 means that it is a call of a model,
    and a call inside or around it counts instead. 128 means that a span of another trace recorded
    the same call and counts instead.

    """

    span_ids: Annotated[list[str], JsonField(as_is=True)]
    parents: Integers
    depths: Integers
    names: Integers
    kinds: Integers
    operations: Integers
    models: Integers
    statuses: Integers
    starts: KnownIntegers
    durations: KnownIntegers
    first_tokens: KnownIntegers
    input_tokens: KnownIntegers
    output_tokens: KnownIntegers
    costs: KnownIntegers
    flags: Integers


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A trace without contents.

    `root` is the position of the span that names the trace. This is its true root, or the earliest
    span until the true root arrives. `start_us` is the first start, and `last_us` is the last known
    moment. The labels, the user, the release and the metadata are those of the root.

    `revision` is the newest revision of the spans in the skeleton. Later changes are not included.
    """

    trace_id: str
    run_id: str
    thread_id: str
    start_us: int
    last_us: int
    root: int | None
    labels: tuple[str, ...]
    user: str | None
    release: str | None
    metadata: Mapping[str, str]
    revision: int
    texts: tuple[str, ...]
    columns: Columns


def milliseconds(microseconds: int | None) -> float | None:
    """Return milliseconds with the microseconds as decimals. None stays None."""
    return None if microseconds is None else microseconds / 1_000


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles of `n` durations, by the method of the nearest rank.

    All percentiles are None if `n` is 0. The JSON has them in milliseconds.
    """

    n: int
    p50_us: Annotated[int | None, JsonField("p50", write=milliseconds)]
    p95_us: Annotated[int | None, JsonField("p95", write=milliseconds)]
    p99_us: Annotated[int | None, JsonField("p99", write=milliseconds)]
    max_us: Annotated[int | None, JsonField("max", write=milliseconds)]


RANKS = (50, 95, 99, 100)
"""The percentiles of `Percentiles`, in percent."""


_MANY_VALUES = 10_000
"""The number of durations from which numpy finds their percentiles in less time."""


def percentiles(values: Iterable[int]) -> Percentiles:
    """Return the percentiles of durations in microseconds."""
    every = values if isinstance(values, array) else array("q", values)
    n = len(every)
    if n == 0:
        return Percentiles(0, None, None, None, None)
    ranks = [-(-n * percent // 100) - 1 for percent in RANKS]
    if n < _MANY_VALUES:
        ordered = sorted(every)
        return Percentiles(n, *(ordered[rank] for rank in ranks))
    import numpy

    parts = numpy.partition(numpy.frombuffer(every, numpy.int64), sorted(set(ranks)))
    return Percentiles(n, *(int(parts[rank]) for rank in ranks))


class DurationsOf(StrEnum):
    """The objects whose durations a group has."""

    RUNS = "runs"
    CALLS = "calls"
    SPANS = "spans"


@dataclass(frozen=True, slots=True)
class Group:
    """The sums of one group, and figures of its runs.

    `value` is the model, the thread or another property by which spans are grouped. It is empty for
    the spans that have no such property. In groups by time, it is the start in Unix microseconds.

    A run belongs to each group that has one of its spans. `duration` has percentiles of the
    durations of the group's runs, of its model calls in groups by model, and of its spans in groups
    by operation. The figures of runs and durations are None if they were not requested.
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
class ToolUsage:
    """The calls of one tool."""

    name: str
    calls: int
    failed: int
    latency: Percentiles


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The sums of the spans of one model, and the latency of its counted calls."""

    name: Annotated[str, JsonField("model")]
    sums: Annotated[Sums, JsonField(inline=True)]
    latency: Percentiles


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a set of spans, under the names that the tool `fetch_spans_summary` uses."""

    total_spans: int
    by_operation: Mapping[str, int]
    by_status: Mapping[str, int]
    start_us: int | None
    last_us: int | None
    total_duration_ms: float | None
    busy_ms: float
    faults: int
    total_cost: float | None
    unpriced: int
    total_input_tokens: int | None
    total_output_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    unmetered: int
    models_used: tuple[str, ...]
    labels_found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of a set of spans, and the worst spans.

    `snapshot` is the newest revision of a span, without the spans of Treadle's own calls. `wall_us`
    is the time from the first start to the last end.
    """

    snapshot: Annotated[int, JsonField("snapshot_id")]
    sums: Annotated[Sums, JsonField(omit=True)]
    start_us: Annotated[int | None, JsonField(omit=True)]
    last_us: Annotated[int | None, JsonField(omit=True)]
    wall_us: Annotated[int | None, JsonField(omit=True)]
    by_operation: Annotated[tuple[tuple[str, int], ...], JsonField(omit=True)]
    by_status: Annotated[tuple[tuple[str, int], ...], JsonField(omit=True)]
    latency: Percentiles
    time_to_first_token: Annotated[Percentiles, JsonField("ttft")]
    models: Annotated[tuple[ModelUsage, ...], JsonField("model_breakdown")]
    tools: Annotated[tuple[ToolUsage, ...], JsonField("tool_usage")]
    labels: Annotated[tuple[LabelCount, ...], JsonField(omit=True)]
    errors: Annotated[tuple[ListedSpan, ...], JsonField("error_spans")]
    slowest: Annotated[tuple[ListedSpan, ...], JsonField("slowest_spans")]
    most_expensive: Annotated[tuple[ListedSpan, ...], JsonField("expensive_spans")]

    @json_property
    def summary(self) -> Figures:
        """The summary in the form of `Figures`."""
        totals = self.sums.totals
        return Figures(
            total_spans=totals.spans,
            by_operation=dict(self.by_operation),
            by_status=dict(self.by_status),
            start_us=self.start_us,
            last_us=self.last_us,
            total_duration_ms=milliseconds(self.wall_us),
            busy_ms=self.sums.busy_us / 1_000,
            faults=self.sums.faults,
            total_cost=totals.cost,
            unpriced=totals.unpriced,
            total_input_tokens=totals.tokens.input,
            total_output_tokens=totals.tokens.output,
            cached_tokens=totals.tokens.cached,
            cache_write_tokens=totals.tokens.cache_write,
            reasoning_tokens=totals.tokens.reasoning,
            unmetered=totals.unmetered,
            models_used=tuple(model.name for model in self.models),
            labels_found=tuple(label.name for label in self.labels),
        )


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
