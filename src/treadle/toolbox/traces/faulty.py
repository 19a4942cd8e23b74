"""Summarizes the faults of many spans: which spans, and which failures repeat."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from treadle.diagnosis.detectors import Finding
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.findings import Findings
from treadle.diagnosis.repeated_failures import RepeatedFailure, repeated_failures
from treadle.diagnosis.report.quote_verification import verify_findings
from treadle.spans.page_links import span_link
from treadle.spans.span import SpanStatus
from treadle.toolbox.answers import if_any
from treadle.toolbox.traces.issues import (
    Issue,
    RepeatedFailureRow,
    by_span,
    issue,
    repeated_row,
)
from treadle.toolbox.traces.reading import TraceReading
from treadle.toolbox.traces.results import Told, named
from treadle.traces.query import Field, Query, any_of
from treadle.traces.store.results import ListedSpan

MOST_FAULTS = 2_000
"""Faults that are taken apart, the worst, so that memory and time are bounded."""
_MOST_LISTED = 20
"""Faulty spans and repeated failures that are shown at most, however many tokens there are."""
_LOOKED_UP = 2 * _MOST_LISTED
_ISSUES_OF_SPAN = 3


class FaultySpan(Told):
    """A span that did not end with an error, though its content says that something is wrong."""

    span_id: str
    name: str
    status: str
    issues: list[Issue]
    issues_left_out: int | None = if_any()
    link: str


@dataclass(frozen=True, slots=True)
class TakenApart:
    """The faults as rows. `spans` have any; `unverified` quotes no longer stood in their spans."""

    repeated: Sequence[RepeatedFailureRow]
    faulty: Sequence[FaultySpan]
    spans: int
    unverified: int


def taken_apart(reader: TraceReading, found: Findings) -> TakenApart:
    """The rows of what was found; each quote is read again in its span."""
    groups = repeated_failures(found.data)
    repeats = {span for group in groups for span in group.spans[1:]}
    every = by_span(found.data, repeats)
    groups = groups[:_MOST_LISTED]
    faulty = dict(islice(_hidden(reader, every), _MOST_LISTED))
    shown = [group.first for group in groups]
    shown += [each for of_span in faulty.values() for each in of_span[1][:_ISSUES_OF_SPAN]]
    kept, dropped = verify_findings(dict.fromkeys(shown), reader)
    standing = frozenset(kept)
    return TakenApart(
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
    reader: TraceReading, found: Mapping[SpanReference, Sequence[Finding]]
) -> Iterator[tuple[SpanReference, tuple[ListedSpan, Sequence[Finding]]]]:
    """Those of them that did not end with an error, in order."""
    references = list(found)
    for start in range(0, len(references), _LOOKED_UP):
        some = references[start : start + _LOOKED_UP]
        listed = _listed(reader, some)
        for reference in some:
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


def _repeated(reader: TraceReading, groups: Sequence[RepeatedFailure]) -> list[RepeatedFailureRow]:
    unnamed = [group.spans[0] for group in groups if not group.name]
    listed = _listed(reader, unnamed) if unnamed else {}
    rows = []
    for group in groups:
        span = listed.get(group.spans[0])
        rows.append(repeated_row(group, span.name if span else ""))
    return rows


def _listed(
    reader: TraceReading, references: Sequence[SpanReference]
) -> dict[SpanReference, ListedSpan]:
    query = Query(
        (
            any_of(Field.SPAN, sorted({each.span_id for each in references})),
            any_of(Field.TRACE, sorted({each.trace_id for each in references})),
        )
    )
    page = reader.spans(query, limit=1_000)
    return {SpanReference(each.trace_id, each.span_id): each for each in page.data}
