"""Suspects out of what agents did: loops, prompts that contradict themselves, models."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.report.model import Cause, Suspect
from treadle.diagnosis.report.span_set import SpanSet
from treadle.diagnosis.span_times import T, reference
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.amounts import duration
from treadle.traces.fencing import inline
from treadle.traces.store.results import ListedSpan

LEAST = 3
"""Calls from which on the same is called again and again: twice happens to everybody."""


class RepeatReason(StrEnum):
    """Why the same call was made again."""

    LOOP = "loop"
    """It had answered, and answered the same every time."""
    RETRIES = "retries"
    """It had failed."""
    POLLING = "polling"
    """Its answers differ, so somebody waited for a change."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a repeated call is known by. `asked` is a digest of the tool and its arguments."""

    asked: Hashable
    answered: Hashable
    """A digest of the answer; None where there is none."""
    failed: bool


@dataclass(frozen=True, slots=True)
class Loop(Generic[T]):
    """Calls of the same tool with the same arguments within a trace, in order of time."""

    manner: RepeatReason
    calls: tuple[T, ...]

    @property
    def count(self) -> int:
        """How many calls."""
        return len(self.calls)

    @property
    def needless_us(self) -> int:
        """How long all but the first took, in microseconds."""
        return sum(max(0, (each.end_us or 0) - each.start_us) for each in self.calls[1:])


def repeated_calls(
    spans: Iterable[T], call_of: Callable[[T], Call | None], *, least: int = LEAST
) -> tuple[Loop[T], ...]:
    """The calls that a trace makes `least` times or more, those with the most first.

    `call_of` tells what a span calls; None for one that is no call.
    """
    groups: dict[tuple[str, Hashable], list[tuple[T, Call]]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.start_us, span.trace_id, span.span_id)):
        call = call_of(span)
        if call is not None:
            groups[span.trace_id, call.asked].append((span, call))
    found = [
        Loop(_manner([call for _, call in group]), tuple(span for span, _ in group))
        for group in groups.values()
        if len(group) >= least
    ]
    return tuple(sorted(found, key=lambda loop: -loop.count))


def _manner(calls: list[Call]) -> RepeatReason:
    before_the_last = calls[:-1]
    if sum(call.failed for call in before_the_last) * 2 > len(before_the_last):
        return RepeatReason.RETRIES
    answers = {call.answered for call in calls}
    return RepeatReason.POLLING if len(answers) > max(1, len(calls) // 3) else RepeatReason.LOOP


_LOOP, _RETRIES, _POLLING = 74.0, 73.0, 18.0
_PROMPT, _MODEL, _FALLBACK = 52.0, 46.0, 18.0
_MOST_FACTOR = 1.25
_WITHIN_A_LOOP = 0.6
_LEAST_LIKES = 4
_FEW = 0.25
_DATED = re.compile(r"[-@:](?:\d{4}-?\d{2}-?\d{2}|\d{3,4}|latest|preview)$")


def behaviour_suspects(material: SpanSet) -> list[Suspect]:
    """What agents and models did that may be a cause."""
    return [
        *_loops(material),
        *_contradictions(material),
        *_other_models(material),
    ]


def loops_of(material: SpanSet) -> tuple[Loop[ListedSpan], ...]:
    """The calls that were made again and again."""

    def call_of(span: ListedSpan) -> Call | None:
        facts = material.fact(span)
        if facts.asked is None:
            return None
        asked = (material.caller(span), facts.asked)
        return Call(asked, facts.answered, reference(span) in material.faulty)

    return repeated_calls(material.spans, call_of)


def _loops(material: SpanSet) -> Iterator[Suspect]:
    loops = loops_of(material)
    repeated = {reference(span) for loop in loops for span in loop.calls}
    for loop in loops:
        first = loop.calls[0]
        if loop.manner is RepeatReason.POLLING:
            score, severity = _POLLING, Severity.LOW
        else:
            score = _LOOP if loop.manner is RepeatReason.LOOP else _RETRIES
            severity = Severity.HIGH if loop.count > 2 * _LEAST_LIKES else Severity.MEDIUM
        score *= min(_MOST_FACTOR, 0.85 + 0.05 * loop.count)
        if any(reference(above) in repeated for above in material.above(first)):
            score *= _WITHIN_A_LOOP
        took = duration(loop.needless_us)
        yield Suspect(
            span=reference(first),
            name=first.name,
            kind=_CAUSES[loop.manner],
            severity=severity,
            why=(
                (
                    f"The same call was made {loop.count} times {_SAID[loop.manner]};"
                    f" all but the first took {took}."
                ),
            ),
            score=score,
            also=tuple(map(reference, loop.calls[1:])),
        )


_CAUSES = {
    RepeatReason.LOOP: Cause.LOOP,
    RepeatReason.RETRIES: Cause.RETRIES,
    RepeatReason.POLLING: Cause.POLLING,
}
_SAID = {
    RepeatReason.LOOP: "and answered the same",
    RepeatReason.RETRIES: "and failed",
    RepeatReason.POLLING: "with other answers, as one waits for a change",
}


def _contradictions(material: SpanSet) -> Iterator[Suspect]:
    """The first call with each prompt that contradicts itself."""
    seen: dict[Hashable, list[ListedSpan]] = defaultdict(list)
    for span in material.spans:
        if opposed := material.fact(span).opposed:
            key = tuple((each.one.quote, each.other.quote) for each in opposed)
            seen[key].append(span)
    for spans in seen.values():
        first = spans[0]
        opposed = material.fact(first).opposed
        yield Suspect(
            span=reference(first),
            name=first.name,
            kind=Cause.CONTRADICTORY_PROMPT,
            severity=Severity.MEDIUM,
            why=tuple(
                f"Its instructions disagree about {each.about}: {inline(each.one.quote)} and"
                f" {inline(each.other.quote)}."
                for each in opposed[:3]
            ),
            evidence=tuple(piece for each in opposed[:2] for piece in (each.one, each.other)),
            score=_PROMPT,
            also=tuple(map(reference, spans[1:])),
        )


def _other_models(material: SpanSet) -> Iterator[Suspect]:
    """Calls of a model that hardly any call with the same instructions uses."""
    alike: dict[Hashable, list[ListedSpan]] = defaultdict(list)
    for span in (*material.earlier, *material.spans):
        if span.kind is SpanKind.MODEL and span.model:
            alike[_role(span, material)].append(span)
    for spans in alike.values():
        if len(spans) < _LEAST_LIKES:
            continue
        counts = Counter(_base(span.model) for span in spans)
        usual, number = min(counts.items(), key=lambda each: (-each[1], each[0]))
        for model in sorted(counts.keys() - {usual}):
            if counts[model] > _FEW * len(spans) or number < _LEAST_LIKES - 1:
                continue
            mine = [
                span
                for span in spans
                if _base(span.model) == model and reference(span) in material.known
            ]
            if mine:
                yield _of_other_model(mine, usual, f"{number} of {len(spans)}", material)


def _of_other_model(
    spans: Sequence[ListedSpan], usual: str, share: str, material: SpanSet
) -> Suspect:
    first = spans[0]
    fallback = _follows_failure(first, material)
    why = [
        (
            f"It went to {inline(first.model or '')}; {share} calls with the same instructions"
            f" go to {inline(usual)}."
        )
    ]
    if fallback:
        why.append("The call before it had failed, so it may be a fallback.")
    return Suspect(
        span=reference(first),
        name=first.name,
        kind=Cause.OTHER_MODEL,
        severity=Severity.LOW if fallback else Severity.MEDIUM,
        why=tuple(why),
        score=_FALLBACK if fallback else _MODEL,
        also=tuple(map(reference, spans[1:])),
    )


def _role(span: ListedSpan, material: SpanSet) -> Hashable:
    """What tells calls apart that are made for different ends: instructions, or else the name."""
    facts = material.fact(span)
    if facts.instructions is not None:
        return facts.instructions
    return span.name.replace(span.model or "", "").strip(), span.operation


def _base(model: str | None) -> str:
    """The name of a model without the date of its version."""
    return _DATED.sub("", model or "")


def _follows_failure(span: ListedSpan, material: SpanSet) -> bool:
    before = [
        each
        for each in material.by_trace[span.trace_id]
        if each.kind is SpanKind.MODEL and each.start_us < span.start_us
    ]
    return bool(before) and before[-1].status is SpanStatus.ERROR
