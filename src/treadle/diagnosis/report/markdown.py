"""Writes a report as Markdown.

Recorded text is put in quotation marks on one line. It is truncated, and its hidden characters are
escaped. Recorded text cannot begin a heading, a row or a link.
"""

import re
from collections.abc import Iterator, Sequence

from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.evidence import Evidence, SpanReference
from treadle.diagnosis.report.model import (
    Figure,
    NamedSpan,
    Recommendation,
    Report,
    Suspect,
    Table,
    Unit,
    Value,
)
from treadle.spans.page_links import span_link
from treadle.traces.amounts import cost, duration
from treadle.traces.fencing import inline

_SPECIAL = re.compile(r"[|\[\]`*]")
_ISSUES = 10
_ROWS = 8
"""The maximum number of rows of a table in a rendered report. `_ISSUES` limits the issues."""
_QUOTED = 100
_COMPARED = 40


def render(report: Report) -> str:
    """Return the report as Markdown. Parts without content are left out."""
    parts = [
        ("Summary", _summary(report)),
        ("Issues", _issues(report)),
        ("Recommendations", map(_recommendation, report.recommendations)),
        ("Numbers", _figures(report.figures if report.total else ())),
        ("Breakdown", _tables(report.tables)),
    ]
    sections = ((title, "\n".join(lines)) for title, lines in parts)
    return "\n".join(f"## {title}\n\n{body}\n" for title, body in sections if body)


def _summary(report: Report) -> Iterator[str]:
    if report.total:
        yield f"{_verdict(report.issues)}\n"
    yield _cell(" ".join(report.summary))


def _verdict(issues: Sequence[Suspect]) -> str:
    if not issues:
        return "**No fault was found.**"
    first = next((each for each in issues if each.severity is not Severity.LOW), None)
    if first is None:
        return "**No serious fault was found.** The issues below are minor."
    why = _cell(first.why[0])
    return f"**Main issue: {first.kind.value}** at {_link(first.name, first.span)}. {why}"


def written(value: Value, unit: Unit) -> str:
    """Return a value as text in its unit. None becomes a dash."""
    if value is None:
        return "-"
    if isinstance(value, str | NamedSpan):
        return _words(value, unit)
    match unit:
        case Unit.MICROSECONDS:
            return duration(round(value))
        case Unit.DOLLARS:
            return cost(value)
        case Unit.SHARE:
            return f"{100 * value:.1f}%"
        case _:
            return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _words(value: str | NamedSpan, unit: Unit) -> str:
    if isinstance(value, NamedSpan):
        return _link(value.name, value.span)
    return _cell(inline(value, limit=_QUOTED)) if unit is Unit.TEXT else value


def _figures(figures: Sequence[Figure]) -> Iterator[str]:
    if not figures:
        return
    compared = any(figure.before is not None for figure in figures)
    yield "| figure | value | n |" + (" period before | change |" if compared else "")
    yield "|---|---|---|" + ("---|---|" if compared else "")
    for figure in figures:
        row = f"| {figure.name} | {written(figure.value, figure.unit)} | {_number(figure.n)} |"
        if compared:
            change = figure.change_percent
            percent = "" if change is None else f"{change:+.0f}%"
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


def _issues(report: Report) -> Iterator[str]:
    for rank, each in enumerate(report.issues[:_ISSUES], 1):
        also = f" and {len(each.also)} more like it" if each.also else ""
        why = " ".join(each.why)
        quotes = [_evidence(found) for found in each.evidence[:2] if not _is_quoted(found, why)]
        head = f"{rank}. **{each.kind.value}** ({each.severity.value})"
        sentences = " ".join((_cell(why), *quotes))
        yield f"{head} at {_link(each.name, each.span)}{also}: {sentences}"
    more = len(report.issues[_ISSUES:]) + report.issues_left_out
    if more:
        yield ""
        yield f"{more} more with lower scores."


def _recommendation(recommendation: Recommendation) -> str:
    return f"- {recommendation.advice}: {_link(recommendation.name, recommendation.span)}."


def _evidence(evidence: Evidence) -> str:
    field, quote = _cell(inline(evidence.field)), written(evidence.quote, Unit.TEXT)
    return f"The field {field} contains {quote}."


def _is_quoted(evidence: Evidence, text: str) -> bool:
    """Return whether `text` already contains the beginning of the quote."""
    return inline(evidence.quote)[:_COMPARED].rstrip('"') in text


def _link(name: str, span: SpanReference) -> str:
    return f"[{written(name, Unit.TEXT)}]({span_link(span.trace_id, span.span_id)})"


def _cell(text: str) -> str:
    """Return `text` with escapes, so that it neither ends a table cell nor contains Markdown."""
    return _SPECIAL.sub(r"\\\g<0>", text.replace("\n", " "))


def _number(n: int | None) -> str:
    return "" if n is None else f"{n:,}"
