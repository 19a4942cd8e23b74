"""Suspects whose arguments or results differ from the arguments or results of their peers."""

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

_NAMES, _FORM, _EMPTY_VALUES, _EMPTY = 82.0, 64.0, 58.0, 40.0
_MIN_SIMILAR = 4
_FEW = 0.1
"""A property is rare if at most this share of a tool's calls has it."""


def odd_suspects(span_set: SpanSet) -> list[Suspect]:
    """Return calls whose arguments or results differ from those of other calls of their tool."""
    calls: dict[str, list[ListedSpan]] = defaultdict(list)
    for span in (*span_set.earlier, *span_set.spans):
        if span.kind is SpanKind.TOOL and (tool := span_set.fact(span).tool):
            calls[tool].append(span)
    found: list[Suspect] = []
    for tool, spans in calls.items():
        found += _odd_arguments(tool, spans, span_set)
        ended = [span for span in spans if span.status is SpanStatus.OK]
        found += _odd_results(tool, ended, span_set)
        found += _empty_lists(ended, span_set)
    return found


def _odd_results(tool: str, spans: Sequence[ListedSpan], span_set: SpanSet) -> Iterator[Suspect]:
    """Yield results with an unusual form, or without a value that nearly all other results have."""
    if len(spans) <= _MIN_SIMILAR:
        return
    results = {reference(span): span_set.fact(span).result for span in spans}
    forms = Counter(result.form for result in results.values())
    names = Counter(name for result in results.values() for name in result.names)
    empty_names = Counter(name for result in results.values() for name in result.empty_names)
    typical = max(forms, key=lambda form: (forms[form], form.value))
    few = max(1, int(_FEW * len(spans)))
    for span in spans:
        if reference(span) not in span_set.known:
            continue
        result = results[reference(span)]
        others = len(spans) - 1
        if result.form is not typical:
            if forms[result.form] <= few and result.form is not Form.NOTHING:
                why = f"Its result is {result.form.value}. {forms[typical]} other results are"
                yield _odd(span, f"{why} {typical.value}.", Cause.ODD_RESULT, _FORM, span_set)
            continue
        missing = _common(names, len(spans)) - result.names
        if missing and any(names[name] <= few for name in result.names):
            why = f"Its result lacks {_listed(missing)}, which all {others} other results have."
            yield _odd(span, why, Cause.ODD_RESULT, _FORM, span_set)
        empty = {name for name in result.empty_names if empty_names[name] <= few < names[name]}
        if empty:
            why = f"Its result has no value in {_listed(empty)}. Nearly all other results of"
            why = f"{why} {inline(tool)} have one."
            # A frequent empty value is weaker evidence.
            score = _EMPTY_VALUES / max(empty_names[name] for name in empty) ** 0.5
            yield _odd(span, why, Cause.EMPTY_RESULT, score, span_set)


def _common(names: Mapping[str, int], calls: int) -> set[str]:
    """Return the names that at least 90 % of the results have."""
    return {name for name, count in names.items() if count >= (1 - _FEW) * calls}


def _empty_lists(spans: Sequence[ListedSpan], span_set: SpanSet) -> Iterator[Suspect]:
    """Yield results whose lists are all empty, if the tool has few calls."""
    if len(spans) > _MIN_SIMILAR:
        return
    for span in spans:
        empty = span_set.fact(span).result.only_list_empty
        if empty and reference(span) in span_set.known:
            why = "The lists of its result are empty."
            yield _odd(span, why, Cause.EMPTY_RESULT, _EMPTY, span_set)


def _odd(span: ListedSpan, why: str, cause: Cause, score: float, span_set: SpanSet) -> Suspect:
    suspect = Suspect(
        span=reference(span),
        name=span.name,
        kind=cause,
        severity=Severity.LOW if cause is Cause.EMPTY_RESULT else Severity.MEDIUM,
        why=(why, "Its status is ok."),
        score=score,
    )
    return after_recovery(suspect, span, span_set)


def _odd_arguments(tool: str, spans: Sequence[ListedSpan], span_set: SpanSet) -> Iterator[Suspect]:
    """Yield calls with a rare argument and without an argument that nearly all calls have."""
    named = {
        reference(span): names
        for span in spans
        if (names := span_set.fact(span).arguments) is not None
    }
    if len(named) <= _MIN_SIMILAR:
        return
    counts = Counter(name for names in named.values() for name in names)
    forms = Counter(span_set.fact(span).result.form for span in spans)
    typical = max(forms, key=lambda form: (forms[form], form.value))
    few = max(1, int(_FEW * len(named)))
    for key, names in named.items():
        odd = {name for name in names if counts[name] <= few}
        lacking = {name for name, count in counts.items() if count >= len(named) - few} - names
        if not (odd and lacking) or key not in span_set.known:
            continue
        span = span_set.known[key]
        others = f"nearly all of the other {len(named) - 1} calls"
        why = [
            f"It has the argument {_listed(odd)}, which few other calls of {inline(tool)} have.",
            f"It lacks {_listed(lacking)}, which {others} have.",
        ]
        answered = key not in span_set.faulty and span_set.fact(span).result.form is typical
        if answered:
            why.append("Its result has the form of the other results, so the call may be correct.")
        suspect = Suspect(
            span=key,
            name=span.name,
            kind=Cause.WRONG_ARGUMENT,
            severity=Severity.LOW if answered else Severity.HIGH,
            why=tuple(why),
            score=_NAMES,
        )
        yield after_recovery(suspect, span, span_set) if not answered else suspect


def _listed(names: Iterable[str]) -> str:
    return " and ".join(inline(name) for name in sorted(names)[:3])
