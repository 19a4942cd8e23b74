"""What a set of spans looks like in all: counts, sums, percentiles, the slowest and the dearest."""

import json
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from treadle.traces.query.conditions import (
    Condition,
    Field,
    GroupBy,
    Operator,
    Query,
    Sort,
    SortKey,
    any_of,
)
from treadle.traces.span import SpanKind
from treadle.traces.store.packing import packed
from treadle.traces.store.reading.groups import ADDED, TOTALS, groups_page, label_counts, sums_of
from treadle.traces.store.reading.listed import LabelCount, ListedSpan, Sums, plain, sums
from treadle.traces.store.reading.planning import Source, whole_source
from treadle.traces.store.reading.spans import conditions, spans_page
from treadle.traces.store.reading.text_terms import add_holds
from treadle.traces.store.reading.where import Sql, resolved
from treadle.traces.store.rows import added, nothing
from treadle.traces.tool_stats import PREFIX

TOP = 5
"""How many of the worst are named."""

MOST_GROUPS = 100
"""How many models, tools, operations and labels are told apart."""

_TOOLS = Query((any_of(Field.KIND, [SpanKind.TOOL.value]),))


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of `n` durations in microseconds, each the value of a real one (nearest rank).

    All are None where there are none.
    """

    n: int
    p50_us: int | None
    p95_us: int | None
    p99_us: int | None
    max_us: int | None


NO_DURATIONS = Percentiles(0, None, None, None, None)


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """The calls of one tool among the spans."""

    name: str
    calls: int
    failed: int
    latency: Percentiles


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The calls of one model among the spans; of spans without a model '' is the name."""

    name: str
    sums: Sums
    latency: Percentiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A set of spans in all. `snapshot` is the newest revision that it has seen.

    `wall_us` is the time from the first start to the last end; `sums.busy_us` the sum of durations.
    """

    snapshot: int
    sums: Sums
    start_us: int | None
    last_us: int | None
    wall_us: int | None
    by_operation: tuple[tuple[str, int], ...]
    by_status: tuple[tuple[str, int], ...]
    latency: Percentiles
    time_to_first_token: Percentiles
    models: tuple[ModelUsage, ...]
    tools: tuple[ToolUsage, ...]
    labels: tuple[LabelCount, ...]
    errors: tuple[ListedSpan, ...]
    slowest: tuple[ListedSpan, ...]
    most_expensive: tuple[ListedSpan, ...]


def summary(connection: sqlite3.Connection, query: Query) -> Summary:
    """The summary of the spans that fit.

    Of all spans or of a time, the kept sums answer what they can. Everything else is read from the
    short form of the spans, in the order that an answer needs, so that of each span no more than
    its duration is held.
    """
    add_holds(connection)
    query = resolved(connection, query)
    spans = _Spans(connection, whole_source(connection, query), query)
    counts = _of_kept(spans) if _is_of_time(query) else _of_spans(spans)
    latency, of_models = _percentiles(spans, "s.duration_us", "s.model", counts.models)
    slow = Sort(SortKey.DURATION)
    failed = Query((Condition(Field.ERROR, Operator.IS),))
    priced = Query((Condition(Field.COST, Operator.MORE, (0,)),))
    start_us, last_us = _bounds(spans)
    return Summary(
        snapshot=connection.execute("SELECT coalesce(max(revision), 0) FROM spans").fetchone()[0],
        sums=counts.sums,
        start_us=start_us,
        last_us=last_us,
        wall_us=None if start_us is None or last_us is None else last_us - start_us,
        by_operation=counts.operations,
        by_status=counts.statuses,
        latency=latency,
        time_to_first_token=_percentiles(spans, "s.ttft_us")[0],
        models=tuple(
            ModelUsage(name, of_model, of_models[name]) for name, of_model in counts.models.items()
        ),
        tools=_tools(spans),
        labels=_labels(spans),
        errors=spans_page(connection, query & failed, limit=TOP).data,
        slowest=spans_page(connection, query, sort=slow, limit=TOP).data,
        most_expensive=spans_page(
            connection, query & priced, sort=Sort(SortKey.COST), limit=TOP
        ).data,
    )


@dataclass(frozen=True, slots=True)
class _Spans:
    """The spans that fit."""

    connection: sqlite3.Connection
    source: Source
    query: Query

    def select(self, columns: str, rest: str = "") -> Iterator[tuple[Any, ...]]:
        """Columns of theirs; `rest` follows the conditions."""
        where = conditions(self.source, self.query)
        return self.connection.execute(
            f"SELECT {columns} FROM {self.source.spans.text} WHERE {where.text} {rest}",
            (*self.source.spans.values, *where.values),
        )


@dataclass(frozen=True, slots=True)
class _Counts:
    """What is summed up. `models` are those of most spans first, without ''."""

    sums: Sums
    operations: tuple[tuple[str, int], ...]
    statuses: tuple[tuple[str, int], ...]
    models: dict[str, Sums]


def _is_of_time(query: Query) -> bool:
    return all(each.field is Field.START for each in query.conditions)


def _of_kept(spans: _Spans) -> _Counts:
    """The sums of all spans, or of those of a time, by the kept sums."""
    connection, query = spans.connection, spans.query
    total = sums_of(connection, query)
    operations = groups_page(connection, GroupBy.OPERATION, query, limit=MOST_GROUPS).data
    models = groups_page(connection, GroupBy.MODEL, query, limit=MOST_GROUPS + 1).data
    odd = Source(Sql("spans s INDEXED BY spans_not_ok"), 0, Sql("s.status != 'ok'"))
    statuses = dict(_Spans(connection, odd, query).select("s.status, count(*)", "GROUP BY 1"))
    statuses["ok"] = total.totals.spans - sum(statuses.values())
    return _Counts(
        total,
        tuple((str(group.value), group.sums.totals.spans) for group in operations),
        _most(statuses),
        _models((str(group.value), group.sums) for group in models),
    )


def _of_spans(spans: _Spans) -> _Counts:
    """The sums of the spans that fit, in one reading."""
    every = nothing()
    operations, statuses = defaultdict[str, int](int), defaultdict[str, int](int)
    models: dict[str, list[int]] = {}
    where = conditions(spans.source, spans.query)
    rows = spans.connection.execute(
        f"""SELECT operation, status, model, {TOTALS} FROM (
            SELECT s.operation, s.status, coalesce(s.model, '') AS model, {ADDED}
            FROM {spans.source.spans.text} WHERE {where.text}
        ) GROUP BY 1, 2, 3""",
        (*spans.source.spans.values, *where.values),
    )
    for operation, status, model, *counters in rows:
        every = added(every, counters)
        operations[plain(operation)] += counters[0]
        statuses[status] += counters[0]
        models[plain(model)] = added(models.get(plain(model)) or nothing(), counters)
    return _Counts(
        sums(every),
        _most(operations),
        _most(statuses),
        _models(
            (model, sums(counters))
            for model, counters in sorted(models.items(), key=lambda each: (-each[1][0], each[0]))
        ),
    )


def _most(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Those of most spans first."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return tuple(each for each in ordered if each[1])[:MOST_GROUPS]


def _models(of: Iterable[tuple[str, Sums]]) -> dict[str, Sums]:
    return dict(islice(((name, sums) for name, sums in of if name), MOST_GROUPS))


def _bounds(spans: _Spans) -> tuple[int | None, int | None]:
    """The first start and the last moment that is known."""
    if not spans.query.conditions:
        kept = "SELECT min(start_us), max(last_us) FROM traces"
        start_us, last_us = spans.connection.execute(kept).fetchone()
    else:
        last = "max(max(s.start_us, coalesce(s.end_us, s.start_us)))"
        ((start_us, last_us),) = spans.select(f"min(s.start_us), {last}")
    return start_us, last_us


def _labels(spans: _Spans) -> tuple[LabelCount, ...]:
    if _is_of_time(spans.query):
        return label_counts(spans.connection, spans.query, limit=MOST_GROUPS).data
    counts = defaultdict[str, int](int)
    alike = spans.select("s.labels, count(*)", "AND s.labels IS NOT NULL GROUP BY 1")
    for labels, count in alike:
        for label in json.loads(labels):
            counts[label] += count
    return tuple(LabelCount(label, count) for label, count in _most(counts))


def _tools(spans: _Spans) -> tuple[ToolUsage, ...]:
    source = spans.source
    if not spans.query.conditions:
        source = Source(Sql("spans s INDEXED BY tool_calls"), 0, Sql("s.kind = 'tool'"))
    calls = _Spans(spans.connection, source, spans.query & _TOOLS)
    counted = list(
        calls.select(
            "s.name, count(*), sum(s.status = 'error')",
            f"GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MOST_GROUPS}",
        )
    )
    names = [plain(name) for name, _, _ in counted]
    _, latency = _percentiles(calls, "s.work_us", "s.name", names)
    return tuple(
        ToolUsage(name.removeprefix(PREFIX), count, failed, latency[name])
        for name, (_, count, failed) in zip(names, counted, strict=True)
    )


def _percentiles(
    spans: _Spans, column: str, key: str = "NULL", keys: Iterable[str] = ()
) -> tuple[Percentiles, dict[str, Percentiles]]:
    """Of all values of the column, and of those of each of `keys`.

    They come in order, so those of each key do too: eight bytes of each are held.
    """
    every = array("q")
    of = {packed(name): array("q") for name in keys}
    rest = f"AND {column} IS NOT NULL ORDER BY 2"
    for name, value in spans.select(f"{key}, {column}", rest):
        every.append(value)
        if name in of:
            of[name].append(value)
    return _ranks(every), {plain(name): _ranks(values) for name, values in of.items()}


def _ranks(ordered: Sequence[int]) -> Percentiles:
    n = len(ordered)
    if n == 0:
        return NO_DURATIONS
    return Percentiles(n, *(ordered[-(-n * percent // 100) - 1] for percent in (50, 95, 99, 100)))
