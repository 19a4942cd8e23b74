"""Text search: the spans that hold the words, and where."""

import re
import sqlite3
from typing import Unpack

from treadle.errors import UsageError
from treadle.traces.query.conditions import Condition, Field, Operator, Query
from treadle.traces.query.pages import Page, Part
from treadle.traces.store.reading.spans import spans_page
from treadle.traces.store.results import FoundIn, Hit, ListedSpan, plain

_BEFORE, _AFTER = 80, 160
_COLUMNS: tuple[FoundIn, ...] = ("name", "input", "output")


def search_page(
    connection: sqlite3.Connection,
    query: Query,
    **part: Unpack[Part],
) -> Page[Hit]:
    """A page of the spans that fit, with excerpts. Raises UsageError when no text is asked for."""
    terms = [each for each in query.of(Field.TEXT) if not each.negated]
    if not terms:
        raise UsageError(
            "Nothing is searched for.", hint="Give a word or a phrase in quotes to search for."
        )
    page = spans_page(connection, query, **part)
    wanted = re.compile("|".join(map(_regex, terms)), re.IGNORECASE)
    hits = tuple(_hit(connection, span, wanted) for span in page.data)
    return Page(hits, page.pagination)


def _regex(term: Condition) -> str:
    text = str(term.values[0])
    start = r"(?<!\w)" if text[:1].isalnum() else ""
    end = r"(?!\w)" if text[-1:].isalnum() and term.operator is Operator.CONTAINS else ""
    return f"{start}{re.escape(text)}{end}|{re.escape(text)}"


def _hit(connection: sqlite3.Connection, span: ListedSpan, wanted: re.Pattern[str]) -> Hit:
    found = connection.execute(
        "SELECT name, input, output FROM texts WHERE rowid = ?", (span.key,)
    ).fetchone()
    texts = dict(zip(_COLUMNS, (plain(text) or "" for text in found or ("", "", "")), strict=True))
    for column in reversed(_COLUMNS):
        if match := wanted.search(texts[column]):
            return _excerpt(span, column, texts[column], match, wanted)
    # Found with other accents than asked for; the place is not worth a second search.
    column = next((each for each in reversed(_COLUMNS) if texts[each]), "name")
    return Hit(span, column, texts[column][: _BEFORE + _AFTER], ())


def _excerpt(
    span: ListedSpan, column: FoundIn, text: str, match: re.Match[str], wanted: re.Pattern[str]
) -> Hit:
    start = max(0, match.start() - _BEFORE)
    excerpt = text[start : match.end() + _AFTER]
    ranges = tuple(each.span() for each in wanted.finditer(excerpt) if each.end() > each.start())
    return Hit(span, column, excerpt, ranges)
