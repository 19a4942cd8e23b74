"""Finds spans that took far longer, or cost far more, than similar spans.

The baseline is a median, since outliers hardly move a median. Durations and costs are skewed, so
their logarithms are compared. The distance from the median is measured in units of the median
absolute deviation times 1.4826. With this factor, the unit equals the standard deviation if the
values are normally distributed. Iglewicz and Hoaglin (1993) recommend 3.5 as the bound.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, TypeVar

from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.span_times import reference
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query.conditions import NEWEST, Condition, Field, Operator, Query
from treadle.traces.store.results import ListedSpan
from treadle.traces.store.span_reader import SpanReader

MAX_EARLIER_SPANS = 1_000
"""The maximum number of earlier spans in the baseline of newer spans."""
_PAGE = 500
MIN_PEERS = 5
"""The minimum number of values in a group for which outliers are reported."""
MIN_DISTANCE = 3.5
"""The minimum distance of an outlier from the median, in deviations."""
MIN_RATIO = 2.0
"""The minimum ratio of an outlier to the median.

Without this minimum, small changes of steady durations would be outliers.
"""
MIN_DEVIATION = 0.2
"""The minimum deviation of the logarithms.

Without this minimum, tiny differences between peers would be outliers.
"""
_CONSISTENT = 1.4826
_REPLY_OVERHEAD, _INPUT_OVERHEAD = 100, 1_000
"""Tokens that are added to the length of a reply, or to the input of an embedding call.

They are added in a second comparison (`slow_spans`).
"""

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The median of `n` values, and the deviation of their logarithms."""

    n: int
    median: float
    deviation: float

    def distance(self, value: float) -> float:
        """Return the distance of `value` from the median in deviations.

        The distance is negative for a value below the median.
        """
        return (math.log(value) - math.log(self.median)) / self.deviation

    def has_outlier(self, value: float) -> bool:
        """Return whether `value` is far above the median."""
        return (
            self.n >= MIN_PEERS
            and value / self.median >= MIN_RATIO
            and self.distance(value) >= MIN_DISTANCE
        )


@dataclass(frozen=True, slots=True)
class Outlier(Generic[T]):
    """An item whose value is far above the values of its peers."""

    item: T
    value: float
    baseline: Baseline

    @property
    def times(self) -> float:
        """The ratio of the value to the median."""
        return self.value / self.baseline.median

    @property
    def excess(self) -> float:
        """The difference between the value and the median."""
        return self.value - self.baseline.median

    @property
    def distance(self) -> float:
        """The distance of the value from the median in deviations."""
        return self.baseline.distance(self.value)


def baseline(values: Sequence[float]) -> Baseline | None:
    """Return the baseline of the positive `values`, or None if there are none."""
    logarithms = [math.log(value) for value in values if value > 0]
    if not logarithms:
        return None
    middle = median(value for value in values if value > 0)
    deviation = _CONSISTENT * median(abs(each - math.log(middle)) for each in logarithms)
    return Baseline(len(logarithms), middle, max(deviation, MIN_DEVIATION))


def outliers(
    items: Iterable[tuple[Key, T, float]], others: Iterable[tuple[Key, float]] = ()
) -> tuple[Outlier[T], ...]:
    """Return the items whose value is far above the values of their group, the farthest first.

    Each of `items` is a tuple of a group, an item and its value. `others` are values of the same
    groups, which only add to the baseline.
    """
    kept = [each for each in items if each[2] > 0]
    values: dict[Key, list[float]] = defaultdict(list)
    for key, _, value in kept:
        values[key].append(value)
    for key, value in others:
        if key in values:
            values[key].append(value)
    return _outliers(kept, {key: baseline(each) for key, each in values.items()})


def _outliers(
    items: Iterable[tuple[Key, T, float]], groups: Mapping[Key, Baseline | None]
) -> tuple[Outlier[T], ...]:
    found = [
        Outlier(item, value, group)
        for key, item, value in items
        if value > 0 and (group := groups.get(key)) is not None and group.has_outlier(value)
    ]
    return tuple(sorted(found, key=lambda each: -each.distance))


SelfTimes = Mapping[SpanReference, int]
"""The own time of each span in microseconds. Own time excludes the time of children."""


def slow_spans(
    spans: Sequence[ListedSpan],
    own_us: SelfTimes,
    earlier: Sequence[ListedSpan] = (),
    earlier_own_us: SelfTimes | None = None,
    steps: Mapping[SpanReference, int] | None = None,
) -> tuple[Outlier[ListedSpan], ...]:
    """Return the spans whose own time is far above the time of their peers, the farthest first.

    Only spans that ended successfully are compared. `time_peers` returns the peers of a span. The
    values of calls with a pace are microseconds per token (`has_pace`). Other values are own times.
    If a group has at least `MIN_PEERS` earlier spans, only these are its baseline, since all
    current spans may be slow. `steps` maps spans to the number of their children. A span with many
    children has a longer own time than a span with few children. Therefore only spans with similar
    numbers of children are compared.
    """
    known = steps or {}

    def paces(of: Sequence[ListedSpan], owns: SelfTimes, *, damped: bool) -> list[_Timed]:
        return [
            ((time_peers(span), known.get(reference(span), 0).bit_length()), span, pace)
            for span, pace in _paces(of, owns, damped=damped)
        ]

    before = earlier_own_us or {}
    # A short reply takes long per token, since the first token takes some time. So a reply must
    # also be slow when a constant is added to its length.
    slow = {
        reference(each.item)
        for each in _slow(paces(spans, own_us, damped=True), paces(earlier, before, damped=True))
    }
    found = _slow(paces(spans, own_us, damped=False), paces(earlier, before, damped=False))
    return tuple(each for each in found if reference(each.item) in slow)


def time_peers(span: ListedSpan) -> Hashable:
    """Return the group of spans with which the own time of this span is compared.

    The peers of a call with a pace are the calls of the same model, regardless of the program that
    recorded them. The peers of any other span have the same kind, operation, name and model.
    """
    if has_pace(span):
        return span.operation, span.model
    return span.kind, span.operation, span.name, span.model


def has_pace(span: ListedSpan) -> bool:
    """Return whether the span is a call of a model whose time per token is known."""
    return bool(span.counted and span.model and paced_tokens(span))


def paced_tokens(span: ListedSpan) -> int:
    """Return the tokens that determine the duration of a call, or 0 if they are unknown.

    These are the output tokens of a reply, and the input tokens of a call for embeddings.
    """
    match span.kind:
        case SpanKind.MODEL:
            return span.tokens.output or 0
        case SpanKind.EMBEDDING:
            return span.tokens.input or 0
    return 0


_Timed = tuple[Hashable, ListedSpan, float]


def _slow(items: Sequence[_Timed], earlier: Sequence[_Timed]) -> tuple[Outlier[ListedSpan], ...]:
    before = [(key, value) for key, _, value in earlier]
    values: dict[Hashable, list[float]] = defaultdict(list)
    for key, value in before:
        values[key].append(value)
    known = {key: baseline(each) for key, each in values.items() if len(each) >= MIN_PEERS}
    return (
        *_outliers([each for each in items if each[0] in known], known),
        *outliers([each for each in items if each[0] not in known], before),
    )


def _paces(
    spans: Sequence[ListedSpan], own_us: SelfTimes, *, damped: bool
) -> Iterator[tuple[ListedSpan, float]]:
    for span in spans:
        own = own_us.get(reference(span))
        if span.status is SpanStatus.OK and own:
            yield span, own / _divisor(span, damped=damped)


def _divisor(span: ListedSpan, *, damped: bool) -> int:
    if not has_pace(span):
        return 1
    overhead = _REPLY_OVERHEAD if span.kind is SpanKind.MODEL else _INPUT_OVERHEAD
    return paced_tokens(span) + (overhead if damped else 0)


def cost_peers(span: ListedSpan) -> Hashable:
    """Return the group of calls with which the cost of this call is compared."""
    return span.operation, span.model, span.name


def expensive_calls(
    spans: Iterable[ListedSpan],
    earlier: Iterable[ListedSpan] = (),
    peers: Callable[[ListedSpan], Hashable] = cost_peers,
) -> tuple[Outlier[ListedSpan], ...]:
    """Return the model calls whose cost is far above the cost of their peers, the farthest first.

    `peers` returns the group of a call. By default, peers have the same operation, model and name.
    """
    return outliers(
        [(peers(span), span, span.cost) for span in spans if span.counted and span.cost],
        [(peers(span), span.cost) for span in earlier if span.counted and span.cost],
    )


def newest_spans(reader: SpanReader, query: Query, most: int) -> tuple[ListedSpan, ...]:
    """Return the newest spans that match `query`, at most `most`, in order of time."""
    found: list[ListedSpan] = []
    cursor: str | None = None
    while len(found) < most:
        limit = min(_PAGE, most - len(found))
        page = reader.spans(query, sort=NEWEST, limit=limit, cursor=cursor)
        found += page.data
        cursor = page.pagination.next_cursor
        if cursor is None:
            break
    return tuple(sorted(found, key=lambda span: (span.start_us, span.trace_id, span.span_id)))


def earlier_spans(
    reader: SpanReader, spans: Sequence[ListedSpan], most: int = MAX_EARLIER_SPANS
) -> tuple[ListedSpan, ...]:
    """Return the spans that began before the first of `spans`, in order of time.

    The result has at most `most` spans, the newest ones. Treadle's own calls are left out.
    """
    if not spans:
        return ()
    before = Query((Condition(Field.START, Operator.LESS, (spans[0].start_us,)),))
    return newest_spans(reader, before & OF_OTHERS, most)
