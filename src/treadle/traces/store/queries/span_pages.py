"""Pages of spans in any order, and pages of the spans that contain a text, with excerpts."""

from collections.abc import Sequence
from typing import Any, Unpack

from treadle.database import Connection
from treadle.errors import UsageError
from treadle.traces.query.conditions import NEWEST, Field, Query, Sort, SortKey
from treadle.traces.query.pages import (
    Page,
    Pagination,
    Part,
    Position,
    list_name,
    read_cursor,
    write_cursor,
)
from treadle.traces.store.queries.conditions import (
    ALL,
    TOKENS,
    Sql,
    joined,
    key_bounds,
    on_spans,
    register_functions,
    resolved,
)
from treadle.traces.store.queries.excerpts import Matches
from treadle.traces.store.queries.span_sources import ALL_SPANS, Source, best_source, whole_source
from treadle.traces.store.results import LISTED_SPAN, FoundIn, Hit, ListedSpan
from treadle.traces.store.statements import plain, select

MAX_ROWS = 1_000
MAX_OFFSET = 10_000
"""The maximum offset. Later pages need a cursor."""

_COUNTED = 20_000
_LOOKED_AT = 3_000
"""A scan in the order of a value stops after this many spans.

If the spans do not fill the page, all matching spans are sorted instead.
"""
_VALUES = {
    SortKey.DURATION: "s.duration_us",
    SortKey.COST: "s.cost_nano",
    SortKey.TOKENS: TOKENS,
}
_KNOWN = {
    SortKey.DURATION: "s.duration_us IS NOT NULL",
    SortKey.COST: "s.cost_nano IS NOT NULL",
    SortKey.TOKENS: "coalesce(s.input_tokens, s.output_tokens) IS NOT NULL",
}


def spans_page(
    connection: Connection,
    query: Query,
    *,
    sort: Sort = NEWEST,
    limit: int = 50,
    offset: int = 0,
    cursor: str | None = None,
) -> Page[ListedSpan]:
    """Return a page of the matching spans. Raises UsageError for a cursor from another list."""
    check_page(limit, offset)
    register_functions(connection)
    name = list_name("spans", query, sort)
    after = read_cursor(cursor, name) if cursor else None
    query = resolved(connection, query)
    wanted = offset + limit + 1
    source = best_source(connection, query, sort.key, wanted)
    rows = _rows(connection, source, query, sort, wanted=wanted, after=after)
    more = len(rows) == wanted
    shown = rows[offset : offset + limit]
    data = tuple(LISTED_SPAN.read(row[1:]) for row in shown)
    total = None if after else _total(connection, query, len(rows), more=more)
    last = Position(shown[-1][0], data[-1].key) if more and shown else None
    next_cursor = write_cursor(last, name) if last else None
    return Page(data, Pagination(offset, limit, total, next_cursor))


def conditions(source: Source, query: Query) -> Sql:
    """Return the conditions for WHERE, without the conditions that all rows of `source` meet."""
    rest = [on_spans(each) for each in query.conditions if each not in source.used]
    return joined([source.where, key_bounds(query, source.key), *rest])


def check_page(limit: int, offset: int, most: int = MAX_ROWS) -> None:
    """Raise UsageError for a limit or offset that is out of range."""
    if not 0 < limit <= most:
        raise UsageError(f"A page has 1 to {most} rows, not {limit}.", hint="Request fewer rows.")
    if not 0 <= offset <= MAX_OFFSET:
        raise UsageError(
            f"The offset is 0 to {MAX_OFFSET}, not {offset}.",
            hint="For later rows, pass `next_cursor` as the cursor.",
        )


def _rows(
    connection: Connection,
    source: Source,
    query: Query,
    sort: Sort,
    *,
    wanted: int,
    after: Position | None,
) -> list[Sequence[Any]]:
    """Return at most `wanted` rows after the position `after`.

    The first column is the sort value. The SQL contains `wanted` as a number. PostgreSQL then plans
    a prepared statement once, because its plan does not depend on parameters.
    """
    way = "ASC" if sort.ascending else "DESC"
    rows: list[Sequence[Any]] = []
    if source.is_empty:
        return rows
    if sort.key is not SortKey.TIME and (after is None or after.value is not None):
        rows = _known_rows(connection, source, query, sort, wanted=wanted, after=after)
        after = None
    if (
        len(rows) < wanted
    ):  # all spans in the order of time, or only the spans whose sort value is unknown
        unknown = ALL
        if sort.key is not SortKey.TIME:
            unknown = Sql(f"NOT ({_KNOWN[sort.key]})")
            source = best_source(connection, query, SortKey.TIME, wanted)
        where = joined([conditions(source, query), unknown, _behind_key(after, sort, source.key)])
        rest = wanted - len(rows)
        rows += _select(connection, source, where, order=f"{source.key} {way}", wanted=rest)
    return rows


def _known_rows(
    connection: Connection,
    source: Source,
    query: Query,
    sort: Sort,
    *,
    wanted: int,
    after: Position | None,
) -> list[Sequence[Any]]:
    """Return the rows with a known sort value, in the order of that value."""
    way, value = "ASC" if sort.ascending else "DESC", _VALUES[sort.key]
    known = Sql(_KNOWN[sort.key])
    if after is not None:
        sign = ">" if sort.ascending else "<"
        behind = Sql(f"({value}, s.id) {sign} (?, ?)", (after.value, after.key))
        known = joined([known, behind])
    order = f"{value} {way}, s.id {way}"
    if source.walks and query.conditions:
        # If matching spans are rare, reading a million rows in that order takes seconds. Therefore
        # only the first rows are read.
        head = Source(
            Sql(
                f"(SELECT s.id AS head FROM {source.walks} WHERE {known.text}"
                f" ORDER BY {order} LIMIT {_LOOKED_AT}) CROSS JOIN spans s ON s.id = head",
                known.values,
            ),
            _LOOKED_AT,
        )
        where = conditions(head, query)
        rows = _select(connection, head, where, value=value, order=order, wanted=wanted)
        if len(rows) == wanted:
            return rows
    if query.conditions:
        # The keys of all matching spans are sorted. Rows are read for the spans of the page only.
        source = whole_source(connection, query)
        fitting = joined([conditions(source, query), known])
        first = (
            f"(SELECT s.id AS head FROM {source.spans.text} WHERE {fitting.text}"
            f" ORDER BY {order} LIMIT {wanted}) CROSS JOIN spans s ON s.id = head"
        )
        values = (*source.spans.values, *fitting.values)
        head = Source(Sql(first, values), wanted)
        return _select(connection, head, ALL, value=value, order=order, wanted=wanted)
    where = joined([conditions(source, query), known])
    return _select(connection, source, where, value=value, order=order, wanted=wanted)


def _behind_key(after: Position | None, sort: Sort, key: str) -> Sql:
    if after is None:
        return ALL
    return Sql(f"{key} {'>' if sort.ascending else '<'} ?", (after.key,))


def _select(
    connection: Connection,
    source: Source,
    where: Sql,
    *,
    value: str = "NULL",
    order: str,
    wanted: int,
) -> list[Sequence[Any]]:
    statement = (
        f"SELECT {value}, {LISTED_SPAN.sql} FROM {source.tables.text}"
        f" WHERE {where.text} ORDER BY {order} LIMIT {wanted}"
    )
    values = (*source.tables.values, *where.values)
    return connection.execute(statement, values).fetchall()


def _total(connection: Connection, query: Query, read: int, *, more: bool) -> int | None:
    """Return the number of matching spans, or None if counting them would take long.

    If all matching spans were read, they need not be counted.

    """
    if not more:
        return read
    if query.of(Field.TEXT):
        return None
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    if source.exact:
        return source.count
    if source.count > _COUNTED:
        return None
    where = conditions(source, query)
    statement = f"SELECT count(*) FROM {source.spans.text} WHERE {where.text}"
    values = (*source.spans.values, *where.values)
    return int(connection.execute(statement, values).fetchone()[0])


_BEFORE, _AFTER = 80, 160
_COLUMNS: tuple[FoundIn, ...] = ("name", "input", "output")
_TEXTS = "SELECT rowid, name, input, output FROM texts WHERE rowid IN ({})"


def search_page(
    connection: Connection,
    query: Query,
    **part: Unpack[Part],
) -> Page[Hit]:
    """Return a page of the matching spans, with excerpts.

    Raises UsageError for a query without text.
    """
    terms = [each for each in query.of(Field.TEXT) if not each.negated]
    if not terms:
        raise UsageError(
            "The query has no text to search for.", hint="Add a word, or a phrase in quotes."
        )
    page = spans_page(connection, query, **part)
    matches = Matches(terms)
    texts = {key: found for key, *found in select(connection, _TEXTS, [s.key for s in page.data])}
    hits = tuple(_hit(span, texts.get(span.key, ("", "", "")), matches) for span in page.data)
    return Page(hits, page.pagination)


def _hit(span: ListedSpan, found: Sequence[Any], matches: Matches) -> Hit:
    texts = dict(zip(_COLUMNS, (plain(text) or "" for text in found), strict=True))
    for column in reversed(_COLUMNS):
        if ranges := matches.ranges(texts[column]):
            return _excerpt(span, column, texts[column], ranges)
    # The index also finds some texts with other characters than the query, such as a long s for s.
    column = next((each for each in reversed(_COLUMNS) if texts[each]), "name")
    return Hit(span, column, texts[column][: _BEFORE + _AFTER], ())


def _excerpt(
    span: ListedSpan, column: FoundIn, text: str, ranges: Sequence[tuple[int, int]]
) -> Hit:
    first = ranges[0]
    start = max(0, first[0] - _BEFORE)
    excerpt = text[start : first[1] + _AFTER]
    inside = ((begin - start, end - start) for begin, end in ranges)
    return Hit(span, column, excerpt, tuple(each for each in inside if each[1] <= len(excerpt)))
