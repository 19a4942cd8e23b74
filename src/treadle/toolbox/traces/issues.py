"""Faults that were found, as rows with their evidence; the same failure again and again as one."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from treadle.toolbox.traces.results import Told, if_any, named
from treadle.traces.detectors import Finding, Kind, SpanReference
from treadle.traces.detectors.finding import QUOTE_CHARACTERS
from treadle.traces.fencing import quotable
from treadle.traces.links import span_link

_CHANGING = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+", re.IGNORECASE)
"""What differs from one time to the next: numbers, ids, addresses."""
_TOLD_BY_STATUS = (Kind.STATUS, Kind.DENIED)

Name = Mapping[SpanReference, str]


class Issue(Told):
    """A fault that stands in a span.

    `context` are the characters `start` to `end` of the text at `field` of the span, and no word
    else. `count` is how often that field says the same. `first_in` is the span that said it first,
    when this one repeats it; `also_in` counts later spans that do.
    """

    pattern: str
    severity: str
    context: str
    field: str
    start: int
    end: int
    count: int | None = if_any()
    first_in: str | None = if_any()
    also_in: int | None = if_any()


class RepeatedFailure(Told):
    """The same failure of the same operation, `count` times; `repeated_in` merely quote it later.

    Ids and numbers in what it says make no difference. `span_ids` are the first of them.
    """

    name: str
    pattern: str
    severity: str
    count: int
    repeated_in: int | None = if_any()
    context: str
    span_ids: tuple[str, ...]
    link: str


def issue(finding: Finding, *, first_in: str | None = None) -> Issue:
    """A finding as a row."""
    place = finding.evidence
    return Issue(
        pattern=finding.kind.value,
        severity=finding.severity.value,
        context=quotable(place.quote, limit=QUOTE_CHARACTERS),
        field=place.field,
        start=place.start,
        end=place.end,
        count=finding.count if finding.count > 1 else None,
        first_in=first_in,
        also_in=len(finding.also_in) or None,
    )


def by_span(
    findings: Iterable[Finding], repeats: Collection[SpanReference] = ()
) -> dict[SpanReference, list[Finding]]:
    """What stands in the content of each span, beside its status.

    The worst spans come first, and those that say the same as others, `repeats`, last.
    """
    found: dict[SpanReference, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.kind not in _TOLD_BY_STATUS:
            found[finding.evidence.span].append(finding)
    for each in found.values():
        each.sort(key=_worst_first)
    return dict(
        sorted(found.items(), key=lambda item: (item[0] in repeats, _worst_first(item[1][0])))
    )


def repeated_groups(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings that say the same, by kind and words, where there is more than one."""
    groups: dict[tuple[Kind, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        words = _CHANGING.sub("#", finding.evidence.quote.casefold())
        groups[finding.kind, words].append(finding)
    return [group for group in groups.values() if len(group) > 1 or group[0].also_in]


def repeated_failures(groups: Iterable[Sequence[Finding]], names: Name) -> list[RepeatedFailure]:
    """The groups apart by the name of their spans, the most frequent first."""
    apart: dict[tuple[int, str], list[Finding]] = defaultdict(list)
    for number, group in enumerate(groups):
        for finding in group:
            apart[number, names.get(finding.evidence.span, "")].append(finding)
    rows = [
        _repeated(name, group)
        for (_, name), group in apart.items()
        if len(group) > 1 or group[0].also_in
    ]
    return sorted(rows, key=lambda row: -row.count)


def _repeated(name: str, group: Sequence[Finding]) -> RepeatedFailure:
    first = group[0]
    place = first.evidence
    return RepeatedFailure(
        name=named(name),
        pattern=first.kind.value,
        severity=first.severity.value,
        count=len(group),
        repeated_in=len({span for each in group for span in each.also_in}) or None,
        context=quotable(place.quote),
        span_ids=tuple(each.evidence.span.span_id for each in group[:3]),
        link=span_link(place.span.trace_id, place.span.span_id),
    )


def _worst_first(finding: Finding) -> int:
    return -finding.severity.weight
