"""Pages of runs and threads, from the stored sums of each run and thread.

Conditions on time, duration, cost and tokens compare the sums of the run or thread. For a field
that only spans have, a run or thread matches if one of its spans matches.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, Unpack

from treadle.database import Connection
from treadle.errors import NotFoundError
from treadle.spans.span import Trace, is_shown
from treadle.traces.query.conditions import (
    NEWEST,
    PROPERTIES,
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
from treadle.traces.store.queries.conditions import (
    ALL,
    Sql,
    compared,
    joined,
    listing,
    on_spans,
    register_functions,
    resolved,
)
from treadle.traces.store.queries.span_pages import check_page, conditions
from treadle.traces.store.queries.span_sources import ALL_SPANS, best_source
from treadle.traces.store.results import (
    DURATION_OF_ROOT,
    RUN_SUMMARY,
    STATUS_OF_ROOT,
    THREAD_SUMMARY,
    ListedError,
    RunSummary,
    ThreadSummary,
)
from treadle.traces.store.same_calls import same_calls_of
from treadle.traces.store.statements import packed, plain, select

T = TypeVar("T")

_FACETS = frozenset({Field.MODEL, Field.LABEL, Field.OPERATION, *PROPERTIES})
"""Fields whose values `trace_facets` has for each trace."""
_MAX_NAMES = 8
ONE_BY_ONE = "LIMIT -1 OFFSET 0"
"""The end of a subquery that the database tests for each row of the outer query, in order."""

_FEW_TRACES = 2_000
"""The number of traces from which a value of a facet counts as common.

The rows with a rare value are selected by their ids. For a common value, the rows are tested in the
order of the list, since a page is full soon.
"""

_FEW_SPANS = 20_000
_RECENT_SPANS = 2_000
_MAX_TOTAL = 5_000
_TOKENS = """
    iif(
        g.metered <> 0 OR g.input_tokens <> 0 OR g.output_tokens <> 0,
        g.input_tokens + g.output_tokens,
        NULL
    )"""

_NAMES_OF_RUNS = """
    SELECT run_id, facet, value
    FROM traces INDEXED BY traces_of_run
    CROSS JOIN trace_facets INDEXED BY facets_of_trace ON trace_facets.trace = traces.id
    WHERE run_id IN ({}) AND facet IN ('model', 'label')
    GROUP BY run_id, facet, value ORDER BY sum(count) DESC, value"""
_ROOT_OF_RUN = """
    SELECT trace_id FROM runs JOIN spans ON spans.id = runs.root JOIN traces ON traces.id = trace
    WHERE runs.run_id = ?"""
_TRACES_OF_RUN = "SELECT trace_id FROM traces WHERE run_id = ?"
_NAMED_RUNS = 100
_NAMES_OF_THREADS = f"""
    SELECT thread, facet, value
    FROM (
        SELECT column1 AS thread, coalesce((
            SELECT o.start_us FROM runs o INDEXED BY runs_of_thread WHERE o.thread_id = column1
            ORDER BY o.start_us DESC LIMIT 1 OFFSET {_NAMED_RUNS - 1}
        ), {-(1 << 63)}) AS since
        FROM (VALUES {{}}) AS ids
    ) AS named
    CROSS JOIN runs r INDEXED BY runs_of_thread ON r.thread_id = thread AND r.start_us >= since
    CROSS JOIN traces t INDEXED BY traces_of_run ON t.run_id = r.run_id
    CROSS JOIN trace_facets INDEXED BY facets_of_trace ON trace_facets.trace = t.id
    WHERE facet IN ('model', 'label')
    GROUP BY thread, facet, value ORDER BY sum(count) DESC, value"""
"""Selects the models and labels of the newest runs of each thread."""


_FIRST_OF_RUN = """(
    SELECT s.id
    FROM traces t INDEXED BY traces_of_run CROSS JOIN spans s INDEXED BY {index} ON s.trace = t.id
    WHERE t.run_id = column1 AND {condition} ORDER BY s.id LIMIT 1
)"""
_FIRST_FAULT = _FIRST_OF_RUN.format(index="faults", condition="s.fault")
_FIRST_FAILED = _FIRST_OF_RUN.format(index="failed_by_parent", condition="s.status = 'error'")
"""Selects the first failed span of a run without faults.

In such a run, the gateway recorded failed calls that a client recorded too, in another trace.
"""
_ERRORS_OF_RUNS = f"""
    SELECT runs.run_id, t.trace_id, s.span_id, s.name, s.error_type, substr(s.error, 1, 400)
    FROM (
        SELECT column1 AS run_id, coalesce({_FIRST_FAULT}, {_FIRST_FAILED}) AS first
        FROM (VALUES {{}}) AS ids
    ) AS runs CROSS JOIN spans s ON s.id = first CROSS JOIN traces t ON t.id = s.trace"""
_NEWEST_FAILING = """
    SELECT column1, (
        SELECT run_id FROM runs INDEXED BY runs_of_thread WHERE thread_id = column1 AND errors > 0
        ORDER BY start_us DESC, id DESC LIMIT 1
    ) FROM (VALUES {}) AS ids"""


@dataclass(frozen=True, slots=True)
class _ListSql:
    """The SQL of a list of runs or threads. The table of the listed rows has the alias `g`."""

    name: str
    columns: str
    tables: str
    identity: str
    traces: str
    """SQL that joins the traces of a row `g` as `t`."""
    time: str
    """The column that orders the list: the start of a run, or the last activity of a thread."""
    start: str
    duration: str
    status: str
    row_condition: Callable[[Condition], Sql | None]
    """Returns the SQL of a condition on the row itself, or None for a condition on its spans."""


def runs_page(
    connection: Connection,
    query: Query,
    **part: Unpack[Part],
) -> Page[RunSummary]:
    """Return a page of the runs that match the query, sorted by start by default."""

    def summaries(rows: Sequence[Sequence[Any]]) -> Iterator[RunSummary]:
        names = defaultdict[object, list[tuple[str, Any]]](list)
        for run_id, *name in select(connection, _NAMES_OF_RUNS, [row[1] for row in rows]):
            names[run_id].append((name[0], name[1]))
        runs = []
        for row in rows:
            models, labels = _divided(names[row[1]])
            runs.append(RUN_SUMMARY.read(row, models=models, labels=labels, error=None))
        failed = [row[1] for row, run in zip(rows, runs, strict=True) if run.sums.errors]
        errors = _errors(connection, failed)
        for row, run in zip(rows, runs, strict=True):
            yield run._replace(error=errors.get(row[1]))

    return _page(connection, _RUNS, query, summaries, **part)


def threads_page(
    connection: Connection,
    query: Query,
    **part: Unpack[Part],
) -> Page[ThreadSummary]:
    """Return a page of the threads that match the query, sorted by last activity by default."""

    def summaries(rows: Sequence[Sequence[Any]]) -> Iterator[ThreadSummary]:
        names = defaultdict[Any, list[tuple[str, Any]]](list)
        for thread_id, *name in select(connection, _NAMES_OF_THREADS, [(row[1],) for row in rows]):
            names[thread_id].append((name[0], name[1]))
        threads = []
        for row in rows:
            models, labels = _divided(names[row[1]])
            threads.append(THREAD_SUMMARY.read(row, models=models, labels=labels, error=None))
        failed = [row[1] for row, each in zip(rows, threads, strict=True) if each.sums.errors]
        runs = dict(select(connection, _NEWEST_FAILING, [(thread,) for thread in failed]))
        errors = _errors(connection, list(runs.values()))
        for row, each in zip(rows, threads, strict=True):
            yield each._replace(error=errors.get(runs.get(row[1])))

    return _page(connection, _THREADS, query, summaries, **part)


def _errors(connection: Connection, runs: Sequence[object]) -> dict[object, ListedError]:
    """Return the first error of each run that has one."""
    found: dict[object, ListedError] = {}
    for run_id, *values in select(connection, _ERRORS_OF_RUNS, [(run,) for run in runs]):
        error = ListedError(*map(plain, values))
        if error.error_type and error.message:
            message = error.message.removeprefix(f"{error.error_type}: ")
            error = replace(error, message=message)
        found[run_id] = error
    return found


def fitting_rows(connection: Connection, rows: Rows, query: Query, limit: int) -> Sql:
    """Return SQL that selects the newest runs or threads that match `query`.

    `query` must be a result of `resolved`. The columns are the key of the row, the run or thread
    id, and the status.
    """
    listed = _THREADS if rows is Rows.THREADS else _RUNS
    where = joined(_condition(connection, listed, each) for each in query.conditions)
    return Sql(
        f"SELECT g.id, {listed.identity}, {listed.status} AS status FROM {listed.tables}"
        f" WHERE {where.text} ORDER BY {listed.time} DESC, g.id DESC LIMIT ?",
        (*where.values, limit),
    )


def matching_runs(connection: Connection, query: Query) -> Sql:
    """Return the FROM and WHERE clauses of the runs `g` that match `query`, and their roots `s`.

    `query` must be a result of `resolved`.
    """
    where = joined(_condition(connection, _RUNS, each) for each in query.conditions)
    return Sql(f"{_RUNS.tables} WHERE {where.text}", where.values)


def row_level_lists(field: Field) -> tuple[Rows, ...]:
    """Return the lists in which a condition on this field tests whole rows, not their spans."""
    condition = Condition(field, Operator.IS)
    lists = ((Rows.RUNS, _RUNS), (Rows.THREADS, _THREADS))
    return tuple(rows for rows, listed in lists if listed.row_condition(condition) is not None)


def whole_run(connection: Connection, run_id: str) -> Trace:
    """Return all spans of a run, sorted by start time and id.

    Raises NotFoundError for an unknown run.
    """
    root = connection.execute(_ROOT_OF_RUN, (packed(run_id),)).fetchone()
    if root is None:
        raise NotFoundError(
            f"There is no run {run_id}.", hint="`treadle traces list` shows what was recorded."
        )
    traces = connection.execute(_TRACES_OF_RUN, (packed(run_id),)).fetchall()
    spans = [span for (each,) in traces for span in contents.spans(connection, plain(each))]
    spans.sort(key=lambda span: (span.start_us, span.span_id))
    same_calls = {
        span_id: same
        for (each,) in traces
        for span_id, same in same_calls_of(connection, plain(each)).items()
    }
    return Trace(plain(root[0]), tuple(spans), same_calls)


def _run_condition(condition: Condition) -> Sql | None:
    if condition.field is Field.RUN:
        placeholders, values = listing(condition.values)
        return Sql(f"g.run_id IN ({placeholders})", values)
    if condition.field is Field.THREAD:
        placeholders, values = listing(condition.values)
        return Sql(f"g.thread_id IN ({placeholders})", values)
    if condition.field is Field.STATUS:
        placeholders, values = listing(condition.values)
        return Sql(f"{STATUS_OF_ROOT} IN ({placeholders})", values)
    return _total_condition(_RUNS, condition)


def _thread_condition(condition: Condition) -> Sql | None:
    if condition.field is Field.THREAD:
        placeholders, values = listing(condition.values)
        return Sql(f"g.thread_id IN ({placeholders})", values)
    return _total_condition(_THREADS, condition)


def _total_condition(listed: "_ListSql", condition: Condition) -> Sql | None:
    columns = {
        Field.COST: "iif(g.priced <> 0, g.cost_nano, NULL)",
        Field.TOKENS: _TOKENS,
        Field.INPUT: "iif(g.metered <> 0 OR g.input_tokens <> 0, g.input_tokens, NULL)",
        Field.OUTPUT: "iif(g.metered <> 0 OR g.output_tokens <> 0, g.output_tokens, NULL)",
        Field.CACHED: "iif(g.metered <> 0, g.cached_tokens, NULL)",
        Field.DURATION: listed.duration,
        # A thread matches a period if it was active in the period: its last activity is after the
        # beginning of the period, and its start is before the end.
        Field.START: listed.time if condition.operator.value.startswith(">") else listed.start,
    }
    if condition.field is Field.ERROR:
        return Sql("g.errors > 0")
    column = columns.get(condition.field)
    return compared(column, condition) if column else None


_RUNS = _ListSql(
    name="runs",
    columns=RUN_SUMMARY.sql,
    tables="runs g CROSS JOIN spans s ON s.id = g.root CROSS JOIN traces t ON t.id = s.trace",
    identity="g.run_id",
    traces="traces t INDEXED BY traces_of_run WHERE t.run_id = g.run_id",
    time="g.start_us",
    start="g.start_us",
    duration=DURATION_OF_ROOT,
    status=STATUS_OF_ROOT,
    row_condition=_run_condition,
)
_THREADS = _ListSql(
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
    start="g.start_us",
    duration="g.last_us - g.start_us",
    status="s.status",
    row_condition=_thread_condition,
)


def _page(
    connection: Connection,
    listed: _ListSql,
    query: Query,
    summaries: Callable[[Sequence[Sequence[Any]]], Iterable[T]],
    *,
    sort: Sort = NEWEST,
    limit: int = 50,
    offset: int = 0,
    cursor: str | None = None,
) -> Page[T]:
    check_page(limit, offset)
    register_functions(connection)
    name = list_name(listed.name, query, sort)
    after = read_cursor(cursor, name) if cursor else None
    wanted = resolved(connection, query)
    where = joined(_condition(connection, listed, each, newest=True) for each in wanted.conditions)
    value = {
        SortKey.TIME: listed.time,
        SortKey.DURATION: listed.duration,
        SortKey.COST: "iif(g.priced <> 0, g.cost_nano, NULL)",
        SortKey.TOKENS: _TOKENS,
    }[sort.key]
    direction = "ASC" if sort.ascending else "DESC"
    nulls_last = "" if sort.key is SortKey.TIME else f"{value} IS NULL, "
    after_cursor = _after_cursor(value, after, sort)
    statement = (
        f"SELECT {value}, {listed.columns} FROM {listed.tables}"
        f" WHERE {where.text} AND {after_cursor.text}"
        f" ORDER BY {nulls_last}{value} {direction}, g.id {direction}"
        f" LIMIT {limit + 1} OFFSET {offset}"
    )
    values = (*where.values, *after_cursor.values)
    rows = connection.execute(statement, values).fetchall()
    more = len(rows) > limit
    end = Position(rows[limit - 1][0], rows[limit - 1][1]) if more else None
    total = None
    if after is None:
        total = (
            _total(connection, listed, where, wanted) if more or not rows else offset + len(rows)
        )
    data = tuple(summaries([row[1:] for row in rows[:limit]]))
    next_cursor = write_cursor(end, name) if end else None
    return Page(data, Pagination(offset, limit, total, next_cursor))


def _after_cursor(value: str, after: Position | None, sort: Sort) -> Sql:
    if after is None:
        return ALL
    sign = ">" if sort.ascending else "<"
    if after.value is None:
        return Sql(f"({value} IS NULL AND g.id {sign} ?)", (after.key,))
    after_cursor = Sql(f"({value}, g.id) {sign} (?, ?)", (after.value, after.key))
    if sort.key is SortKey.TIME:
        return after_cursor
    return Sql(f"({after_cursor.text} OR {value} IS NULL)", after_cursor.values)


def _condition(
    connection: Connection, listed: _ListSql, condition: Condition, *, newest: bool = False
) -> Sql:
    """Return SQL of the condition on a row. `newest` states that the query stops after a page."""
    positive = replace(condition, negated=False)
    sql = listed.row_condition(positive) or _span_condition(
        connection, listed, positive, one_by_one=newest and condition.negated
    )
    return Sql(f"({sql.text}) IS NOT TRUE", sql.values) if condition.negated else sql


def _span_condition(
    connection: Connection, listed: _ListSql, condition: Condition, *, one_by_one: bool
) -> Sql:
    """Return SQL that tests whether a span of the row meets the condition.

    If few traces have the value, the SQL first selects the rows with the value. With `one_by_one`,
    it tests each row instead. This is faster for a page of the rows without a rare value: most rows
    do not have the value, so few tests fill the page.
    """
    placeholders, values = listing(condition.values)
    if condition.field in _FACETS and condition.operator is Operator.IS:
        rows = _rows_of_facet(listed, condition)
        counted = f"SELECT count(*) FROM ({rows.text} LIMIT {_FEW_TRACES})"
        (traces,) = connection.execute(counted, rows.values).fetchone()
        if traces < _FEW_TRACES and not one_by_one:
            return Sql(f"{listed.identity} IN ({rows.text})", rows.values)
        facet = (
            "SELECT 1 FROM trace_facets a INDEXED BY facets_of_trace WHERE a.trace = t.id"
            f" AND a.facet = ? AND a.value IN ({placeholders})"
        )
        return Sql(
            f"EXISTS (SELECT 1 FROM {listed.traces} AND EXISTS ({facet}) {ONE_BY_ONE})",
            (condition.about.value, *values),
        )
    if condition.field is Field.TRACE:
        return Sql(
            f"EXISTS (SELECT 1 FROM {listed.traces} AND t.trace_id IN ({placeholders}))", values
        )
    query = Query((condition,))
    source = best_source(connection, query, SortKey.TIME, ALL_SPANS)
    few = source.count <= _FEW_SPANS or condition.field is Field.TEXT
    if few or not _is_recent(connection, condition):
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
    return Sql(
        f"EXISTS (SELECT 1 FROM {listed.traces} AND EXISTS ({spans}) {ONE_BY_ONE})", fitting.values
    )


def _rows_of_facet(listed: _ListSql, condition: Condition) -> Sql:
    """Return SQL that selects the ids of the rows that have a value of the condition on a facet."""
    placeholders, values = listing(condition.values)
    identity = listed.identity.replace("g.", "r.")
    return Sql(
        f"SELECT {identity} FROM trace_facets a CROSS JOIN traces t ON t.id = a.trace"
        " CROSS JOIN runs r ON r.run_id = t.run_id"
        f" WHERE a.facet = ? AND a.value IN ({placeholders})",
        (condition.about.value, *values),
    )


def _is_recent(connection: Connection, condition: Condition) -> bool:
    """Return whether one of the newest spans matches.

    If one matches, testing row by row fills a page quickly.
    """
    fitting = on_spans(condition)
    newest = f"SELECT * FROM spans NOT INDEXED ORDER BY id DESC LIMIT {_RECENT_SPANS}"
    seen = f"SELECT EXISTS (SELECT 1 FROM ({newest}) s WHERE {fitting.text})"
    return bool(connection.execute(seen, fitting.values).fetchone()[0])


def _total(connection: Connection, listed: _ListSql, where: Sql, query: Query) -> int | None:
    """Return the number of matching rows, or None if counting them would need too many tests."""
    if not query.conditions:
        return _all_rows(connection, listed)
    if len(query.conditions) == 1:
        (condition,) = query.conditions
        if condition.field in _FACETS and condition.operator is Operator.IS:
            rows = _rows_of_facet(listed, condition)
            counted = f"SELECT count(*) FROM (SELECT DISTINCT * FROM ({rows.text}) LIMIT ?)"
            (found,) = connection.execute(counted, (*rows.values, _MAX_TOTAL)).fetchone()
            if found == _MAX_TOTAL:
                return None
            return _all_rows(connection, listed) - int(found) if condition.negated else int(found)
    fitting = f"SELECT 1 FROM {listed.tables} WHERE {where.text} LIMIT {_MAX_TOTAL}"
    found = connection.execute(f"SELECT count(*) FROM ({fitting})", where.values).fetchone()[0]
    return int(found) if found < _MAX_TOTAL else None


def _all_rows(connection: Connection, listed: _ListSql) -> int:
    """Return the number of all runs or threads."""
    return int(connection.execute(f"SELECT count(*) FROM {listed.name}").fetchone()[0])


def _divided(names: Iterable[tuple[str, Any]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the models and the labels among names, which have the most frequent ones first."""
    found: dict[str, list[str]] = {"model": [], "label": []}
    for facet, value in names:
        name = plain(value)
        if len(found[facet]) < _MAX_NAMES and (facet == "model" or is_shown(name)):
            found[facet].append(name)
    return tuple(found["model"]), tuple(found["label"])
