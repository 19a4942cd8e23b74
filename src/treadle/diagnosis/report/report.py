"""A question about recorded spans, answered by rules alone: figures, causes, what to do."""

from collections.abc import Sequence
from dataclasses import replace

from treadle.diagnosis.detectors import Rule
from treadle.diagnosis.periods import Change, period_of, within
from treadle.diagnosis.repeated_failures import RepeatedFailure, repeated_failures
from treadle.diagnosis.report.advice import recommendations, summary_of
from treadle.diagnosis.report.causes import suspects
from treadle.diagnosis.report.figures import figures_of, tables_of
from treadle.diagnosis.report.material import (
    MOST_READ,
    AnalysisReader,
    Material,
    read_material,
)
from treadle.diagnosis.report.quote_verification import verify_suspects
from treadle.diagnosis.report.results import Focus, Report
from treadle.traces.own_spans import without_own
from treadle.traces.query.conditions import Query
from treadle.traces.query.writing import format_query

MOST_ISSUES = 20


def analyse(
    reader: AnalysisReader,
    query: Query,
    *,
    rules: Sequence[Rule] = (),
    focus: Focus = Focus.EVERYTHING,
    now_us: int,
    most_read: int = MOST_READ,
    most_issues: int = MOST_ISSUES,
) -> Report:
    """The report on the spans that fit `query`; it blocks, so call it in a thread.

    The same spans, question and `now_us` (Unix microseconds, only the end of a period that has
    none) give the same report. What the analyst itself did is left out unless ids or labels are
    asked for. Causes are looked for in the newest `most_read` spans, of which little more than
    the contents are kept at once; all figures are of all spans. Raises StoreError when reading
    fails or takes too long.
    """
    query = without_own(query)
    question = format_query(query)
    change = _change(reader, query, now_us)
    if change is not None:
        query = within(query, change.period)
    summary = change.now if change is not None else reader.summary(query)
    material = read_material(reader, query, rules=rules, most=most_read)
    found = suspects(material, focus)
    issues, unverified = verify_suspects(found[:most_issues], reader)
    return Report(
        question=question,
        focus=focus,
        snapshot=summary.snapshot,
        total=summary.sums.totals.spans,
        read=len(material.spans),
        summary=summary_of(summary, material, issues, focus),
        figures=figures_of(reader, query, summary, change.before if change else None),
        tables=tables_of(summary, material, focus),
        repeated=_repeated(material),
        issues=issues,
        issues_left_out=max(0, len(found) - most_issues),
        recommendations=recommendations(issues),
        unverified=unverified,
    )


def _repeated(material: Material) -> tuple[RepeatedFailure, ...]:
    """The repeated failures of the spans that were read, each with a name."""
    known = [each for each in material.findings if each.evidence.span in material.known]
    return tuple(
        replace(each, name=each.name or material.known[each.first.evidence.span].name)
        for each in repeated_failures(known)
    )


def _change(reader: AnalysisReader, query: Query, now_us: int) -> Change | None:
    """The figures of the period that a query names, and of the one before."""
    period = period_of(query, now_us)
    if period is None:
        return None
    return Change(
        now=reader.summary(within(query, period)),
        before=reader.summary(within(query, period.before)),
        period=period,
    )
