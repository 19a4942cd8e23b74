"""Faults that were found, as rows with their evidence; the same failure again and again as one."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from treadle.diagnosis.detectors import Finding, Kind
from treadle.diagnosis.detectors.finding import QUOTE_CHARACTERS
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.repeated_failures import RepeatedFailure
from treadle.spans.page_links import span_link
from treadle.toolbox.answers import if_any
from treadle.toolbox.traces.results import Told, named
from treadle.traces.fencing import quotable

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


class RepeatedFailureRow(Told):
    """The same failure of the same tool in `count` spans; `repeated_in` later spans only repeat it.

    Numbers and ids in its text make no difference. `span_ids` are the first of the spans.
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


def repeated_row(repeated: RepeatedFailure, name: str = "") -> RepeatedFailureRow:
    """The row of a repeated failure. `name` is that of its spans if it has no tool."""
    first, spans = repeated.first, repeated.spans
    return RepeatedFailureRow(
        name=named(repeated.name or name),
        pattern=first.kind.value,
        severity=first.severity.value,
        count=len(spans),
        repeated_in=repeated.later_spans or None,
        context=quotable(first.evidence.quote),
        span_ids=tuple(each.span_id for each in spans[:3]),
        link=span_link(spans[0].trace_id, spans[0].span_id),
    )


def _worst_first(finding: Finding) -> int:
    return -finding.severity.weight
