"""Finds suspects in the behaviour of agents, such as repeated calls.

A suspect is a span that may be the cause of a fault.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Generic

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.report.model import Cause, Suspect
from treadle.diagnosis.report.span_set import SpanSet
from treadle.diagnosis.span_times import T, reference
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.amounts import duration
from treadle.traces.fencing import inline
from treadle.traces.store.results import ListedSpan

LEAST = 3
"""The minimum number of equal calls that count as repeated. Two equal calls are common."""


class RepeatReason(StrEnum):
    """The reason for repeated calls."""

    LOOP = "loop"
    """Most answers are the same."""
    RETRIES = "retries"
    """Most of the calls before the last one failed."""
    POLLING = "polling"
    """The answers differ, so the caller probably waited for a change."""


@dataclass(frozen=True, slots=True)
class Call:
    """The digests of a call. Calls with the same `call_digest` have the same tool and arguments."""

    call_digest: Hashable
    answer_digest: Hashable
    """A digest of the answer. It is None if there is no answer."""
    failed: bool


@dataclass(frozen=True, slots=True)
class RepeatedCalls(Generic[T]):
    """Calls of the same tool with the same arguments within a trace, in order of time."""

    reason: RepeatReason
    calls: tuple[T, ...]
    answers: int
    """The number of different answers."""

    @property
    def count(self) -> int:
        """The number of calls."""
        return len(self.calls)

    @property
    def needless_us(self) -> int:
        """The total duration of all calls except the first, in microseconds."""
        return sum(max(0, (each.end_us or 0) - each.start_us) for each in self.calls[1:])


def repeated_calls(
    spans: Iterable[T], call_of: Callable[[T], Call | None], *, least: int = LEAST
) -> tuple[RepeatedCalls[T], ...]:
    """Return the groups of at least `least` equal calls of a trace, the largest group first.

    `call_of` returns the call of a span, or None if the span is not a call.
    """
    groups: dict[tuple[str, Hashable], list[tuple[T, Call]]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.start_us, span.trace_id, span.span_id)):
        call = call_of(span)
        if call is not None:
            groups[span.trace_id, call.call_digest].append((span, call))
    found = [
        RepeatedCalls(
            _reason_of([call for _, call in group]),
            tuple(span for span, _ in group),
            len({call.answer_digest for _, call in group}),
        )
        for group in groups.values()
        if len(group) >= least
    ]
    return tuple(sorted(found, key=lambda loop: -loop.count))


def _reason_of(calls: list[Call]) -> RepeatReason:
    before_the_last = calls[:-1]
    if sum(call.failed for call in before_the_last) * 2 > len(before_the_last):
        return RepeatReason.RETRIES
    answers = {call.answer_digest for call in calls}
    return RepeatReason.POLLING if len(answers) > max(1, len(calls) // 3) else RepeatReason.LOOP


_LOOP, _RETRIES, _POLLING = 74.0, 73.0, 18.0
_PROMPT, _MODEL, _FALLBACK = 52.0, 46.0, 18.0
_MAX_FACTOR = 1.25
_WITHIN_A_LOOP = 0.6
_MIN_SIMILAR = 4
_FEW = 0.25
"""Another model is rare if at most this share of the calls used it."""
_NEARLY_ALL = 0.75
"""The minimum share of the calls that use the typical model."""
_SPLIT = 3
"""The minimum number of traces with each of two models that a program uses by design."""
_DATED = re.compile(r"[-@:](?:\d{4}-?\d{2}-?\d{2}|\d{3,4}|latest|preview)$")


def behaviour_suspects(span_set: SpanSet) -> list[Suspect]:
    """Return the suspects in the behaviour of agents and models."""
    return [
        *_loops(span_set),
        *_contradictions(span_set),
        *_other_models(span_set),
    ]


def repeated_calls_of(span_set: SpanSet) -> tuple[RepeatedCalls[ListedSpan], ...]:
    """Return the calls that occur repeatedly in `span_set`.

    A call is left out if its caller made other calls between most of its repetitions. An agent that
    runs the same tests after each change makes progress, for example.
    """

    def call_of(span: ListedSpan) -> Call | None:
        facts = span_set.fact(span)
        if facts.call_digest is None:
            return None
        call_digest = (span_set.caller(span), facts.call_digest)
        failed = span_set.faulty.get(reference(span), Severity.LOW) is not Severity.LOW
        return Call(call_digest, facts.answer_digest, failed)

    found = repeated_calls(span_set.spans, call_of)
    repeated = {reference(span) for loop in found for span in loop.calls}
    others: dict[SpanReference, list[int]] = defaultdict(list)
    for span in span_set.spans:
        if span_set.fact(span).call_digest is not None and reference(span) not in repeated:
            others[span_set.caller(span)].append(span.start_us)
    return tuple(
        loop for loop in found if not _makes_progress(loop, others[span_set.caller(loop.calls[0])])
    )


def _makes_progress(loop: RepeatedCalls[ListedSpan], others: Sequence[int]) -> bool:
    """Return whether other calls of the same caller began between most of the repeated calls.

    `others` are the starts of these other calls, in order.
    """
    between = sum(
        bisect_left(others, one.start_us) < bisect_left(others, other.start_us)
        for one, other in pairwise(loop.calls)
    )
    return between * 2 > loop.count - 1


def _loops(span_set: SpanSet) -> Iterator[Suspect]:
    loops = repeated_calls_of(span_set)
    repeated = {reference(span) for loop in loops for span in loop.calls}
    for loop in loops:
        first = loop.calls[0]
        if loop.reason is RepeatReason.POLLING:
            score, severity = _POLLING, Severity.LOW
        else:
            score = _LOOP if loop.reason is RepeatReason.LOOP else _RETRIES
            severity = Severity.HIGH if loop.count > 2 * _MIN_SIMILAR else Severity.MEDIUM
        score *= min(_MAX_FACTOR, 0.85 + 0.05 * loop.count)
        if any(reference(above) in repeated for above in span_set.above(first)):
            score *= _WITHIN_A_LOOP
        yield Suspect(
            span=reference(first),
            name=first.name,
            kind=_CAUSES[loop.reason],
            severity=severity,
            why=(
                (
                    f"The same call was made {loop.count} times{_outcome(loop)}"
                    f" The {loop.count - 1} repetitions took {duration(loop.needless_us)}."
                ),
            ),
            score=score,
            involved=tuple(map(reference, loop.calls[1:])),
        )


_CAUSES = {
    RepeatReason.LOOP: Cause.LOOP,
    RepeatReason.RETRIES: Cause.RETRIES,
    RepeatReason.POLLING: Cause.POLLING,
}


def _outcome(loop: RepeatedCalls[ListedSpan]) -> str:
    match loop.reason:
        case RepeatReason.RETRIES:
            return ", and most of these calls failed."
        case RepeatReason.POLLING:
            return ", and the answers differ. The caller probably waited for a change."
    if loop.answers == 1:
        return ", and each call returned the same answer."
    return f", and these calls returned only {loop.answers} different answers."


def _contradictions(span_set: SpanSet) -> Iterator[Suspect]:
    """Yield a suspect for each prompt with conflicting instructions, at its first call."""
    seen: dict[Hashable, list[ListedSpan]] = defaultdict(list)
    for span in span_set.spans:
        if conflicts := span_set.fact(span).conflicts:
            key = tuple((each.one.quote, each.other.quote) for each in conflicts)
            seen[key].append(span)
    for spans in seen.values():
        first = spans[0]
        conflicts = span_set.fact(first).conflicts
        yield Suspect(
            span=reference(first),
            name=first.name,
            kind=Cause.CONTRADICTORY_PROMPT,
            severity=Severity.MEDIUM,
            why=tuple(
                f"Its instructions conflict on {each.about}: {inline(each.one.quote)} and"
                f" {inline(each.other.quote)}."
                for each in conflicts[:3]
            ),
            evidence=tuple(
                conflict_quote
                for each in conflicts[:2]
                for conflict_quote in (each.one, each.other)
            ),
            score=_PROMPT,
            also=tuple(map(reference, spans[1:])),
        )


def _other_models(span_set: SpanSet) -> Iterator[Suspect]:
    """Yield calls that went to another model than most calls with the same instructions."""
    by_role: dict[Hashable, list[ListedSpan]] = defaultdict(list)
    for span in (*span_set.earlier, *span_set.spans):
        if span.kind is SpanKind.MODEL and span.model:
            by_role[role_of(span, span_set)].append(span)
    for spans in by_role.values():
        if len(spans) < _MIN_SIMILAR:
            continue
        counts = Counter(_base(span.model) for span in spans)
        typical, number = min(counts.items(), key=lambda each: (-each[1], each[0]))
        for model in sorted(counts.keys() - {typical}):
            if counts[model] > _FEW * len(spans) or number < _NEARLY_ALL * len(spans):
                continue
            mine = [
                span
                for span in spans
                if _base(span.model) == model and reference(span) in span_set.known
            ]
            if mine and not _is_split(mine, spans, typical):
                yield _of_other_model(mine, typical, f"{number} of {len(spans)}", span_set)


def _is_split(other: Sequence[ListedSpan], spans: Sequence[ListedSpan], typical: str) -> bool:
    """Return whether a program uses two models by design, for example one for some of its users.

    In this case, calls of several traces use the other model, and calls of other traces between
    them use the typical model. `other` has the calls with the other model, and `spans` has all
    calls. Both are in order of time.
    """
    traces = {span.trace_id for span in other}
    between = [
        span
        for span in spans
        if _base(span.model) == typical
        and span.trace_id not in traces
        and other[0].start_us < span.start_us < other[-1].start_us
    ]
    return len(traces) >= _SPLIT and len(between) >= _SPLIT


def _of_other_model(
    spans: Sequence[ListedSpan], typical: str, share: str, span_set: SpanSet
) -> Suspect:
    first = spans[0]
    fallback = _follows_failure(first, span_set)
    peers = "calls with the same instructions"
    if span_set.fact(first).instructions is None:
        peers = "calls of the same name"
    models = inline(first.model or ""), inline(typical)
    why = [f"The model of this call is {models[0]}. {share} {peers} use {models[1]}."]
    if fallback:
        why.append("The preceding call failed, so this may be a fallback.")
    return Suspect(
        span=reference(first),
        name=first.name,
        kind=Cause.OTHER_MODEL,
        severity=Severity.LOW if fallback else Severity.MEDIUM,
        why=tuple(why),
        score=_FALLBACK if fallback else _MODEL,
        also=tuple(map(reference, spans[1:])),
    )


def role_of(span: ListedSpan, span_set: SpanSet) -> Hashable:
    """Return a value that calls with the same instructions share: a digest of the instructions.

    For a call without instructions, it is the operation and the name without the model.
    """
    facts = span_set.fact(span)
    if facts.instructions is not None:
        return facts.instructions
    return span.name.replace(span.model or "", "").strip(), span.operation


def _base(model: str | None) -> str:
    """Return the name of a model without the date or the suffix of its version."""
    return _DATED.sub("", model or "")


def _follows_failure(span: ListedSpan, span_set: SpanSet) -> bool:
    before = [
        each
        for each in span_set.by_trace[span.trace_id]
        if each.kind is SpanKind.MODEL and each.start_us < span.start_us
    ]
    return bool(before) and before[-1].status is SpanStatus.ERROR
