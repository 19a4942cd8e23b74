"""Summaries of sets of spans: counts, sums, percentiles, and the worst spans."""

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from treadle.database import Connection
from treadle.spans.span import OWN_LABELS, TOOL_NAME_PREFIX, is_shown
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query.conditions import (
    Condition,
    Field,
    GroupBy,
    Operator,
    Query,
    Sort,
    SortKey,
)
from treadle.traces.store.counters import CONTRIBUTIONS, TOTALS, added, nothing
from treadle.traces.store.percentiles import RANKS, Percentiles, percentiles
from treadle.traces.store.queries import segment_figures, segment_scan
from treadle.traces.store.queries.conditions import Sql, register_functions, resolved
from treadle.traces.store.queries.groups import groups_page, label_counts, sums_of
from treadle.traces.store.queries.span_pages import conditions, spans_page
from treadle.traces.store.queries.span_sources import Source, whole_source
from treadle.traces.store.results import LabelCount, Sums, sums
from treadle.traces.store.statements import pack_text, packed, plain
from treadle.traces.store.summary import ModelUsage, Summary, ToolUsage

if TYPE_CHECKING:
    from treadle.traces.store.segments import Array


def newest_asked_about(connection: Connection) -> int:
    """Return the newest revision of a span that is not one of Treadle's own calls, or 0.

    Treadle also records the calls of its analyst. Therefore each question to the analyst raises the
    newest revision of all spans, although the question does not change any answer.
    """
    others = " AND ".join(["coalesce(instr(labels, ?), 0) = 0"] * len(OWN_LABELS))
    found = connection.execute(
        f"SELECT revision FROM spans INDEXED BY spans_by_revision"
        f" WHERE {others} ORDER BY revision DESC LIMIT 1",
        tuple(map(json.dumps, OWN_LABELS)),
    ).fetchone()
    return int(found[0]) if found else 0


TOP = 5
"""The maximum number of errors, of slowest spans and of most expensive spans in a summary."""

MAX_GROUPS = 100
"""The maximum number of models, of tools, of operations and of labels in a summary."""


def summary(connection: Connection, query: Query) -> Summary:
    """Return the summary of the matching spans.

    If many spans match, all figures of older spans are read from segments. If no segments are read,
    the stored sums give the counts of all spans or of the spans of a period. Only the durations of
    single spans are kept in memory.
    """
    register_functions(connection)
    query = resolved(connection, query)
    source = whole_source(connection, query)
    if segment_scan.can_scan(connection, query, source):
        of_segments = segment_figures.figures(connection, query)
        spans = _Spans(connection, segment_scan.uncovered(connection), query, of_segments)
    else:
        spans = _Spans(connection, (source,), query)
    counts = _of_kept(spans) if _has_kept_sums(spans) else _of_spans(spans)
    durations = _durations(spans, counts.models)
    # A page of `TOP` spans also needs the next span. At least `TOP + 1` spans meet each bound, and
    # the bound excludes most other spans.
    slow = _at_least(Field.DURATION, segment_figures.nth_highest(spans.figures.durations, TOP + 1))
    failed = Query((Condition(Field.ERROR, Operator.IS),))
    priced = Query((Condition(Field.COST, Operator.MORE, (0,)),)) & _at_least(
        Field.COST, segment_figures.nth_highest(spans.figures.costs, TOP + 1)
    )
    start_us, last_us = _bounds(spans)
    return Summary(
        snapshot=newest_asked_about(connection),
        sums=counts.sums,
        start_us=start_us,
        last_us=last_us,
        wall_us=None if start_us is None or last_us is None else last_us - start_us,
        by_operation=counts.operations,
        by_status=counts.statuses,
        latency=durations.latency,
        time_to_first_token=durations.first_token,
        models=tuple(
            ModelUsage(name, of_model, durations.models[name])
            for name, of_model in counts.models.items()
        ),
        tools=durations.tools,
        labels=_labels(spans),
        errors=spans_page(connection, query & failed, limit=TOP).data,
        slowest=spans_page(connection, query & slow, sort=Sort(SortKey.DURATION), limit=TOP).data,
        most_expensive=spans_page(
            connection, query & priced, sort=Sort(SortKey.COST), limit=TOP
        ).data,
    )


def _at_least(field: Field, value: int | None) -> Query:
    """Return a query for spans with at least this value, or for all spans if the value is None."""
    if value is None:
        return Query()
    return Query((Condition(field, Operator.AT_LEAST, (value,)),))


@dataclass(frozen=True, slots=True)
class _Spans:
    """The matching spans of a query.

    The spans of `sources` are still to be read. `of_segments` has the figures of all other spans.
    """

    connection: Connection
    sources: tuple[Source, ...]
    query: Query
    of_segments: segment_figures.Figures | None = None

    @property
    def figures(self) -> segment_figures.Figures:
        """The figures of the spans that were read from segments."""
        return self.of_segments or segment_figures.Figures()

    def select(self, columns: str, rest: str = "") -> Iterator[tuple[Any, ...]]:
        """Select columns of the spans of each source. `rest` is SQL that follows the conditions."""
        for source in self.sources:
            where = conditions(source, self.query)
            yield from self.connection.execute(
                f"SELECT {columns} FROM {source.spans.text} WHERE {where.text} {rest}",
                (*source.spans.values, *where.values),
            )


@dataclass(frozen=True, slots=True)
class _Counts:
    """The sums of the matching spans, and their division by operation, status and model.

    `models` are sorted by number of spans, the largest first. Spans without a model are not in it.
    """

    sums: Sums
    operations: tuple[tuple[str, int], ...]
    statuses: tuple[tuple[str, int], ...]
    models: dict[str, Sums]


def _has_kept_sums(spans: _Spans) -> bool:
    """Return whether the stored sums give the counts. If segments were read, these have the counts.

    The stored sums can answer a query whose only conditions are on time, or exclude Treadle's own
    calls.
    """
    return spans.of_segments is None and all(
        each.field is Field.START or each in OF_OTHERS.conditions for each in spans.query.conditions
    )


def _of_kept(spans: _Spans) -> _Counts:
    """Return the sums of all spans, or of the spans in a period, from the stored sums."""
    connection, query = spans.connection, spans.query
    total = sums_of(connection, query)
    operations = groups_page(connection, GroupBy.OPERATION, query, limit=MAX_GROUPS).data
    models = groups_page(connection, GroupBy.MODEL, query, limit=MAX_GROUPS + 1).data
    odd = Source(Sql("spans s INDEXED BY spans_not_ok"), 0, Sql("s.status != 'ok'"))
    statuses = dict(_Spans(connection, (odd,), query).select("s.status, count(*)", "GROUP BY 1"))
    statuses["ok"] = total.totals.spans - sum(statuses.values())
    return _Counts(
        total,
        tuple((str(group.value), group.sums.totals.spans) for group in operations),
        _most(statuses),
        _models((str(group.value), group.sums) for group in models),
    )


def _of_spans(spans: _Spans) -> _Counts:
    """Return the sums of the matching spans."""
    every = nothing()
    operations, statuses = defaultdict[str, int](int), defaultdict[str, int](int)
    models: dict[str, list[int]] = {}

    def add(operation: str, status: str, model: str, counters: Sequence[int]) -> None:
        every[:] = added(every, counters)
        operations[operation] += counters[0]
        statuses[status] += counters[0]
        models[model] = added(models.get(model) or nothing(), counters)

    for key, counters in spans.figures.sums.items():
        add(*key, counters)
    for source in spans.sources:
        where = conditions(source, spans.query)
        rows = spans.connection.execute(
            f"""SELECT operation, status, model, {TOTALS} FROM (
                SELECT s.operation, s.status, coalesce(s.model, '') AS model, {CONTRIBUTIONS}
                FROM {source.spans.text} WHERE {where.text}
            ) GROUP BY 1, 2, 3""",
            (*source.spans.values, *where.values),
        )
        for operation, status, model, *totals in rows:
            add(plain(operation), status, plain(model), totals)
    return _Counts(
        sums(*every),
        _most(operations),
        _most(statuses),
        _models(
            (model, sums(*counters))
            for model, counters in sorted(models.items(), key=lambda each: (-each[1][0], each[0]))
        ),
    )


def _most(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return the counts above 0, the largest first, at most `MAX_GROUPS`."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return tuple(each for each in ordered if each[1])[:MAX_GROUPS]


def _models(of: Iterable[tuple[str, Sums]]) -> dict[str, Sums]:
    """Return the models with at least one counted call.

    Calls that the gateway refused are not counted.
    """
    called = ((name, sums) for name, sums in of if name and sums.totals.model_calls)
    return dict(islice(called, MAX_GROUPS))


def _bounds(spans: _Spans) -> tuple[int | None, int | None]:
    """Return the first start and the last known moment of the spans, in Unix microseconds."""
    if not spans.query.conditions:
        kept = "SELECT min(start_us), max(last_us) FROM traces"
        start_us, last_us = spans.connection.execute(kept).fetchone()
        return start_us, last_us
    last = "max(max(s.start_us, coalesce(s.end_us, s.start_us)))"
    bounds = [
        (spans.figures.start_us, spans.figures.last_us),
        *spans.select(f"min(s.start_us), {last}"),
    ]
    return (
        min((first for first, _ in bounds if first is not None), default=None),
        max((last for _, last in bounds if last is not None), default=None),
    )


def _labels(spans: _Spans) -> tuple[LabelCount, ...]:
    if _has_kept_sums(spans):
        return label_counts(spans.connection, spans.query, limit=MAX_GROUPS).data
    counts = Counter(
        {label: count for label, count in spans.figures.labels.items() if is_shown(label)}
    )
    alike = spans.select("s.labels, count(*)", "AND s.labels IS NOT NULL GROUP BY 1")
    for labels, count in alike:
        for label in filter(is_shown, json.loads(labels)):
            counts[label] += count
    return tuple(LabelCount(label, count) for label, count in _most(counts))


@dataclass(frozen=True, slots=True)
class _Durations:
    latency: Percentiles
    first_token: Percentiles
    models: dict[str, Percentiles]
    tools: tuple[ToolUsage, ...]


_DURATIONS = """
    s.duration_us, s.ttft_us, s.model, iif(s.kind = 'tool', s.name, NULL), s.work_us,
    s.status = 'error', s.counted"""


def _durations(spans: _Spans, models: Iterable[str]) -> _Durations:
    """Return percentiles of durations for all spans, each model and each tool, in one scan.

    Each duration takes eight bytes of memory.
    """
    others = spans.figures
    every, first_token = array("q"), array("q")
    of_model = {packed(name): array("q") for name in models}
    worked = defaultdict[Any, "array[int]"](lambda: array("q"))
    calls, failed = Counter[Any](), Counter[Any]()
    for duration, ttft, model, tool, work, is_error, counted in spans.select(_DURATIONS):
        if duration is not None:
            every.append(duration)
            if counted and model in of_model:
                of_model[model].append(duration)
        if ttft is not None:
            first_token.append(ttft)
        if tool is not None:
            calls[tool] += 1
            failed[tool] += is_error
            if work is not None:
                worked[tool].append(work)
    all_calls = others.calls + Counter({plain(tool): count for tool, count in calls.items()})
    return _Durations(
        _ranks(every, others.durations),
        _ranks(first_token, others.first_tokens),
        {
            plain(name): _ranks(values, others.of_models.get(plain(name), ()))
            for name, values in of_model.items()
        },
        tuple(
            ToolUsage(
                name.removeprefix(TOOL_NAME_PREFIX),
                count,
                others.failed[name] + failed[pack_text(name)],
                _ranks(worked[pack_text(name)], others.worked.get(name, ())),
            )
            for name, count in _most(all_calls)
        ),
    )


def _ranks(values: "array[int]", others: "Sequence[Array]" = ()) -> Percentiles:
    """Return the percentiles of `values` and the values of the arrays `others` together."""
    if not others:
        return percentiles(values)
    n = len(values) + sum(map(len, others))
    if n == 0:
        return Percentiles(0, None, None, None, None)
    ranks = [-(-n * percent // 100) - 1 for percent in RANKS]
    import numpy

    every = numpy.concatenate([*others, numpy.array(values, numpy.int64)])
    every.partition(sorted(set(ranks)))
    return Percentiles(n, *(int(every[rank]) for rank in ranks))
