"""Finds the spans with a text by the index of words of each engine."""

import sqlite3
from dataclasses import dataclass

from treadle.database import Connection
from treadle.traces.query.conditions import Condition, Field, Query
from treadle.traces.store.queries.conditions import Sql, joined, literally, text_term

_COUNTED_MATCHES = 5_000

_PROBED = 100
_COMMON = 2
"""If at least this many of the `_PROBED` newest texts match, PostgreSQL reads texts in order.

The index of PostgreSQL finds all matches before it returns the newest ones.
"""


@dataclass(frozen=True, slots=True)
class TextMatches:
    """SQL for the spans `s` that match, with the row `words` of their texts, and their number.

    The number is at most `_COUNTED_MATCHES`, and approximate. All matches meet the conditions
    `used`.
    """

    spans: Sql
    count: int
    where: Sql
    used: tuple[Condition, ...]


def text_matches(connection: Connection, query: Query, *, walked: bool) -> TextMatches | None:
    """Return the spans that the full-text index finds, in the order of time.

    The result is None if the index cannot be used for the query. `walked` states that the first
    spans in that order are enough.
    """
    terms = [
        (condition, text_term(condition))
        for condition in query.of(Field.TEXT)
        if not condition.negated
    ]
    matches = [term.match for _, term in terms if term.match is not None]
    if not matches:
        return None
    match = " AND ".join(matches)
    checks = [literally("words", term.literal) for _, term in terms if term.literal is not None]
    used = tuple(condition for condition, _ in terms)
    found = Sql("words.texts MATCH ?", (match,))
    tables = Sql("texts words CROSS JOIN spans s ON s.id = words.rowid")
    if isinstance(connection, sqlite3.Connection):
        return TextMatches(tables, _counted(connection, found), joined([found, *checks]), used)
    candidates = Sql("words.texts @@ treadle.words_query(?)", (match,))  # without phrases
    common, count = (
        _probed(connection, found, candidates)
        if walked
        else (False, _counted(connection, candidates))
    )
    if common:
        found = Sql("+words.texts MATCH ?", (match,))
        return TextMatches(tables, count, joined([found, *checks]), used)
    if count == 0:  # PostgreSQL does not even have to plan this
        return TextMatches(tables, 0, Sql("FALSE"), used)
    # The common table expression prevents that the planner walks over all texts to find the newest
    # match. With the order inside, it joins the spans of the page only.
    where = joined([found, *checks])
    rows = (
        "WITH found AS MATERIALIZED"
        f" (SELECT words.rowid FROM texts words WHERE {where.text})"
        " SELECT rowid FROM found ORDER BY rowid DESC OFFSET 0"
    )
    tables = Sql(f"({rows}) words CROSS JOIN spans s ON s.id = words.rowid", where.values)
    return TextMatches(tables, count, joined([]), used)


def _count(found: Sql) -> Sql:
    """Return SQL for the number of matches, at most `_COUNTED_MATCHES`."""
    return Sql(
        f"SELECT count(*) FROM (SELECT 1 FROM texts words WHERE {found.text}"
        f" LIMIT {_COUNTED_MATCHES}) matches",
        found.values,
    )


def _counted(connection: Connection, found: Sql) -> int:
    count = _count(found)
    return int(connection.execute(count.text, count.values).fetchone()[0])


def _probed(connection: Connection, found: Sql, candidates: Sql) -> tuple[bool, int]:
    """Return whether words are common, and the assumed number of their matches.

    Only the candidates of rare words are counted. One statement does both.
    """
    newest = f"SELECT * FROM texts ORDER BY rowid DESC LIMIT {_PROBED}"
    probe = f"SELECT count(*) FROM ({newest}) words WHERE {found.text}"
    count = _count(candidates)
    common, matches = connection.execute(
        f"SELECT common, CASE WHEN common THEN {_COUNTED_MATCHES} ELSE ({count.text}) END"
        f" FROM (SELECT ({probe}) >= {_COMMON} AS common OFFSET 0) probed",
        (*count.values, *found.values),
    ).fetchone()
    return bool(common), int(matches)
