"""Finds the spans with a text by the index of words of each engine."""

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from treadle.database import Connection
from treadle.traces.query.conditions import Condition, Field, Query
from treadle.traces.store.queries.conditions import Sql, joined, literally, text_term
from treadle.traces.store.text_index import MAX_WORD

_COUNTED_MATCHES = 5_000

_LISTED = 2_000
"""If PostgreSQL finds fewer matches than this, their keys are listed once."""
_SINGLE_WORDS = re.compile(rf'("[^ "]{{1,{MAX_WORD}}}"( \*)?( AND |$))+')
"""Matches an argument of MATCH that has no phrase and no cut word."""

_PROBED = 100
_COMMON = 2
"""If at least this many of the `_PROBED` newest texts match, PostgreSQL reads texts in order.

The index of PostgreSQL finds all matches before it returns the newest ones.
"""


@dataclass(frozen=True, slots=True)
class TextMatches:
    """SQL for the spans `s` that match, with the row `words` of their texts, and their number.

    The number is at most `_COUNTED_MATCHES`, and approximate. It is 0 only if there are no matches.
    All matches meet the conditions `used`.
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
    looked_up = _looked_up(connection, match, checks, walked=walked)
    if looked_up.is_common:
        found = Sql("+words.texts MATCH ?", (match,))
        return TextMatches(tables, looked_up.count, joined([found, *checks]), used)
    joins_page = "CROSS JOIN spans s ON s.id = words.rowid"
    if looked_up.keys is not None:
        rows = "SELECT rowid FROM unnest(?::bigint[]) keys (rowid) ORDER BY rowid DESC OFFSET 0"
        tables = Sql(f"({rows}) words {joins_page}", (looked_up.keys,))
        return TextMatches(tables, looked_up.count, joined([]), used)
    # The common table expression prevents that the planner walks over all texts to find the newest
    # match. With the order inside, it joins the spans of the page only.
    where = joined([found, *checks])
    rows = (
        "WITH found AS MATERIALIZED"
        f" (SELECT words.rowid FROM texts words WHERE {where.text})"
        " SELECT rowid FROM found ORDER BY rowid DESC OFFSET 0"
    )
    tables = Sql(f"({rows}) words {joins_page}", where.values)
    return TextMatches(tables, looked_up.count, joined([]), used)


def _counted(connection: Connection, found: Sql) -> int:
    """Return the number of matches, at most `_COUNTED_MATCHES`."""
    counted = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM texts words WHERE {found.text}"
        f" LIMIT {_COUNTED_MATCHES}) matches",
        found.values,
    )
    return int(counted.fetchone()[0])


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """What the index of PostgreSQL finds. `keys` has the keys of all matches if they are few."""

    is_common: bool
    count: int
    keys: list[int] | None


def _looked_up(
    connection: Connection, match: str, checks: Sequence[Sql], *, walked: bool
) -> _LookedUp:
    """Look up words in the index, unless they are common and `walked` is true.

    One statement does everything, since planning another one would take longer than running it.
    """
    wanted = "(SELECT treadle.words_query(?))"
    probed = Sql("FALSE")
    if walked:
        newest = f"SELECT * FROM texts ORDER BY rowid DESC LIMIT {_PROBED}"
        fitting = _has_words("p", match)
        probed = Sql(
            f"(SELECT count(*) FROM ({newest}) p WHERE p.texts @@ {wanted} AND {fitting.text})"
            f" >= {_COMMON}",
            (match, *fitting.values),
        )
    exact = joined([_has_words("words", match), *checks])
    is_common, count, keys = connection.execute(
        f"""WITH probed AS MATERIALIZED (SELECT {probed.text} AS is_common)
        SELECT (SELECT is_common FROM probed), count(*),
            array_agg(words.rowid) FILTER (WHERE {exact.text})
        FROM (
            SELECT * FROM texts x
            WHERE NOT (SELECT is_common FROM probed) AND x.texts @@ {wanted} LIMIT {_LISTED}
        ) words""",
        (*probed.values, *exact.values, match),
    ).fetchone()
    if is_common or count == _LISTED:
        return _LookedUp(bool(is_common), _COUNTED_MATCHES, None)
    return _LookedUp(is_common=False, count=len(keys or ()), keys=keys or [])


def _has_words(table: str, match: str) -> Sql:
    """Return the condition that a candidate of the index has the words in the right order."""
    texts = ", ".join(f"{table}.{name}" for name in ("tokens", "name", "input", "output"))
    if _SINGLE_WORDS.fullmatch(match):
        return Sql(f"({table}.partial = 0 OR treadle.has_phrases({texts}, ?))", (match,))
    return Sql(f"treadle.has_words({table}.partial, {texts}, ?)", (match,))
