"""Writes a report as Markdown.

Recorded text is put in quotation marks on one line. It is truncated, and its hidden characters are
escaped. Recorded text cannot begin a heading, a row or a link.
"""

import re
from collections.abc import Iterator, Sequence

from treadle.diagnosis.evidence import Evidence
from treadle.diagnosis.repeated_failures import RepeatedFailure
from treadle.diagnosis.report.model import (
    Figure,
    Report,
    Suspect,
    Table,
    Unit,
    Value,
)
from treadle.spans.page_links import span_link
from treadle.traces.amounts import cost, duration
from treadle.traces.fencing import inline

_SPECIAL = re.compile(r"[|\[`*]")
_ISSUES = 10
_ROWS = 8
"""The maximum number of rows of a table in a rendered report. `_ISSUES` limits the issues."""
_QUOTED = 100


def render(report: Report) -> str:
    """Return the report as Markdown. A report without spans has only the summary."""
    if not report.total:
        return _section("Summary", [_cell(each) for each in report.summary])
    parts = [
        _section("Summary", [_cell(each) for each in report.summary]),
        _section("Numbers", _figures(report.figures)),
        _section("Breakdown", _tables(report.tables)),
        _section("Repeated failures", _repeated(report.repeated)),
        _section("Issues", _issues(report)),
        _section("Recommendations", [f"- {_cell(each)}" for each in report.recommendations]),
    ]
    return "\n".join(parts)


def written(value: Value, unit: Unit) -> str:
    """Return a value as text in its unit. None becomes a dash."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return _cell(inline(value, limit=_QUOTED)) if unit is Unit.TEXT else value
    match unit:
        case Unit.MICROSECONDS:
            return duration(round(value))
        case Unit.DOLLARS:
            return cost(value)
        case Unit.SHARE:
            return f"{100 * value:.1f} %"
        case _:
            return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _section(title: str, lines: Sequence[str] | Iterator[str]) -> str:
    body = "\n".join(lines) or "None."
    return f"## {title}\n\n{body}\n"


def _figures(figures: Sequence[Figure]) -> Iterator[str]:
    compared = any(figure.before is not None for figure in figures)
    yield "| figure | value | n |" + (" before | change |" if compared else "")
    yield "|---|---|---|" + ("---|---|" if compared else "")
    for figure in figures:
        row = f"| {figure.name} | {written(figure.value, figure.unit)} | {_number(figure.n)} |"
        if compared:
            change = figure.change_percent
            percent = "-" if change is None else f"{change:+.0f} %"
            row += f" {written(figure.before, figure.unit)} | {percent} |"
        yield row


def _tables(tables: Sequence[Table]) -> Iterator[str]:
    for number, table in enumerate(table for table in tables if table.rows):
        if number:
            yield ""
        yield f"{table.title}:"
        yield ""
        yield f"| {' | '.join(table.columns)} |"
        yield f"|{'---|' * len(table.columns)}"
        for row in table.rows[:_ROWS]:
            cells = [written(value, unit) for value, unit in zip(row, table.units, strict=True)]
            yield f"| {' | '.join(cells)} |"
        more = len(table.rows[_ROWS:]) + table.left_out
        if more:
            yield ""
            yield f"{more} more."


def _repeated(repeated: Sequence[RepeatedFailure]) -> Iterator[str]:
    if not repeated:
        return
    yield "| operation | failure | times | first | it says |"
    yield "|---|---|---|---|---|"
    for each in repeated[:_ROWS]:
        first = each.first.evidence
        name, quote = written(each.name, Unit.TEXT), written(first.quote, Unit.TEXT)
        link = _link(first.span.trace_id, first.span.span_id)
        yield f"| {name} | {each.first.kind.value} | {len(each.spans)} | {link} | {quote} |"
    if len(repeated) > _ROWS:
        yield ""
        yield f"{len(repeated) - _ROWS} more."


def _issues(report: Report) -> Iterator[str]:
    if not report.issues:
        return
    yield "| # | severity | cause | span | why | evidence |"
    yield "|---|---|---|---|---|---|"
    for rank, each in enumerate(report.issues[:_ISSUES], 1):
        head = f"{rank} | {each.severity.value} | {each.kind.value}"
        yield f"| {head} | {_span(each)} | {_why(each)} |"
    more = len(report.issues[_ISSUES:]) + report.issues_left_out
    if more:
        yield ""
        yield f"{more} more with lower scores."


def _span(suspect: Suspect) -> str:
    link = _link(suspect.span.trace_id, suspect.span.span_id)
    also = f", and {len(suspect.also)} more" if suspect.also else ""
    return f"{written(suspect.name, Unit.TEXT)} {link}{also}"


def _why(suspect: Suspect) -> str:
    return f"{_cell(' '.join(suspect.why))} | {'; '.join(map(_evidence, suspect.evidence[:2]))}"


def _evidence(evidence: Evidence) -> str:
    return f"{_cell(inline(evidence.field))}: {written(evidence.quote, Unit.TEXT)}"


def _link(trace_id: str, span_id: str) -> str:
    return f"[open]({span_link(trace_id, span_id)})"


def _cell(text: str) -> str:
    """Return `text` with escapes, so that it neither ends a table cell nor contains Markdown."""
    return _SPECIAL.sub(r"\\\g<0>", text.replace("\n", " "))


def _number(n: int | None) -> str:
    return "-" if n is None else f"{n:,}"
