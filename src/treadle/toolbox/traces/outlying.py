"""Spans that took far longer, or cost far more, than similar spans."""

import math
from collections.abc import Iterator

from treadle.diagnosis.report.outliers import LEAST_SCALE, Usual, outliers
from treadle.spans.span import TOOL_NAME_PREFIX
from treadle.toolbox.answers import if_any
from treadle.toolbox.traces.reading import TraceReading
from treadle.toolbox.traces.results import Told, named
from treadle.traces.query import Condition, Operator, Query, any_of
from treadle.traces.query import Field as About
from treadle.traces.store.results import ListedSpan, Percentiles, Summary

_LIKES = 300
"""The newest spans, which say what is usual for a cost."""
_DEVIATIONS_OF_P95 = 1.645
"""How far the 95th percentile is from the median where logarithms are normal."""
_MOST = 5


class OutlyingSpan(Told):
    """A span whose duration or cost is `times` the median of `n` spans of its model or tool.

    All durations were compared, and the costs with those of the newest spans.
    """

    span_id: str
    name: str
    duration_ms: float | None = if_any()
    cost: float | None = if_any()
    median: float
    times: float
    n: int


def outlying(reader: TraceReading, query: Query, summary: Summary) -> list[OutlyingSpan]:
    """The outliers of a summary: first those that took long, the farthest from their likes first.

    A model or a tool gives one, the slowest, if that is far off.
    """
    slow: list[tuple[float, Condition, Usual, int]] = []
    for condition, latency in _groups(summary):
        usual = _usual(latency)
        longest = latency.max_us
        if usual is not None and longest is not None and usual.is_far(longest):
            slow.append((usual.distance(longest), condition, usual, longest))
    slow.sort(key=lambda each: -each[0])
    rows = []
    for _, condition, usual, longest in slow[:_MOST]:
        least = Condition(About.DURATION, Operator.AT_LEAST, (longest,))
        rows += [
            _row(span, usual, longest)
            for span in reader.spans(query & Query((condition, least)), limit=1).data
        ]
    return [*rows, *_dear(reader, query, summary)]


def _groups(summary: Summary) -> Iterator[tuple[Condition, Percentiles]]:
    for model in summary.models:
        yield any_of(About.MODEL, [model.name]), model.latency
    for tool in summary.tools:
        yield any_of(About.NAME, [f"{TOOL_NAME_PREFIX}{tool.name}", tool.name]), tool.latency


def _usual(latency: Percentiles) -> Usual | None:
    """The baseline from percentiles; None if there is none."""
    if not latency.p50_us or not latency.p95_us:
        return None
    spread = math.log(latency.p95_us / latency.p50_us) / _DEVIATIONS_OF_P95
    return Usual(latency.n, latency.p50_us, max(spread, LEAST_SCALE))


def _row(span: ListedSpan, usual: Usual, longest_us: int) -> OutlyingSpan:
    return OutlyingSpan(
        span_id=span.span_id,
        name=named(span.name),
        duration_ms=longest_us / 1_000,
        median=usual.median / 1_000,
        times=round(longest_us / usual.median, 1),
        n=usual.n,
    )


def _dear(reader: TraceReading, query: Query, summary: Summary) -> Iterator[OutlyingSpan]:
    dearest = [each for each in summary.most_expensive if each.counted]
    if not dearest:
        return
    known = {each.key for each in dearest}
    likes = (each for each in reader.spans(query, limit=_LIKES).data if each.key not in known)
    found = outliers(
        ((each.model, each, each.cost or 0) for each in dearest),
        ((each.model, each.cost) for each in likes if each.cost and each.counted),
    )
    for each in found:
        yield OutlyingSpan(
            span_id=each.item.span_id,
            name=named(each.item.name),
            cost=each.value,
            median=float(f"{each.usual.median:.6g}"),
            times=round(each.times, 1),
            n=each.usual.n,
        )
