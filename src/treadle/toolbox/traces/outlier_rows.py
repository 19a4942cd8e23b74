"""Spans that took far longer, or cost far more, than similar spans, as rows."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from treadle.diagnosis.outliers import (
    LEAST_DEVIATION,
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
from treadle.toolbox.traces.trace_tool import AnswerPart, TraceReader, named
from treadle.traces.query import Condition, Operator, Query, any_of
from treadle.traces.query import Field as About
from treadle.traces.store.results import ListedSpan, Percentiles, Summary

_NEWEST, _EARLIER = 200, 100
"""The newest spans that are compared, and spans before them if there are fewer."""
_DEVIATIONS_OF_P95 = 1.645
"""The distance of the 95th percentile from the median in a normal distribution."""
_MOST = 5
_MOST_CHILDREN = 100
_OWN_TIME = {SpanKind.TOOL, SpanKind.MODEL, SpanKind.RETRIEVAL, SpanKind.EMBEDDING}
"""Kinds of spans with few children, so that their own time is known without the whole trace."""


class OutlyingSpan(AnswerPart):
    """A span whose own duration or cost is `times` the median of `n` similar spans.

    The newest spans were compared, and the slowest and the most expensive of all.
    """

    span_id: str
    name: str
    duration_ms: float | None = if_any()
    cost: float | None = if_any()
    median: float
    times: float
    n: int


def outlier_rows(reader: TraceReader, query: Query, summary: Summary) -> list[OutlyingSpan]:
    """The outliers: first the slow spans, one of each group of peers, the farthest first."""
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
    """The slowest spans of models and tools that are outliers by the percentiles of the summary."""
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
    screen = Baseline(latency.n, latency.p50_us, max(deviation, LEAST_DEVIATION))
    return screen.has_outlier(latency.max_us)


def _groups(summary: Summary) -> Iterator[tuple[Condition, Percentiles]]:
    for model in summary.models:
        yield any_of(About.MODEL, [model.name]), model.latency
    for tool in summary.tools:
        yield any_of(About.NAME, [f"{TOOL_NAME_PREFIX}{tool.name}", tool.name]), tool.latency


def _children(reader: TraceReader, spans: Iterable[ListedSpan]) -> Sequence[ListedSpan]:
    """The children of spans, whose time is not part of the own time of their parent."""
    parents = sorted({span.span_id for span in spans})
    if not parents:
        return ()
    return reader.spans(Query((any_of(About.PARENT, parents),)), limit=_MOST_CHILDREN).data


def _slow_rows(
    reader: TraceReader, slow: Iterable[Outlier[ListedSpan]], own_us: SelfTimes
) -> Iterator[OutlyingSpan]:
    """A row for the farthest outlier of each group. Waiting for a person does not count."""
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
