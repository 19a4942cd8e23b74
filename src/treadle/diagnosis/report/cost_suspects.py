"""Suspects that took much time or money, such as slow steps and large results."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.outliers import (
    MIN_PEERS,
    Outlier,
    expensive_calls,
    has_pace,
    paced_tokens,
    slow_spans,
    time_peers,
)
from treadle.diagnosis.report.behaviour_suspects import role_of
from treadle.diagnosis.report.model import Cause, Suspect
from treadle.diagnosis.report.span_set import SpanSet
from treadle.diagnosis.span_times import critical_path, reference
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.amounts import cost, duration
from treadle.traces.fencing import inline
from treadle.traces.store.results import ListedSpan

_SLOW, _DOMINATES, _DEAR, _CACHE, _LARGE = 30.0, 20.0, 34.0, 34.0, 36.0
_BY_SHARE = 46.0
"""The score that a suspect gains if it takes 100 % of the time or cost."""
_MIN_SHARE = 0.08
_EXTREME = 10.0
"""An outlier with at least this ratio to the median is a suspect, even if its share is small."""
_MIN_COST_FACTOR = 3.0
_WORTH_NAMING = 0.25
"""The minimum share of the time or cost for medium severity."""
_DOMINATING, _AHEAD, _COMPARABLE = 0.5, 4.0, 2
_WELL_CACHED, _MISSED, _MIN_CACHED = 0.5, 0.1, 1_024
_JUMP, _MIN_JUMP = 1.0, 2_000
_CHARACTERS_A_TOKEN = 4
_EXPLAINED = 0.4
_KEPT = 0.9
"""The minimum size of a later request that is assumed to contain a large result.

It is a share of the input tokens of the first request with this result.
"""
_LEAVES = {SpanKind.TOOL, SpanKind.RETRIEVAL}
_SECOND_US = 1_000_000
_NOTICEABLE_US = 100_000
"""Slow spans of a trace are a suspect only if they lost this many microseconds together."""


def spending_suspects(span_set: SpanSet) -> list[Suspect]:
    """Return the spans that took too much time or money."""
    return [
        *_slow(span_set),
        *_dominating(span_set),
        *_expensive_calls(span_set),
        *_cache_misses(span_set),
        *_large_results(span_set),
    ]


def slow_spans_of(span_set: SpanSet) -> tuple[Outlier[ListedSpan], ...]:
    """Return the spans of the set that are slow in comparison with their peers."""
    return slow_spans(
        span_set.spans,
        span_set.own_us,
        span_set.earlier,
        span_set.earlier_own_us,
        span_set.steps,
    )


def _slow(span_set: SpanSet) -> Iterator[Suspect]:
    groups: dict[tuple[str, Hashable], list[Outlier[ListedSpan]]] = defaultdict(list)
    for each in slow_spans_of(span_set):
        groups[each.item.trace_id, time_peers(each.item)].append(each)
    for found in groups.values():
        excesses = {reference(each.item): _excess_us(each, span_set) for each in found}
        worst = max(found, key=lambda each: excesses[reference(each.item)])
        wall = max(1, span_set.wall_us[worst.item.trace_id])
        excess_us = sum(excesses.values())
        share = min(1.0, excess_us / wall)
        if excess_us < _NOTICEABLE_US or (share < _MIN_SHARE and worst.times < _EXTREME):
            continue
        span = worst.item
        own_us = span_set.own_us[reference(span)]
        yield Suspect(
            span=reference(span),
            name=span.name,
            kind=Cause.SLOW_STEP,
            severity=_severity(share),
            why=(
                (
                    f"{_slowness(worst, own_us)} That is {min(1.0, own_us / wall):.0%} of the"
                    " duration of its trace."
                ),
                *_first_token(span),
            ),
            score=_SLOW + _BY_SHARE * share + _by_times(worst.times),
            also=tuple(reference(each.item) for each in found if each is not worst),
        )


def _slowness(slow: Outlier[ListedSpan], own_us: int) -> str:
    """Return how the span compares with its peers. The last sentence is about its own time."""
    span, median, n = slow.item, slow.baseline.median, slow.baseline.n
    if has_pace(span):
        unit = "output token" if span.kind is SpanKind.MODEL else "input token"
        calls = "replies" if span.kind is SpanKind.MODEL else "calls"
        return (
            f"It took {duration(round(slow.value))} for each {unit}. The median of {n} {calls} of"
            f" {inline(span.model or '')} is {duration(round(median))}. With"
            f" {paced_tokens(span):,} tokens, it took {duration(own_us)}."
        )
    return (
        f"The median of {n} similar spans is {duration(round(median))}. The own time of this span"
        f" is {duration(own_us)}."
    )


def _first_token(span: ListedSpan) -> Iterator[str]:
    """Yield a sentence if a reply took most of its time before its first token."""
    first_us, whole_us = span.time_to_first_token_us, span.duration_us
    if first_us is not None and whole_us is not None and 2 * first_us >= whole_us:
        yield f"Its first token came after {duration(first_us)}."


def _by_times(times: float) -> float:
    """Return the score for a ratio to the median: 5 for a ratio of 10, 10 for a ratio of 100."""
    return 5 * min(2.0, max(0.0, math.log10(times)))


def _excess_us(outlier: Outlier[ListedSpan], span_set: SpanSet) -> float:
    return span_set.own_us[reference(outlier.item)] * (1 - 1 / outlier.times)


def _dominating(span_set: SpanSet) -> Iterator[Suspect]:
    """Yield steps that took most of the time of their trace, if they have too few peers.

    Only tool calls and retrievals are yielded, since an agent spends most of its time on model
    calls. A failed step is a suspect already. A trace with only one step is skipped, since that
    step always takes most of the time. If a step has enough peers, `_slow` compares it with them. A
    group of few peers is skipped if its second longest span took at least half as long as its
    longest.
    """
    peers: dict[Hashable, list[int]] = defaultdict(list)
    for span in (*span_set.spans, *span_set.earlier):
        key = reference(span)
        own_us = span_set.own_us.get(key) or span_set.earlier_own_us.get(key) or 0
        peers[time_peers(span)].append(own_us)
    for trace, spans in span_set.by_trace.items():
        steps = sorted(critical_path(spans), key=lambda step: -step.own_us)
        if len(steps) < _COMPARABLE or steps[0].span is None:
            continue
        if steps[0].span.kind not in _LEAVES or steps[0].span.status is not SpanStatus.OK:
            continue
        worst, wall = steps[0].span, max(1, span_set.wall_us[trace])
        share = steps[0].own_us / wall
        second = steps[1].own_us
        times = sorted(peers[time_peers(worst)])
        normal = len(times) >= MIN_PEERS or (len(times) > 1 and 2 * times[-2] >= times[-1])
        if normal or steps[0].own_us < max(_SECOND_US, _AHEAD * second) or share < _DOMINATING:
            continue
        yield Suspect(
            span=reference(worst),
            name=worst.name,
            kind=Cause.SLOW_STEP,
            severity=Severity.MEDIUM if steps[0].own_us >= 10 * _SECOND_US else Severity.LOW,
            why=(
                (
                    f"Its trace waited {duration(steps[0].own_us)} for this span, which is"
                    f" {share:.0%} of the duration of the trace. The second longest wait was"
                    f" {duration(second)}. There are too few similar spans for a comparison."
                ),
            ),
            score=_DOMINATES + _BY_SHARE * share,
        )


def _expensive_calls(span_set: SpanSet) -> Iterator[Suspect]:
    """Yield model calls that cost far more than their peers."""
    total = sum(span.cost or 0 for span in span_set.spans if span.counted)

    def peers(span: ListedSpan) -> Hashable:
        return span.operation, span.model, role_of(span, span_set)

    for each in expensive_calls(span_set.spans, span_set.earlier, peers):
        span = each.item
        share = each.excess / total if total else 0
        if each.times < _MIN_COST_FACTOR or (share < _MIN_SHARE and each.times < _EXTREME):
            continue
        tokens = span.tokens
        same = "with the same instructions"
        if span_set.fact(span).instructions is None:
            same = "of the same name"
        yield Suspect(
            span=reference(span),
            name=span.name,
            kind=Cause.COST_SPIKE,
            severity=_severity(share),
            why=(
                (
                    f"It cost {cost(each.value)}. The median of {each.baseline.n} calls of"
                    f" {inline(span.model or '')} {same} is {cost(each.baseline.median)}."
                ),
                (
                    f"It has {tokens.input or 0:,} input and {tokens.output or 0:,} output tokens,"
                    f" and its cost is {each.value / total:.0%} of the total."
                ),
            ),
            score=_DEAR + _BY_SHARE * share + _by_times(each.times),
        )


@dataclass(frozen=True, slots=True)
class _Turn:
    """A model call, the call before it, and the calls after it in the same conversation."""

    before: ListedSpan
    span: ListedSpan
    later: Sequence[ListedSpan]


def _turns(span_set: SpanSet, *, threads: bool = False) -> Iterator[_Turn]:
    """Yield the turns of conversations. With `threads`, a conversation may have several traces."""
    for calls in _conversations(span_set, threads=threads).values():
        for number in range(1, len(calls)):
            yield _Turn(calls[number - 1], calls[number], calls[number + 1 :])


def _conversations(span_set: SpanSet, *, threads: bool) -> Mapping[Hashable, list[ListedSpan]]:
    """Return the model calls of each conversation, in order of time.

    The calls of a conversation have the same model and the same parent. With `threads`, they have
    the same model, the same instructions and the same thread.
    """
    found: dict[Hashable, list[ListedSpan]] = defaultdict(list)
    for span in span_set.spans:
        if span.kind is SpanKind.MODEL and span.counted and span.tokens.input:
            calls: Hashable = (span.trace_id, span.parent_id)
            if threads:
                calls = (span.thread_id, role_of(span, span_set))
            found[calls, span.model].append(span)
    return found


def _cache_misses(span_set: SpanSet) -> Iterator[Suspect]:
    """Yield cache misses after a call that read at least half of its input from the cache."""
    total = sum(span.tokens.input or 0 for span in span_set.spans if span.counted)
    missed: set[Hashable] = set()
    for turn in _turns(span_set):
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
            or before.cached < _MIN_CACHED
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
                    f"It read {now.cached:,} of {now.input:,} tokens from the cache. The preceding"
                    f" call read {before.cached:,} of {before.input:,}."
                ),
                *_why_missed(turn, span_set),
            ),
            score=_CACHE + _BY_SHARE * share,
            also=tuple(reference(each) for each in bad[1:]),
        )


def _cached_share(span: ListedSpan) -> float:
    return (span.tokens.cached or 0) / (span.tokens.input or 1)


_EXPIRES_US = 300_000_000


def _why_missed(turn: _Turn, span_set: SpanSet) -> Iterator[str]:
    before, now = span_set.fact(turn.before).opening, span_set.fact(turn.span).opening
    for number, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other:
            yield f"Message {number} of its request differs from that of the preceding call."
            return
    ended = turn.before.end_us or turn.before.start_us
    if turn.span.start_us - ended >= _EXPIRES_US:
        yield f"It began {duration(turn.span.start_us - ended)} later. Caches last a few minutes."


def _large_results(span_set: SpanSet) -> Iterator[Suspect]:
    """Yield results that made the following requests far larger."""
    total = sum(span.tokens.input or 0 for span in span_set.spans if span.counted)
    for turn in _turns(span_set, threads=True):
        before, now = turn.before.tokens.input or 0, turn.span.tokens.input or 0
        jump = now - before
        if jump < max(_MIN_JUMP, _JUMP * before):
            continue
        between = [
            each
            for each in span_set.by_trace[turn.span.trace_id]
            if each.kind is not SpanKind.MODEL
            and each.parent_id in {turn.span.parent_id, turn.before.span_id}
            and turn.before.start_us <= each.start_us < turn.span.start_us
        ]
        largest = max(between, key=lambda each: span_set.fact(each).output_size, default=None)
        size = span_set.fact(largest).output_size if largest is not None else 0
        if largest is None or size < _EXPLAINED * jump * _CHARACTERS_A_TOKEN:
            continue
        sizes = [(call.tokens.input or 0) >= _KEPT * now for call in turn.later]
        kept = sizes.index(False) if False in sizes else len(sizes)
        carried = [turn.span, *turn.later[:kept]]
        share = min(1.0, jump * len(carried) / max(1, total))
        yield Suspect(
            span=reference(largest),
            name=largest.name,
            kind=Cause.LARGE_RESULT,
            severity=_severity(share),
            why=(
                (
                    f"Its result has {size:,} characters. The next request has {now:,} tokens"
                    f" instead of {before:,}."
                ),
                (
                    f"{_requests(len(carried))} {share:.0%} of all input tokens, if no request"
                    " leaves it out."
                ),
            ),
            score=_LARGE + _BY_SHARE * share,
            involved=tuple(map(reference, carried)),
        )


def _requests(number: int) -> str:
    if number == 1:
        return "In this request, it makes up"
    return f"In this request and the {number - 1} requests after it, it makes up"


def _severity(share: float) -> Severity:
    if share >= 2 * _WORTH_NAMING:
        return Severity.HIGH
    return Severity.MEDIUM if share >= _WORTH_NAMING else Severity.LOW
