"""Converts the findings of detectors to rows of a result, and groups repeated failures."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from treadle.diagnosis.detectors import Finding, Kind
from treadle.diagnosis.detectors.finding import QUOTE_CHARACTERS
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.findings import Findings
from treadle.diagnosis.quote_verification import verify_findings
from treadle.diagnosis.repeated_failures import RepeatedFailure, repeated_failures
from treadle.spans.page_links import span_link
from treadle.spans.span import SpanStatus
from treadle.toolbox.answers import if_any
from treadle.toolbox.traces.trace_tool import AnswerPart, TraceReader, named
from treadle.traces.fencing import quotable
from treadle.traces.query import Field, Query, any_of
from treadle.traces.store.results import ListedSpan

_TOLD_BY_STATUS = (Kind.STATUS, Kind.DENIED)


class Issue(AnswerPart):
    """A fault in the content of a span.

    `context` is the quote of the fault: characters `start` to `end` of the text at the path
    `field`. `count` is the number of lines of that text with the same fault. If this span only
    repeats the fault of an earlier span, `first_in` is the id of the earlier span. `also_in` is the
    number of later spans that repeat the fault.
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


class RepeatedFailureRow(AnswerPart):
    """The same failure of the same tool in `count` spans.

    Failures are the same if their quotes differ only in numbers and ids. `repeated_in` is the
    number of later spans that only repeat the text of the failure, such as later model requests
    whose history contains the text. `span_ids` has the first three spans.
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
    """Convert a finding to a row. `Issue` explains `first_in`."""
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
    """Group findings by span, without findings that the status of the span already shows.

    Spans with the most severe findings come first. The spans in `repeats` come last, since they
    have the same failure as another span.
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
    """Convert a repeated failure to a row. `name` is used if the failure has no tool."""
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


MAX_FAULTS = 2_000
"""The maximum number of findings that are listed, the most severe first.

This maximum limits memory and time.
"""
_MAX_LISTED = 20
"""The maximum number of faulty spans, and of repeated failures, in a result."""
_LOOKED_UP = 2 * _MAX_LISTED
_ISSUES_OF_SPAN = 3


class FaultySpan(AnswerPart):
    """A span with faults in its content, whose status is not an error."""

    span_id: str
    name: str
    status: str
    issues: list[Issue]
    issues_left_out: int | None = if_any()
    link: str


@dataclass(frozen=True, slots=True)
class FaultRows:
    """The rows of faults.

    `spans` is the number of faulty spans. `unverified` is the number of findings that were removed
    because their quotes are not in the spans.
    """

    repeated: Sequence[RepeatedFailureRow]
    faulty: Sequence[FaultySpan]
    spans: int
    unverified: int


def fault_rows(reader: TraceReader, found: Findings) -> FaultRows:
    """Convert findings to rows. A finding whose quote is not in its span is removed."""
    groups = repeated_failures(found.data)
    repeats = {span for group in groups for span in group.spans[1:]}
    every = by_span(found.data, repeats)
    groups = groups[:_MAX_LISTED]
    faulty = dict(islice(_hidden(reader, every), _MAX_LISTED))
    shown = [group.first for group in groups]
    shown += [each for of_span in faulty.values() for each in of_span[1][:_ISSUES_OF_SPAN]]
    kept, dropped = verify_findings(dict.fromkeys(shown), reader)
    standing = frozenset(kept)
    return FaultRows(
        repeated=_repeated(reader, [group for group in groups if group.first in standing]),
        faulty=[
            row
            for span, findings in faulty.values()
            if (row := _row(span, findings, standing)) is not None
        ],
        spans=len(every),
        unverified=dropped,
    )


def _hidden(
    reader: TraceReader, found: Mapping[SpanReference, Sequence[Finding]]
) -> Iterator[tuple[SpanReference, tuple[ListedSpan, Sequence[Finding]]]]:
    """Yield each span of `found` whose status is not an error, with its findings."""
    references = list(found)
    for start in range(0, len(references), _LOOKED_UP):
        batch = references[start : start + _LOOKED_UP]
        listed = _listed(reader, batch)
        for reference in batch:
            span = listed.get(reference)
            if span is not None and span.status is not SpanStatus.ERROR:
                yield reference, (span, found[reference])


def _row(
    span: ListedSpan, findings: Sequence[Finding], standing: frozenset[Finding]
) -> FaultySpan | None:
    issues = [issue(each) for each in findings[:_ISSUES_OF_SPAN] if each in standing]
    if not issues:
        return None
    return FaultySpan(
        span_id=span.span_id,
        name=named(span.name),
        status=span.status.value,
        issues=issues,
        issues_left_out=max(0, len(findings) - _ISSUES_OF_SPAN) or None,
        link=span_link(span.trace_id, span.span_id),
    )


def _repeated(reader: TraceReader, groups: Sequence[RepeatedFailure]) -> list[RepeatedFailureRow]:
    unnamed = [group.spans[0] for group in groups if not group.name]
    listed = _listed(reader, unnamed) if unnamed else {}
    rows = []
    for group in groups:
        span = listed.get(group.spans[0])
        rows.append(repeated_row(group, span.name if span else ""))
    return rows


def _listed(
    reader: TraceReader, references: Sequence[SpanReference]
) -> dict[SpanReference, ListedSpan]:
    query = Query(
        (
            any_of(Field.SPAN, sorted({each.span_id for each in references})),
            any_of(Field.TRACE, sorted({each.trace_id for each in references})),
        )
    )
    page = reader.spans(query, limit=1_000)
    return {SpanReference(each.trace_id, each.span_id): each for each in page.data}
