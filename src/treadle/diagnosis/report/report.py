"""A question about recorded spans, answered by rules alone: figures, causes, what to do."""

from collections import Counter
from collections.abc import Sequence

from treadle.diagnosis.detectors import Finding, Kind, Rule
from treadle.diagnosis.report.advice import recommendations, summary_of
from treadle.diagnosis.report.causes import suspects
from treadle.diagnosis.report.figures import figures_of, tables_of
from treadle.diagnosis.report.material import (
    MOST_READ,
    AnalysisReader,
    Material,
    read_material,
)
from treadle.diagnosis.report.periods import Change, period_of, within
from treadle.diagnosis.report.results import Focus, RepeatedFailure, Report
from treadle.diagnosis.report.verifying import verify_suspects
from treadle.traces.own_spans import without_own
from treadle.traces.query.conditions import Query
from treadle.traces.query.writing import format_query

MOST_ISSUES = 20
_LEAST_REPEATED = 2


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
        repeated=repeated_failures(material),
        issues=issues,
        issues_left_out=max(0, len(found) - most_issues),
        recommendations=recommendations(issues),
        unverified=unverified,
    )


def repeated_failures(material: Material) -> tuple[RepeatedFailure, ...]:
    """What went wrong in the same way in several spans of the same name, the most frequent first.

    The same way: the same kind of finding, with words that differ by numbers and ids alone.
    """
    groups: dict[tuple[str, Kind, str], list[Finding]] = {}
    for finding in material.findings:
        span = material.known.get(finding.evidence.span)
        if span is not None:
            key = (span.name, finding.kind, _without_numbers(finding.evidence.quote))
            groups.setdefault(key, []).append(finding)
    spans = {key: Counter(each.evidence.span for each in found) for key, found in groups.items()}
    repeated = [
        RepeatedFailure(
            name=key[0],
            kind=key[1],
            count=len(spans[key]),
            first=found[0].evidence.span,
            quote=found[0].evidence.quote,
        )
        for key, found in groups.items()
        if len(spans[key]) >= _LEAST_REPEATED
    ]
    return tuple(sorted(repeated, key=lambda each: -each.count))


def _without_numbers(text: str) -> str:
    """`text` as one compares it: every word with a digit in it is the same."""
    return " ".join(
        "#" if any(character.isdigit() for character in word) else word for word in text.split()
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
