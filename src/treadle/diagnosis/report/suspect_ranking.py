"""Ranks the suspects of a set of spans, the likeliest cause first."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.repeated_failures import failure_text
from treadle.diagnosis.report.behaviour_suspects import behaviour_suspects
from treadle.diagnosis.report.cost_suspects import spending_suspects
from treadle.diagnosis.report.fault_suspects import fault_suspects
from treadle.diagnosis.report.model import Cause, Focus, Suspect
from treadle.diagnosis.report.peer_suspects import odd_suspects
from treadle.diagnosis.report.span_set import SpanSet

_CORROBORATED = 0.15
"""Each further suspect of a span adds this share of its own score to the score of the span."""
_OUTSIDE = 0.3
"""The score of a cause outside of the focus is multiplied by this factor."""
_EXPLAINED = 0.3
"""The score of a suspect that another suspect explains is multiplied by this factor."""

_OFTEN = 0.01
"""The weight of the frequency of a cause. 100 occurrences raise a score by a tenth."""

_ABOUT_TIME = frozenset(
    {Cause.SLOW_STEP, Cause.LOOP, Cause.RETRIES, Cause.POLLING, Cause.NEVER_ENDED}
)
_ABOUT_COST = frozenset(
    {
        Cause.COST_SPIKE,
        Cause.CACHE_MISS,
        Cause.LARGE_RESULT,
        Cause.OTHER_MODEL,
        Cause.LOOP,
        Cause.RETRIES,
    }
)
_ABOUT_ERRORS = frozenset(Cause) - {
    Cause.SLOW_STEP,
    Cause.COST_SPIKE,
    Cause.CACHE_MISS,
    Cause.LARGE_RESULT,
    Cause.OTHER_MODEL,
}
_ABOUT: Mapping[Focus, frozenset[Cause]] = {
    Focus.EVERYTHING: frozenset(Cause),
    Focus.ERRORS: _ABOUT_ERRORS,
    Focus.PERFORMANCE: _ABOUT_TIME,
    Focus.COST: _ABOUT_COST,
}
_SYMPTOMS = frozenset(
    {
        Cause.COST_SPIKE,
        Cause.SLOW_STEP,
        Cause.ODD_RESULT,
        Cause.FAILED_STEP,
        Cause.STOPPED_RUN,
        Cause.DENIED_CALL,
        Cause.UNANSWERED_CALL,
        Cause.RULE_MATCH,
    }
)
"""Causes that describe a symptom. Another cause of the same span takes precedence."""
_EXPLAINS: Mapping[Cause, frozenset[Cause]] = {
    Cause.LOOP: _ABOUT_TIME | _ABOUT_COST | _SYMPTOMS | {Cause.EMPTY_RESULT, Cause.FAILED_CALL},
    Cause.RETRIES: frozenset({Cause.FAILED_CALL, Cause.WRONG_ARGUMENT, Cause.EMPTY_RESULT}),
    Cause.LARGE_RESULT: frozenset({Cause.COST_SPIKE, Cause.SLOW_STEP}),
    Cause.CACHE_MISS: frozenset({Cause.COST_SPIKE}),
    Cause.OTHER_MODEL: frozenset({Cause.COST_SPIKE, Cause.SLOW_STEP}),
}
"""Maps the cause of a suspect to the causes of other suspects that it explains.

It explains them only at the spans in the suspect's `also` and `involved`.
"""


def suspects(span_set: SpanSet, focus: Focus = Focus.EVERYTHING) -> tuple[Suspect, ...]:
    """Return the suspects, the likeliest cause first.

    A span is the main span of one suspect only.
    """
    found = [
        *fault_suspects(span_set),
        *behaviour_suspects(span_set),
        *odd_suspects(span_set),
        *spending_suspects(span_set),
    ]
    weighed = [_weighed(each, focus) for each in _explained(found)]
    groups: dict[SpanReference, list[Suspect]] = defaultdict(list)
    for each in weighed:
        groups[each.span].append(each)

    def order(each: Suspect) -> tuple[float, int, SpanReference]:
        return -round(each.score, 6), span_set.known[each.span].start_us, each.span

    ranked = sorted((_joined(group) for group in groups.values()), key=order)
    return tuple(sorted(_merge_similar(ranked), key=order))


def _merge_similar(ranked: Sequence[Suspect]) -> Iterator[Suspect]:
    """Merge suspects that have the same cause and the same evidence at spans of the same name.

    Texts that differ only by numbers and ids are the same evidence.
    """
    groups: dict[tuple[Cause, str, str], list[Suspect]] = defaultdict(list)
    for each in ranked:
        quote = failure_text(each.evidence[0].quote) if each.evidence else ""
        groups[each.kind, each.name, quote].append(each)
    for first, *others in groups.values():
        also = dict.fromkeys((*first.also, *(each.span for each in others)))
        yield replace(first, also=tuple(also), score=first.score * (1 + _OFTEN * len(also) ** 0.5))


def _weighed(suspect: Suspect, focus: Focus) -> Suspect:
    outside = suspect.kind not in _ABOUT[focus]
    return replace(suspect, score=suspect.score * _OUTSIDE) if outside else suspect


def _explained(found: Sequence[Suspect]) -> list[Suspect]:
    """Lower the scores of suspects that another suspect explains."""
    explained: dict[SpanReference, set[Cause]] = defaultdict(set)
    for each in found:
        for span in (*each.also, *each.involved):
            explained[span] |= _EXPLAINS.get(each.kind, frozenset())
    return [
        replace(each, score=each.score * _EXPLAINED, severity=Severity.LOW)
        if each.kind in explained.get(each.span, ())
        else each
        for each in found
    ]


def _joined(group: Sequence[Suspect]) -> Suspect:
    """Combine all suspects of one span into one suspect.

    The result has the cause with the highest score. A symptom is used only if there is no other
    cause.
    """
    first, *others = sorted(
        group, key=lambda each: (each.kind in _SYMPTOMS, -each.score, each.kind.value)
    )
    scores = [each.score for each in group]
    why = dict.fromkeys(reason for each in (first, *others) for reason in each.why)
    also = dict.fromkeys(span for each in (first, *others) for span in each.also)
    involved = dict.fromkeys(span for each in (first, *others) for span in each.involved)
    evidence = dict.fromkeys(item for each in (first, *others) for item in each.evidence)
    return replace(
        first,
        severity=max((each.severity for each in group), key=lambda severity: severity.weight),
        why=tuple(why),
        also=tuple(also),
        involved=tuple(involved),
        evidence=tuple(evidence),
        score=max(scores) + _CORROBORATED * (sum(scores) - max(scores)),
    )
