"""Suspects out of time and money: slow steps, dear calls, caches that missed, large results."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.outliers import (
    LEAST_PEERS,
    Outlier,
    expensive_calls,
    slow_spans,
    time_peers,
)
from treadle.diagnosis.report.model import Cause, Suspect
from treadle.diagnosis.report.span_set import SpanSet
from treadle.diagnosis.span_times import critical_path, reference
from treadle.spans.span import SpanKind
from treadle.traces.amounts import cost, duration
from treadle.traces.fencing import inline
from treadle.traces.store.results import ListedSpan

_SLOW, _DOMINATES, _DEAR, _CACHE, _LARGE = 30.0, 20.0, 34.0, 34.0, 36.0
_BY_SHARE = 46.0
"""What a share of the whole of 100 % adds."""
_LEAST_SHARE = 0.08
_EXTREME = 10.0
"""Times the median from which on something is named however small its share."""
_LEAST_TIMES_DEAR = 3.0
_WORTH_NAMING = 0.25
"""Share of a whole from which on something is of medium severity."""
_DOMINATING, _AHEAD = 0.5, 4.0
_WELL_CACHED, _MISSED, _LEAST_CACHED = 0.5, 0.1, 1_024
_JUMP, _LEAST_JUMP = 1.0, 2_000
_CHARACTERS_A_TOKEN = 4
_EXPLAINED = 0.4
_LEAVES = {SpanKind.TOOL, SpanKind.RETRIEVAL, SpanKind.EMBEDDING, SpanKind.MODEL}


def spending_suspects(material: SpanSet) -> list[Suspect]:
    """What took the time or the money."""
    return [
        *_slow(material),
        *_dominating(material),
        *_dear(material),
        *_cache_misses(material),
        *_large_results(material),
    ]


def slow_spans_of(material: SpanSet) -> tuple[Outlier[ListedSpan], ...]:
    """The slow spans, compared with the earlier spans."""
    return slow_spans(material.spans, material.own_us, material.earlier, material.earlier_own_us)


def _slow(material: SpanSet) -> Iterator[Suspect]:
    groups: dict[tuple[str, Hashable], list[Outlier[ListedSpan]]] = defaultdict(list)
    for each in slow_spans_of(material):
        groups[each.item.trace_id, time_peers(each.item)].append(each)
    for found in groups.values():
        excesses = {reference(each.item): _excess_us(each, material) for each in found}
        worst = max(found, key=lambda each: excesses[reference(each.item)])
        wall = max(1, material.wall_us[worst.item.trace_id])
        share = min(1.0, sum(excesses.values()) / wall)
        if share < _LEAST_SHARE and worst.times < _EXTREME:
            continue
        span = worst.item
        own = duration(material.own_us[reference(span)])
        more = f" {_similar(len(found) - 1)} also slow." if len(found) > 1 else ""
        yield Suspect(
            span=reference(span),
            name=span.name,
            kind=Cause.SLOW_STEP,
            severity=_severity(share),
            why=(
                (
                    f"Its own time is {own}, {worst.times:.1f} times the median of"
                    f" {worst.baseline.n} similar spans: {share:.0%} of the time of its"
                    f" trace.{more}"
                ),
            ),
            score=_SLOW + _BY_SHARE * share + _by_times(worst.times),
            also=tuple(reference(each.item) for each in found if each is not worst),
        )


def _similar(number: int) -> str:
    return "1 similar span was" if number == 1 else f"{number} similar spans were"


def _by_times(times: float) -> float:
    """What an outlier gains by how far out it is: 5 for ten times the median, 10 for a hundred."""
    return 5 * min(2.0, max(0.0, math.log10(times)))


def _excess_us(outlier: Outlier[ListedSpan], material: SpanSet) -> float:
    return material.own_us[reference(outlier.item)] * (1 - 1 / outlier.times)


def _dominating(material: SpanSet) -> Iterator[Suspect]:
    """The step that a trace waited for most, far ahead of the next, where it has no likes."""
    slow = {reference(each.item) for each in slow_spans_of(material)}
    alike: dict[Hashable, int] = defaultdict(int)
    for span in (*material.spans, *material.earlier):
        alike[time_peers(span)] += 1
    for trace, spans in material.by_trace.items():
        steps = sorted(critical_path(spans), key=lambda step: -step.own_us)
        if not steps or steps[0].span is None or steps[0].span.kind not in _LEAVES:
            continue
        worst, wall = steps[0].span, max(1, material.wall_us[trace])
        share = steps[0].own_us / wall
        second = steps[1].own_us if len(steps) > 1 else 0
        known = alike[time_peers(worst)] >= LEAST_PEERS or reference(worst) in slow
        if known or share < _DOMINATING or steps[0].own_us < _AHEAD * second:
            continue
        yield Suspect(
            span=reference(worst),
            name=worst.name,
            kind=Cause.SLOW_STEP,
            severity=Severity.MEDIUM,
            why=(
                (
                    f"Its trace waited {duration(steps[0].own_us)} for it, {share:.0%} of its time;"
                    f" the next step took {duration(second)}."
                ),
            ),
            score=_DOMINATES + _BY_SHARE * share,
        )


def _dear(material: SpanSet) -> Iterator[Suspect]:
    """Model calls that cost far more than their likes."""
    total = sum(span.cost or 0 for span in material.spans if span.counted)
    for each in expensive_calls(material.spans, material.earlier):
        span = each.item
        share = each.excess / total if total else 0
        if each.times < _LEAST_TIMES_DEAR or (share < _LEAST_SHARE and each.times < _EXTREME):
            continue
        tokens = span.tokens
        yield Suspect(
            span=reference(span),
            name=span.name,
            kind=Cause.COST_SPIKE,
            severity=_severity(share),
            why=(
                (
                    f"It cost {cost(each.value)}, {each.times:.1f} times the median of"
                    f" {each.baseline.n} similar calls: {each.value / total:.0%} of all cost."
                ),
                f"It had {tokens.input or 0:,} tokens in and {tokens.output or 0:,} out.",
            ),
            score=_DEAR + _BY_SHARE * share + _by_times(each.times),
        )


@dataclass(frozen=True, slots=True)
class _Turn:
    """A model call and the one before it in the same conversation."""

    before: ListedSpan
    span: ListedSpan
    later: Sequence[ListedSpan]


def _turns(material: SpanSet) -> Iterator[_Turn]:
    for calls in _conversations(material).values():
        for number in range(1, len(calls)):
            yield _Turn(calls[number - 1], calls[number], calls[number + 1 :])


def _conversations(material: SpanSet) -> Mapping[Hashable, list[ListedSpan]]:
    """Model calls of the same parent and model, in order of time."""
    found: dict[Hashable, list[ListedSpan]] = defaultdict(list)
    for span in material.spans:
        if span.kind is SpanKind.MODEL and span.counted and span.tokens.input:
            found[span.trace_id, span.parent_id, span.model].append(span)
    return found


def _cache_misses(material: SpanSet) -> Iterator[Suspect]:
    """Calls that read nothing from the cache though the one before had read most of its input."""
    total = sum(span.tokens.input or 0 for span in material.spans if span.counted)
    missed: set[Hashable] = set()
    for turn in _turns(material):
        before, now = turn.before.tokens, turn.span.tokens
        conversation = (turn.span.trace_id, turn.span.parent_id, turn.span.model)
        if before.cached is None or now.cached is None or conversation in missed:
            continue
        had, has = _cached_share(turn.before), _cached_share(turn.span)
        shorter = (now.input or 0) < before.cached
        if (
            had < _WELL_CACHED
            or has >= _MISSED
            or now.cached > before.cached // 2
            or before.cached < _LEAST_CACHED
            or shorter
        ):
            continue
        missed.add(conversation)
        following = [turn.span, *turn.later]
        bad = [
            each
            for each in following
            if (each.tokens.cached or 0) < _MISSED * (each.tokens.input or 1)
        ]
        share = sum((each.tokens.input or 0) for each in bad) / max(1, total)
        yield Suspect(
            span=reference(turn.span),
            name=turn.span.name,
            kind=Cause.CACHE_MISS,
            severity=_severity(share),
            why=(
                (
                    f"It read {now.cached:,} of {now.input:,} tokens from the cache, the call"
                    f" before it {before.cached:,} of {before.input:,}."
                ),
                *_why_missed(turn, material),
                *([f"So did {len(bad) - 1} calls after it."] if len(bad) > 1 else []),
            ),
            score=_CACHE + _BY_SHARE * share,
            also=tuple(reference(each) for each in bad[1:]),
        )


def _cached_share(span: ListedSpan) -> float:
    return (span.tokens.cached or 0) / (span.tokens.input or 1)


_EXPIRES_US = 300_000_000


def _why_missed(turn: _Turn, material: SpanSet) -> Iterator[str]:
    before, now = material.fact(turn.before).opening, material.fact(turn.span).opening
    for number, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other:
            yield f"Message {number} of its request differs from that of the call before."
            return
    ended = turn.before.end_us or turn.before.start_us
    if turn.span.start_us - ended >= _EXPIRES_US:
        yield f"It came {duration(turn.span.start_us - ended)} later; caches last a few minutes."


def _large_results(material: SpanSet) -> Iterator[Suspect]:
    """Results that made the requests after them far larger."""
    total = sum(span.tokens.input or 0 for span in material.spans if span.counted)
    for turn in _turns(material):
        before, now = turn.before.tokens.input or 0, turn.span.tokens.input or 0
        jump = now - before
        if jump < max(_LEAST_JUMP, _JUMP * before):
            continue
        between = [
            each
            for each in material.by_trace[turn.span.trace_id]
            if each.kind is not SpanKind.MODEL
            and each.parent_id in {turn.span.parent_id, turn.before.span_id}
            and turn.before.start_us <= each.start_us < turn.span.start_us
        ]
        largest = max(between, key=lambda each: material.fact(each).output_size, default=None)
        size = material.fact(largest).output_size if largest is not None else 0
        if largest is None or size < _EXPLAINED * jump * _CHARACTERS_A_TOKEN:
            continue
        carried = [turn.span, *(each for each in turn.later if (each.tokens.input or 0) >= jump)]
        share = min(1.0, jump * len(carried) / max(1, total))
        yield Suspect(
            span=reference(largest),
            name=largest.name,
            kind=Cause.LARGE_RESULT,
            severity=_severity(share),
            why=(
                (
                    f"Its result has {size:,} characters: the next request had {now:,} tokens"
                    f" instead of {before:,}."
                ),
                (
                    f"{inline(largest.name)} was carried along by {len(carried)} requests,"
                    f" {share:.0%} of all input tokens."
                ),
            ),
            score=_LARGE + _BY_SHARE * share,
            also=tuple(map(reference, carried)),
        )


def _severity(share: float) -> Severity:
    if share >= 2 * _WORTH_NAMING:
        return Severity.HIGH
    return Severity.MEDIUM if share >= _WORTH_NAMING else Severity.LOW
