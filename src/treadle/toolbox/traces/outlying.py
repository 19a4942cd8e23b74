"""Spans that took far longer, or cost far more, than what is usual among their likes."""

from treadle.toolbox.traces.reading import TraceReading
from treadle.toolbox.traces.results import Told, if_any, named
from treadle.traces.analysis.outliers import Outlier, outliers
from treadle.traces.query import Query, Sort, SortKey
from treadle.traces.span import SpanKind
from treadle.traces.store.reading.listed import ListedSpan

_LOOKED_AT = 30
"""The slowest and the most expensive spans, which may be outliers."""
_LIKES = 1_000
"""The newest spans, which say what is usual."""
_MOST = 5
_WHOLE = (SpanKind.RUN, SpanKind.AGENT)
"""What takes as long as all that is in it."""


class OutlyingSpan(Told):
    """A span whose duration or cost is `times` the median of `n` spans of its name."""

    span_id: str
    name: str
    duration_ms: float | None = if_any()
    cost: float | None = if_any()
    median: float
    times: float
    n: int


def outlying(reader: TraceReading, query: Query) -> list[OutlyingSpan]:
    """The outliers among the slowest and the dearest, the farthest from their likes first."""
    likes = reader.spans(query, limit=_LIKES).data
    rows: list[OutlyingSpan] = []
    for key in (SortKey.DURATION, SortKey.COST):
        highest = reader.spans(query, sort=Sort(key), limit=_LOOKED_AT).data
        known = {each.key for each in highest}
        found = outliers(
            ((each.name, each, value) for each in highest if (value := _value(each, key))),
            (
                (each.name, value)
                for each in likes
                if each.key not in known and (value := _value(each, key))
            ),
        )
        rows += [_row(each, key) for each in found[:_MOST]]
    return rows


def _value(span: ListedSpan, key: SortKey) -> float | None:
    """Milliseconds or dollars; None for what is not compared."""
    if key is SortKey.COST:
        return span.cost if span.counted else None
    whole = span.kind in _WHOLE or span.duration_us is None
    return None if whole else (span.duration_us or 0) / 1_000


def _row(outlier: Outlier[ListedSpan], key: SortKey) -> OutlyingSpan:
    span = outlier.item
    return OutlyingSpan(
        span_id=span.span_id,
        name=named(span.name),
        duration_ms=outlier.value if key is SortKey.DURATION else None,
        cost=outlier.value if key is SortKey.COST else None,
        median=float(f"{outlier.usual.median:.6g}"),
        times=round(outlier.times, 1),
        n=outlier.usual.n,
    )
