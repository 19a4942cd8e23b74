"""Converts the figures and outliers of a summary to rows of a result."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from treadle.diagnosis.outliers import (
    MIN_DEVIATION,
    Baseline,
    Outlier,
    SelfTimes,
    earlier_spans,
    expensive_calls,
    newest_spans,
    slow_spans,
    time_peers,
)
from treadle.diagnosis.span_times import reference, self_times
from treadle.spans.span import TOOL_NAME_PREFIX, WAITED, SpanKind
from treadle.toolbox.answers import if_any
from treadle.toolbox.traces.trace_tool import (
    AnswerPart,
    TraceReader,
    milliseconds,
    moment,
    named,
    short,
)
from treadle.traces.query import Condition, Operator, Query, any_of
from treadle.traces.query import Field as About
from treadle.traces.store.percentiles import Percentiles
from treadle.traces.store.results import ListedSpan
from treadle.traces.store.summary import ModelUsage, Summary, ToolUsage

_TEXT_CHARACTERS = 120


class Latency(AnswerPart):
    """The percentiles of `n` durations in milliseconds.

    Each percentile is one of the recorded values, or null if there are no values.
    """

    n: int
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


class Figures(AnswerPart):
    """The counts and totals of the spans.

    `total_duration_ms` is the time from the first start to the last end. `busy_ms` is the sum of
    all durations. The totals of tokens and of cost in US dollars contain only known values.
    `unmetered` is the number of calls with unknown tokens. `unpriced` is the number of calls with
    unknown cost.
    """

    total_spans: int
    by_operation: Mapping[str, int]
    by_status: Mapping[str, int]
    first_start: str | None
    last_end: str | None
    total_duration_ms: float | None
    busy_ms: float
    faults: int
    model_calls: int
    tool_calls: int
    total_cost: float | None
    total_input_tokens: int | None
    total_output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None = if_any()
    unmetered: int | None = if_any()
    unpriced: int | None = if_any()
    models_used: list[str]
    labels_found: list[str]


class ModelRow(AnswerPart):
    """The calls of one model."""

    model: str
    calls: int
    errors: int
    faults: int
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None = if_any()
    cost: float | None
    p50_ms: float | None
    p95_ms: float | None


class ToolRow(AnswerPart):
    """The calls of one tool. The durations do not include waiting for a person."""

    name: str
    calls: int
    failed: int
    p50_ms: float | None
    p95_ms: float | None


class BriefSpan(AnswerPart):
    """A slow or expensive span."""

    span_id: str
    name: str
    status: str
    duration_ms: float | None
    input_tokens: int | None = if_any()
    output_tokens: int | None = if_any()
    cost: float | None = if_any()


class FailedSpan(AnswerPart):
    """A span that ended with an error."""

    span_id: str
    name: str
    error: str | None
    link: str


class Change(AnswerPart):
    """A figure of the preceding period, and the change since then in percent.

    `change_percent` is null if a figure is unknown or `before` is 0.
    """

    before: float | None
    change_percent: float | None


def changes(now: Summary, before: Summary) -> dict[str, Change]:
    """Compare the main figures of a summary with the summary of the preceding period."""
    was = _main_figures(before)
    return {
        name: Change(before=was[name], change_percent=percent(value, was[name]))
        for name, value in _main_figures(now).items()
    }


def _main_figures(summary: Summary) -> dict[str, float | None]:
    totals = summary.sums.totals
    return {
        "total_spans": totals.spans,
        "errors": summary.sums.errors,
        "faults": summary.sums.faults,
        "total_cost": totals.cost,
        "total_input_tokens": totals.tokens.input,
        "total_output_tokens": totals.tokens.output,
        "latency_p50": milliseconds(summary.latency.p50_us),
        "latency_p95": milliseconds(summary.latency.p95_us),
    }


def ratio(value: float | None, base: float | None) -> float | None:
    """Divide `value` by `base`, rounded to six decimals.

    Returns None if a value is unknown or the base is 0.
    """
    return None if value is None or not base else round(value / base, 6)


def percent(value: float | None, before: float | None) -> float | None:
    """Return the change from `before` to `value` in percent, rounded to one decimal.

    Returns None if a value is unknown or `before` is 0.
    """
    return None if value is None or not before else round(100 * (value - before) / before, 1)


def latency(percentiles: Percentiles) -> Latency:
    """Convert percentiles from microseconds to milliseconds."""
    return Latency(
        n=percentiles.n,
        p50=milliseconds(percentiles.p50_us),
        p95=milliseconds(percentiles.p95_us),
        p99=milliseconds(percentiles.p99_us),
        max=milliseconds(percentiles.max_us),
    )


def figures(summary: Summary, counts: Mapping[str, int]) -> Figures:
    """Convert a summary to figures.

    `counts` limits the numbers of operations, models and labels.
    """
    totals = summary.sums.totals
    return Figures(
        total_spans=totals.spans,
        by_operation={
            named(name): count for name, count in summary.by_operation[: counts["by_operation"]]
        },
        by_status=dict(summary.by_status),
        first_start=moment(summary.start_us),
        last_end=moment(summary.last_us),
        total_duration_ms=milliseconds(summary.wall_us),
        busy_ms=summary.sums.busy_us / 1_000,
        faults=summary.sums.faults,
        model_calls=totals.model_calls,
        tool_calls=totals.tool_calls,
        total_cost=totals.cost,
        total_input_tokens=totals.tokens.input,
        total_output_tokens=totals.tokens.output,
        cached_tokens=totals.tokens.cached,
        reasoning_tokens=totals.tokens.reasoning,
        unmetered=totals.unmetered or None,
        unpriced=totals.unpriced or None,
        models_used=[named(model.name) for model in summary.models[: counts["model_breakdown"]]],
        labels_found=[label.name for label in summary.labels[: counts["labels_found"]]],
    )


def model_row(usage: ModelUsage) -> ModelRow:
    """Convert the usage of a model to a row.

    `errors` is the number of failed spans, and `faults` counts only those without a failed child.
    """
    totals = usage.sums.totals
    return ModelRow(
        model=named(usage.name),
        calls=totals.model_calls,
        errors=usage.sums.errors,
        faults=usage.sums.faults,
        input_tokens=totals.tokens.input,
        output_tokens=totals.tokens.output,
        cached_tokens=totals.tokens.cached,
        cost=totals.cost,
        p50_ms=milliseconds(usage.latency.p50_us),
        p95_ms=milliseconds(usage.latency.p95_us),
    )


def tool_row(usage: ToolUsage) -> ToolRow:
    """Convert the usage of a tool to a row."""
    return ToolRow(
        name=named(usage.name),
        calls=usage.calls,
        failed=usage.failed,
        p50_ms=milliseconds(usage.latency.p50_us),
        p95_ms=milliseconds(usage.latency.p95_us),
    )


def slow_span(span: ListedSpan) -> BriefSpan:
    """Convert a slow span to a row."""
    return BriefSpan(
        span_id=span.span_id,
        name=named(span.name),
        status=span.status.value,
        duration_ms=milliseconds(span.duration_us),
    )


def expensive_span(span: ListedSpan) -> BriefSpan:
    """Convert an expensive span to a row."""
    row = slow_span(span)
    used = {"input_tokens": span.tokens.input, "output_tokens": span.tokens.output}
    return row.model_copy(update={**used, "cost": span.cost})


def failed_span(span: ListedSpan, link: str) -> FailedSpan:
    """Convert a failed span to a row."""
    return FailedSpan(
        span_id=span.span_id,
        name=named(span.name),
        error=short(span.error, _TEXT_CHARACTERS),
        link=link,
    )


_NEWEST, _EARLIER = 200, 100
"""The number of newest spans to compare, and the number of earlier spans that may be added.

Earlier spans are added only if the query has fewer spans than the first number.
"""
_DEVIATIONS_OF_P95 = 1.645
"""The 95th percentile of a normal distribution, in standard deviations above the median."""
_MOST = 5
_MAX_CHILDREN = 100
_OWN_TIME = {SpanKind.TOOL, SpanKind.MODEL, SpanKind.RETRIEVAL, SpanKind.EMBEDDING}
"""The kinds of spans that have few children.

The own time of such a span, without its children, can be computed without reading the whole trace.
"""


class OutlyingSpan(AnswerPart):
    """A span with an unusual own time or cost.

    `times` is the ratio to the median of `n` similar spans. The own time is the duration without
    the time of children and without waiting for a person. `duration_ms` is the own time. `median`
    has the same unit as the compared figure, milliseconds or US dollars. The newest, the slowest
    and the most expensive spans of the query were examined.
    """

    span_id: str
    name: str
    duration_ms: float | None = if_any()
    cost: float | None = if_any()
    median: float
    times: float
    n: int


def outlier_rows(reader: TraceReader, query: Query, summary: Summary) -> list[OutlyingSpan]:
    """Return the outliers: first the slow spans, the most unusual one first, then expensive spans.

    Of each group of similar spans, only one slow span is listed.
    """
    newest = newest_spans(reader, query, _NEWEST)
    earlier = earlier_spans(reader, newest, _EARLIER) if len(newest) < _NEWEST else ()
    slowest = list(_slowest(reader, query, summary))
    children = _children(reader, slowest)
    spans = {reference(span): span for span in (*summary.most_expensive, *slowest, *newest)}
    every = {reference(span): span for span in (*children, *spans.values())}
    own_us = self_times(every.values())
    timed = [span for span in spans.values() if span.kind in _OWN_TIME]
    slow = slow_spans(timed, own_us, earlier, self_times(earlier))
    rows = islice(_slow_rows(reader, slow, own_us), _MOST)
    costly = expensive_calls(spans.values(), earlier)
    return [*rows, *map(_cost_row, costly[:_MOST])]


def _slowest(reader: TraceReader, query: Query, summary: Summary) -> Iterator[ListedSpan]:
    """Yield the slowest span of each model and tool whose percentiles indicate an outlier."""
    found = [
        (latency.max_us / latency.p50_us, condition, latency.max_us)
        for condition, latency in _groups(summary)
        if latency.p50_us and latency.max_us and _has_outlier(latency)
    ]
    for _, condition, longest_us in sorted(found, key=lambda each: -each[0])[:_MOST]:
        least = Condition(About.DURATION, Operator.AT_LEAST, (longest_us,))
        yield from reader.spans(query & Query((condition, least)), limit=1).data


def _has_outlier(latency: Percentiles) -> bool:
    if not latency.p50_us or not latency.p95_us or not latency.max_us:
        return False
    deviation = math.log(latency.p95_us / latency.p50_us) / _DEVIATIONS_OF_P95
    screen = Baseline(latency.n, latency.p50_us, max(deviation, MIN_DEVIATION))
    return screen.has_outlier(latency.max_us)


def _groups(summary: Summary) -> Iterator[tuple[Condition, Percentiles]]:
    for model in summary.models:
        yield any_of(About.MODEL, [model.name]), model.latency
    for tool in summary.tools:
        yield any_of(About.NAME, [f"{TOOL_NAME_PREFIX}{tool.name}", tool.name]), tool.latency


def _children(reader: TraceReader, spans: Iterable[ListedSpan]) -> Sequence[ListedSpan]:
    """Return the children of `spans`.

    The time of a child is not part of the own time of its parent.
    """
    parents = sorted({span.span_id for span in spans})
    if not parents:
        return ()
    return reader.spans(Query((any_of(About.PARENT, parents),)), limit=_MAX_CHILDREN).data


def _slow_rows(
    reader: TraceReader, slow: Iterable[Outlier[ListedSpan]], own_us: SelfTimes
) -> Iterator[OutlyingSpan]:
    """Yield a row for the most distant outlier of each group.

    Waiting for a person does not count as own time.
    """
    shown = set()
    for each in sorted(slow, key=lambda outlier: -outlier.distance):
        peers = time_peers(each.item)
        if peers in shown:
            continue
        whole = own_us[reference(each.item)]
        own = max(0, whole - _waited_us(reader, each.item))
        value = each.value * own / whole
        if value and each.baseline.has_outlier(value):
            shown.add(peers)
            times = value / each.baseline.median
            yield OutlyingSpan(
                span_id=each.item.span_id,
                name=named(each.item.name),
                duration_ms=own / 1_000,
                median=float(f"{own / times / 1_000:.6g}"),
                times=round(times, 1),
                n=each.baseline.n,
            )


def _waited_us(reader: TraceReader, listed: ListedSpan) -> int:
    span = reader.span(listed.trace_id, listed.span_id)
    waited = span.attributes.get(WAITED) if span is not None else None
    return waited if isinstance(waited, int) else 0


def _cost_row(outlier: Outlier[ListedSpan]) -> OutlyingSpan:
    return OutlyingSpan(
        span_id=outlier.item.span_id,
        name=named(outlier.item.name),
        cost=outlier.value,
        median=float(f"{outlier.baseline.median:.6g}"),
        times=round(outlier.times, 1),
        n=outlier.baseline.n,
    )
