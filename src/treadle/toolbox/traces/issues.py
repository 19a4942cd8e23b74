"""Faults that were found, as rows with their evidence; the same failure again and again as one."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from treadle.diagnosis.detectors import Finding, Kind, SpanReference
from treadle.diagnosis.detectors.finding import QUOTE_CHARACTERS
from treadle.spans.page_links import span_link
from treadle.toolbox.answers import if_any
from treadle.toolbox.traces.results import Told, named
from treadle.traces.fencing import quotable

_CHANGING = re.compile(r"[0-9A-Fa-f]*[0-9][0-9A-Fa-fx]*")
"""What differs from one time to the next: numbers, ids, addresses."""
_COMPARED = 120
"""Characters by which two failures are known to be one."""
_TOLD_BY_STATUS = (Kind.STATUS, Kind.DENIED)


class Issue(Told):
    """A fault in the content of a span.

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
    """The same failure of the same tool, `count` times; `repeated_in` spans merely repeat it.

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
    """The faults in the content of each span, in addition to its status.

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
    """Findings that say the same of the same tool, where there is more than one."""
    alike: dict[tuple[Kind, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        alike[finding.kind, finding.tool, finding.evidence.quote].append(finding)
    groups: dict[tuple[Kind, str, str], list[Finding]] = defaultdict(list)
    for (kind, tool, quote), found in alike.items():
        groups[kind, tool, _CHANGING.sub("#", quote[:_COMPARED])] += found
    several = [group for group in groups.values() if len(group) > 1 or group[0].also_in]
    return sorted(several, key=lambda group: -len(group))


def repeated_failure(name: str, group: Sequence[Finding]) -> RepeatedFailure:
    """The row of a group; `name` is that of its spans where the findings name no tool."""
    first = group[0]
    place = first.evidence
    return RepeatedFailure(
        name=named(first.tool or name),
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
