"""Pages of runs and of threads, from the sums that are kept of each.

A condition on something that only spans have holds for a run or a thread when it holds for one of
its spans. Time, duration, cost and tokens are those of the whole.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

from treadle.errors import NotFoundError
from treadle.spans.span import Trace, is_shown
from treadle.traces.query.conditions import (
    NEWEST,
    Condition,
    Field,
    Operator,
    Query,
    Rows,
    Sort,
    SortKey,
)
from treadle.traces.query.pages import (
    Page,
    Pagination,
    Part,
    Position,
    list_name,
    read_cursor,
    write_cursor,
)
from treadle.traces.store import contents
from treadle.traces.store.packed_text import packed
from treadle.traces.store.queries.conditions import (
    ALL,
    Sql,
    add_holds,
    compared,
    joined,
    listing,
    on_spans,
    resolved,
)
from treadle.traces.store.queries.span_pages import check_page, conditions
from treadle.traces.store.queries.span_sources import ALL_SPANS, best_source
from treadle.traces.store.results import RUN_SUMMARY, THREAD_SUMMARY, RunSummary, ThreadSummary
from treadle.traces.store.selection import plain

T = TypeVar("T")

_FACETS = {Field.MODEL: "model", Field.LABEL: "label", Field.OPERATION: "operation"}
_MOST_NAMED = 8
_FEW = 20_000
_LATELY = 2_000
_COUNTED = 5_000
_TOKENS = """
    iif(g.metered OR g.input_tokens OR g.output_tokens, g.input_tokens + g.output_tokens, NULL)"""

_NAMES_OF_RUN = """
    SELECT facet, value
    FROM traces INDEXED BY traces_of_run
    CROSS JOIN trace_facets INDEXED BY facets_of_trace ON trace_facets.trace = traces.id
    WHERE run_id = ?1 AND facet IN ('model', 'label')
    GROUP BY facet, value ORDER BY sum(count) DESC, value"""
_ROOT_OF_RUN = """
    SELECT trace_id FROM runs JOIN spans ON spans.id = runs.root JOIN traces ON traces.id = trace
    WHERE runs.run_id = ?"""
_TRACES_OF_RUN = "SELECT trace_id FROM traces WHERE run_id = ?"
_NAMES_OF_THREAD = """
    SELECT facet, value
    FROM (SELECT run_id FROM runs WHERE thread_id = ?1 ORDER BY start_us DESC LIMIT 100)
    CROSS JOIN traces INDEXED BY traces_of_run USING (run_id)
    CROSS JOIN trace_facets INDEXED BY facets_of_trace ON trace_facets.trace = traces.id
    WHERE facet IN ('model', 'label')
    GROUP BY facet, value ORDER BY sum(count) DESC, value"""


@dataclass(frozen=True, slots=True)
class _List:
    """What differs between a list of runs and one of threads. Rows `g` are those listed."""

    name: str
    columns: str
    tables: str
    identity: str
    traces: str
    """The traces t of a row g."""
    time: str
    began: str
    duration: str
    own: Callable[[Condition], Sql | None]
    """A condition that the row itself answers."""


def runs_page(
    connection: sqlite3.Connection,
    query: Query,
    **part: Unpack[Part],
) -> Page[RunSummary]:
    """A page of the runs that fit, by their start."""

    def summary(row: Sequence[Any]) -> RunSummary:
        models, labels = _names(connection, _NAMES_OF_RUN, row[1])
        return RUN_SUMMARY.read(row, models=models, labels=labels)

    return _page(connection, _RUNS, query, summary, **part)


def threads_page(
    connection: sqlite3.Connection,
    query: Query,
    **part: Unpack[Part],
) -> Page[ThreadSummary]:
    """A page of the threads that fit, by their last activity."""

    def summary(row: Sequence[Any]) -> ThreadSummary:
        models, labels = _names(connection, _NAMES_OF_THREAD, row[1])
        return THREAD_SUMMARY.read(row, models=models, labels=labels)

    return _page(connection, _THREADS, query, summary, **part)


def fitting_rows(connection: sqlite3.Connection, rows: Rows, query: Query, most: int) -> Sql:
    """The newest runs or threads that fit: id, run or thread id, status. `query` is resolved."""
    listed = _THREADS if rows is Rows.THREADS else _RUNS
    where = joined(_condition(connection, listed, each) for each in query.conditions)
    return Sql(
        f"SELECT g.id, {listed.identity}, s.status FROM {listed.tables} WHERE {where.text}"
        f" ORDER BY {listed.time} DESC, g.id DESC LIMIT ?",
        (*where.values, most),
    )


def of_the_whole(field: Field) -> tuple[Rows, ...]:
    """The lists in which a condition on this field is about a row, and not about its spans."""
    asked = Condition(field, Operator.IS)
    own = ((Rows.RUNS, _RUNS), (Rows.THREADS, _THREADS))
    return tuple(rows for rows, listed in own if listed.own(asked) is not None)


def whole_run(connection: sqlite3.Connection, run_id: str) -> Trace:
    """All spans of a run by start time and then by id. Raises NotFoundError when there is none."""
    root = connection.execute(_ROOT_OF_RUN, (packed(run_id),)).fetchone()
    if root is None:
        raise NotFoundError(
            f"There is no run {run_id}.", hint="`treadle traces list` shows what was recorded."
        )
    traces = connection.execute(_TRACES_OF_RUN, (packed(run_id),)).fetchall()
    spans = [span for (each,) in traces for span in contents.spans(connection, plain(each))]
    spans.sort(key=lambda span: (span.start_us, span.span_id))
    return Trace(plain(root[0]), tuple(spans))


def _of_run(condition: Condition) -> Sql | None:
    if condition.field is Field.RUN:
        places, values = listing(condition.values)
        return Sql(f"g.run_id IN ({places})", values)
    if condition.field is Field.THREAD:
        places, values = listing(condition.values)
        return Sql(f"g.thread_id IN ({places})", values)
    if condition.field is Field.STATUS:
        places, values = listing(condition.values)
        return Sql(f"s.status IN ({places})", values)
    return _of_sums(_RUNS, condition)


def _of_thread(condition: Condition) -> Sql | None:
    if condition.field is Field.THREAD:
        places, values = listing(condition.values)
        return Sql(f"g.thread_id IN ({places})", values)
    return _of_sums(_THREADS, condition)


def _of_sums(listed: "_List", condition: Condition) -> Sql | None:
    columns = {
        Field.COST: "iif(g.priced, g.cost_nano, NULL)",
        Field.TOKENS: _TOKENS,
        Field.INPUT: "iif(g.metered OR g.input_tokens, g.input_tokens, NULL)",
        Field.OUTPUT: "iif(g.metered OR g.output_tokens, g.output_tokens, NULL)",
        Field.CACHED: "iif(g.metered, g.cached_tokens, NULL)",
        Field.DURATION: listed.duration,
        # Active in the time that is asked for: it ended after its beginning, began before its end.
        Field.START: listed.time if condition.operator.value.startswith(">") else listed.began,
    }
    if condition.field is Field.ERROR:
        return Sql("g.errors > 0")
    column = columns.get(condition.field)
    return compared(column, condition) if column else None


_RUNS = _List(
    name="runs",
    columns=RUN_SUMMARY.sql,
    tables="runs g CROSS JOIN spans s ON s.id = g.root CROSS JOIN traces t ON t.id = s.trace",
    identity="g.run_id",
    traces="traces t INDEXED BY traces_of_run WHERE t.run_id = g.run_id",
    time="g.start_us",
    began="g.start_us",
    duration="s.duration_us",
    own=_of_run,
)
_THREADS = _List(
    name="threads",
    columns=THREAD_SUMMARY.sql,
    tables="""threads g
        CROSS JOIN runs f ON f.id = (
            SELECT id FROM runs WHERE thread_id = g.thread_id ORDER BY start_us, id LIMIT 1
        )
        CROSS JOIN spans s ON s.id = f.root""",
    identity="g.thread_id",
    traces="""runs o INDEXED BY runs_of_thread
        CROSS JOIN traces t INDEXED BY traces_of_run USING (run_id)
        WHERE o.thread_id = g.thread_id""",
    time="g.last_us",
    began="g.start_us",
    duration="g.last_us - g.start_us",
    own=_of_thread,
)


def _page(
    connection: sqlite3.Connection,
    listed: _List,
    query: Query,
    summary: Callable[[Sequence[Any]], T],
    *,
    sort: Sort = NEWEST,
    limit: int = 50,
    offset: int = 0,
    cursor: str | None = None,
) -> Page[T]:
    check_page(limit, offset)
    add_holds(connection)
    name = list_name(listed.name, query, sort)
    after = read_cursor(cursor, name) if cursor else None
    where = joined(
        _condition(connection, listed, each) for each in resolved(connection, query).conditions
    )
    value = {
        SortKey.TIME: listed.time,
        SortKey.DURATION: listed.duration,
        SortKey.COST: "iif(g.priced, g.cost_nano, NULL)",
        SortKey.TOKENS: _TOKENS,
    }[sort.key]
    way = "ASC" if sort.ascending else "DESC"
    last = "" if sort.key is SortKey.TIME else f"{value} IS NULL, "
    behind = _behind(value, after, sort)
    statement = (
        f"SELECT {value}, {listed.columns} FROM {listed.tables}"
        f" WHERE {where.text} AND {behind.text}"
        f" ORDER BY {last}{value} {way}, g.id {way} LIMIT ? OFFSET ?"
    )
    values = (*where.values, *behind.values, limit + 1, offset)
    rows = connection.execute(statement, values).fetchall()
    more = len(rows) > limit
    end = Position(rows[limit - 1][0], rows[limit - 1][1]) if more else None
    total = None
    if after is None:
        total = _total(connection, listed, where, query) if more or not rows else offset + len(rows)
    data = tuple(summary(row[1:]) for row in rows[:limit])
    next_cursor = write_cursor(end, name) if end else None
    return Page(data, Pagination(offset, limit, total, next_cursor))


def _behind(value: str, after: Position | None, sort: Sort) -> Sql:
    if after is None:
        return ALL
    sign = ">" if sort.ascending else "<"
    if after.value is None:
        return Sql(f"({value} IS NULL AND g.id {sign} ?)", (after.key,))
    behind = Sql(f"({value}, g.id) {sign} (?, ?)", (after.value, after.key))
    if sort.key is SortKey.TIME:
        return behind
    return Sql(f"({behind.text} OR {value} IS NULL)", behind.values)


def _condition(connection: sqlite3.Connection, listed: _List, condition: Condition) -> Sql:
    positive = Condition(condition.field, condition.operator, condition.values)
    sql = listed.own(positive) or _of_spans(connection, listed, positive)
    return Sql(f"({sql.text}) IS NOT TRUE", sql.values) if condition.negated else sql


def _of_spans(connection: sqlite3.Connection, listed: _List, condition: Condition) -> Sql:
    """Whether one of its spans fits."""
    places, values = listing(condition.values)
    if condition.field in _FACETS and condition.operator is Operator.IS:
        facet = (
            "SELECT 1 FROM trace_facets a INDEXED BY facets_of_trace WHERE a.trace = t.id"
            f" AND a.facet = '{_FACETS[condition.field]}' AND a.value IN ({places})"
        )
        return Sql(f"EXISTS (SELECT 1 FROM {listed.traces} AND EXISTS ({facet}))", values)
    if condition.field is Field.TRACE:
        return Sql(f"EXISTS (SELECT 1 FROM {listed.traces} AND t.trace_id IN ({places}))", values)
    query = Query((condition,))
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    few = source.count <= _FEW or condition.field is Field.TEXT
    if few or not _seen_lately(connection, condition):
        identity = listed.identity.replace("g.", "r.")
        where = conditions(source, query)
        return Sql(
            f"{listed.identity} IN (SELECT {identity} FROM {source.tables.text}"
            f" WHERE {where.text})",
            (*source.tables.values, *where.values),
        )
    fitting = on_spans(condition)
    spans = (
        f"SELECT 1 FROM spans s INDEXED BY spans_of_trace WHERE s.trace = t.id AND ({fitting.text})"
    )
    return Sql(f"EXISTS (SELECT 1 FROM {listed.traces} AND EXISTS ({spans}))", fitting.values)


def _seen_lately(connection: sqlite3.Connection, condition: Condition) -> bool:
    """Whether one of the newest spans fits, so that a page of rows is soon found by looking."""
    fitting = on_spans(condition)
    newest = f"SELECT * FROM spans NOT INDEXED ORDER BY id DESC LIMIT {_LATELY}"
    seen = f"SELECT EXISTS (SELECT 1 FROM ({newest}) s WHERE {fitting.text})"
    return bool(connection.execute(seen, fitting.values).fetchone()[0])


def _total(connection: sqlite3.Connection, listed: _List, where: Sql, query: Query) -> int | None:
    """How many there are in all; None where that is many, and each must be looked at."""
    if not query.conditions:
        return int(connection.execute(f"SELECT count(*) FROM {listed.name}").fetchone()[0])
    fitting = f"SELECT 1 FROM {listed.tables} WHERE {where.text} LIMIT {_COUNTED}"
    found = connection.execute(f"SELECT count(*) FROM ({fitting})", where.values).fetchone()[0]
    return int(found) if found < _COUNTED else None


def _names(
    connection: sqlite3.Connection, statement: str, identity: object
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The models and the labels of a row, those of most spans first."""
    found: dict[str, list[str]] = {"model": [], "label": []}
    for facet, value in connection.execute(statement, (identity,)):
        name = plain(value)
        if len(found[facet]) < _MOST_NAMED and (facet == "model" or is_shown(name)):
            found[facet].append(name)
    return tuple(found["model"]), tuple(found["label"])
