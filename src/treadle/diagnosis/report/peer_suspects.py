"""Suspects out of calls that are not like the others of their tool: arguments, and results."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.report.fault_suspects import after_recovery
from treadle.diagnosis.report.model import Cause, Suspect
from treadle.diagnosis.report.span_facts import Form
from treadle.diagnosis.report.span_set import SpanSet
from treadle.diagnosis.span_times import reference
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces.fencing import inline
from treadle.traces.store.results import ListedSpan

_NAMES, _FORM, _HOLLOW, _EMPTY = 82.0, 64.0, 58.0, 40.0
_LEAST_LIKES = 4
_FEW = 0.1
"""Share of a tool's calls up to which something is an exception."""


def odd_suspects(material: SpanSet) -> list[Suspect]:
    """Calls with other arguments, or with other results, than the others of their tool."""
    calls: dict[str, list[ListedSpan]] = defaultdict(list)
    for span in (*material.earlier, *material.spans):
        if span.kind is SpanKind.TOOL and (tool := material.fact(span).tool):
            calls[tool].append(span)
    found: list[Suspect] = []
    for tool, spans in calls.items():
        found += _odd_arguments(tool, spans, material)
        answered = [span for span in spans if span.status is SpanStatus.OK]
        found += _odd_results(tool, answered, material)
        found += _empty_lists(answered, material)
    return found


def _odd_results(tool: str, spans: Sequence[ListedSpan], material: SpanSet) -> Iterator[Suspect]:
    """Results of another form, or with nothing where others have something."""
    if len(spans) <= _LEAST_LIKES:
        return
    results = {reference(span): material.fact(span).result for span in spans}
    forms = Counter(result.form for result in results.values())
    names = Counter(name for result in results.values() for name in result.names)
    hollow = Counter(name for result in results.values() for name in result.hollow)
    usual = max(forms, key=lambda form: (forms[form], form.value))
    few = max(1, int(_FEW * len(spans)))
    for span in spans:
        if reference(span) not in material.known:
            continue
        result = results[reference(span)]
        others = len(spans) - 1
        if result.form is not usual:
            if forms[result.form] <= few and result.form is not Form.NOTHING:
                why = f"Its result is {result.form.value}; those of {forms[usual]} others are"
                yield _odd(span, f"{why} {usual.value}.", Cause.ODD_RESULT, _FORM, material)
            continue
        missing = _common(names, len(spans)) - result.names
        if missing and any(names[name] <= few for name in result.names):
            why = f"Its result lacks {_listed(missing)}, which those of all {others} others have."
            yield _odd(span, why, Cause.ODD_RESULT, _FORM, material)
        empty = {name for name in result.hollow if hollow[name] <= few < names[name]}
        if empty:
            why = f"Its result has nothing in {_listed(empty)}, where nearly all others of"
            why = f"{why} {inline(tool)} have something."
            # The more often it is so, the less it says.
            score = _HOLLOW / max(hollow[name] for name in empty) ** 0.5
            yield _odd(span, why, Cause.EMPTY_RESULT, score, material)


def _common(names: Mapping[str, int], calls: int) -> set[str]:
    """The names that all results have but one in ten."""
    return {name for name, count in names.items() if count >= (1 - _FEW) * calls}


def _empty_lists(spans: Sequence[ListedSpan], material: SpanSet) -> Iterator[Suspect]:
    """Results whose lists are all empty, where no others tell whether that is usual."""
    if len(spans) > _LEAST_LIKES:
        return
    for span in spans:
        empty = material.fact(span).result.only_list_empty
        if empty and reference(span) in material.known:
            why = "The lists of its result are empty."
            yield _odd(span, why, Cause.EMPTY_RESULT, _EMPTY, material)


def _odd(span: ListedSpan, why: str, cause: Cause, score: float, material: SpanSet) -> Suspect:
    suspect = Suspect(
        span=reference(span),
        name=span.name,
        kind=cause,
        severity=Severity.MEDIUM,
        why=(why, "Its status says that it went well."),
        score=score,
    )
    return after_recovery(suspect, span, material)


def _odd_arguments(tool: str, spans: Sequence[ListedSpan], material: SpanSet) -> Iterator[Suspect]:
    """Calls with a name that hardly any other call has, and without one that nearly all have."""
    named = {
        reference(span): names
        for span in spans
        if (names := material.fact(span).arguments) is not None
    }
    if len(named) <= _LEAST_LIKES:
        return
    counts = Counter(name for names in named.values() for name in names)
    few = max(1, int(_FEW * len(named)))
    for key, names in named.items():
        odd = {name for name in names if counts[name] <= few}
        lacking = {name for name, count in counts.items() if count >= len(named) - few} - names
        if not (odd and lacking) or key not in material.known:
            continue
        span = material.known[key]
        why = f"It names {_listed(odd)}, which hardly any other call of {inline(tool)} does, and"
        why = (
            f"{why} lacks {_listed(lacking)}, which nearly all of the {len(named) - 1} others have."
        )
        yield Suspect(
            span=key,
            name=span.name,
            kind=Cause.WRONG_ARGUMENT,
            severity=Severity.HIGH,
            why=(why,),
            score=_NAMES,
        )


def _listed(names: Iterable[str]) -> str:
    return " and ".join(inline(name) for name in sorted(names)[:3])
