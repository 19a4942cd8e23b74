"""The figures and tables of a report."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from treadle.diagnosis.outliers import has_pace
from treadle.diagnosis.report.behaviour_suspects import repeated_calls_of
from treadle.diagnosis.report.cost_suspects import slow_spans_of
from treadle.diagnosis.report.model import Figure, Focus, NamedSpan, Table, Unit, Value
from treadle.diagnosis.report.span_set import SpanSet
from treadle.diagnosis.span_times import Step, critical_path, reference
from treadle.spans.span import SpanStatus
from treadle.traces.query.conditions import Query
from treadle.traces.store.results import ListedSpan, RunSummary
from treadle.traces.store.span_reader import SpanReader
from treadle.traces.store.summary import Summary

MAX_RUNS = 5_000
"""The maximum number of runs from which the efficiency is computed. The newest runs are used."""
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The outcomes, the durations and the cost of runs.

    `durations_us` has the durations of the ended runs, shortest first. The cost of a successful run
    is the cost of all runs, divided by the number of runs with the status ok. None means that a
    value is unknown.
    """

    statuses: Mapping[SpanStatus, int]
    """The number of runs with each status."""
    durations_us: tuple[int, ...]
    cost_per_successful_run: float | None
    cache_hit_rate: float | None
    """The share of input tokens that were read from caches, from 0 to 1."""

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(self.statuses.values())

    def duration_us(self, percent: int) -> int | None:
        """Return a percentile of the durations by the method of the nearest rank."""
        if not self.durations_us:
            return None
        return self.durations_us[math.ceil(percent * len(self.durations_us) / 100) - 1]


def efficiency(reader: SpanReader, query: Query, figures: Summary) -> Efficiency:
    """Return the efficiency of the runs that match `query`.

    `figures` is the summary of their spans.
    """
    runs = _runs(reader, query)
    statuses = Counter(run.status for run in runs)
    successful = statuses[SpanStatus.OK]
    costs = [run.sums.totals.cost for run in runs if run.sums.totals.cost is not None]
    tokens = figures.sums.totals.tokens
    return Efficiency(
        statuses=statuses,
        durations_us=tuple(sorted(run.duration_us for run in runs if run.duration_us is not None)),
        cost_per_successful_run=sum(costs) / successful if costs and successful else None,
        # If no provider reports cached tokens, their sum is 0. In this case, the rate is unknown.
        cache_hit_rate=tokens.cached / tokens.input if tokens.cached and tokens.input else None,
    )


def _runs(reader: SpanReader, query: Query) -> list[RunSummary]:
    found: list[RunSummary] = []
    cursor: str | None = None
    while len(found) < MAX_RUNS:
        page = reader.runs(query, limit=_PAGE, cursor=cursor)
        found += page.data
        cursor = page.pagination.next_cursor
        if cursor is None:
            break
    return found[:MAX_RUNS]


MAX_ROWS = 20


@dataclass(frozen=True, slots=True)
class PeriodFigures:
    """The figures of the spans of one period."""

    summary: Summary
    runs: Efficiency


def figures_of(now: PeriodFigures, before: PeriodFigures | None) -> tuple[Figure, ...]:
    """Return the figures of a report. `before` has the figures of the preceding period.

    Figures that are unknown in both periods are left out.
    """
    figures = list(_figures(now))
    if before is not None and before.summary.sums.totals.spans:
        figures = [
            Figure(each.name, each.value, each.unit, each.n, old.value)
            for each, old in zip(figures, _figures(before), strict=True)
        ]
    return tuple(each for each in figures if each.value is not None or each.before is not None)


def _figures(of: PeriodFigures) -> Iterator[Figure]:
    summary, runs = of.summary, of.runs
    totals = summary.sums.totals
    yield Figure("runs", runs.runs, Unit.COUNT)
    yield Figure("successful runs", runs.statuses.get(SpanStatus.OK, 0), Unit.COUNT)
    yield Figure("failed runs", runs.statuses.get(SpanStatus.ERROR, 0), Unit.COUNT)
    for percent in (50, 95, 99):
        name, value = f"duration of a run, p{percent}", runs.duration_us(percent)
        yield Figure(name, value, Unit.MICROSECONDS, len(runs.durations_us))
    yield Figure("model calls", totals.model_calls, Unit.COUNT)
    yield Figure("tool calls", totals.tool_calls, Unit.COUNT)
    yield Figure("failed calls", totals.failed, Unit.COUNT)
    first = summary.time_to_first_token
    for percent, time in ((50, first.p50_us), (95, first.p95_us), (99, first.p99_us)):
        yield Figure(f"time to first token, p{percent}", time, Unit.MICROSECONDS, first.n)
    yield Figure("input tokens", totals.tokens.input, Unit.TOKENS)
    yield Figure("input tokens from caches", runs.cache_hit_rate, Unit.SHARE)
    yield Figure("output tokens", totals.tokens.output, Unit.TOKENS)
    yield Figure("cost", totals.cost, Unit.DOLLARS)
    yield Figure("cost of a successful run", runs.cost_per_successful_run, Unit.DOLLARS)
    yield Figure("spans", totals.spans, Unit.COUNT)
    yield Figure("time from first start to last end", summary.wall_us, Unit.MICROSECONDS)


def tables_of(summary: Summary, span_set: SpanSet, focus: Focus) -> tuple[Table, ...]:
    """Return the tables of a report. The tables of the focus come first."""
    time = (_critical_path_table(span_set), _own_time_table(span_set), _slow_table(span_set))
    money = (_models(summary),)
    calls = (_tools(summary), _repeats(span_set))
    match focus:
        case Focus.PERFORMANCE:
            tables = (*time, *calls, *money)
        case Focus.COST:
            tables = (*money, *calls, *time)
        case _:
            tables = (*calls, *time, *money)
    return tuple(table for table in tables if table.rows)


def _table(
    title: str,
    columns: tuple[tuple[str, Unit], ...],
    rows: list[tuple[Value, ...]],
) -> Table:
    return Table(
        title,
        tuple(name for name, _ in columns),
        tuple(unit for _, unit in columns),
        tuple(rows[:MAX_ROWS]),
        max(0, len(rows) - MAX_ROWS),
    )


def _critical_path_table(span_set: SpanSet) -> Table:
    """Return the table of the spans for which the longest trace waited.

    The waits for spans with the same name are added up.
    """
    walls = span_set.wall_us
    longest = max(walls, key=lambda trace: (walls[trace], trace), default=None)
    steps = critical_path(span_set.by_trace[longest]) if longest is not None else ()
    wall = walls[longest] if longest is not None else 0
    groups: dict[str, list[Step[ListedSpan]]] = defaultdict(list)
    for step in sorted(steps, key=lambda step: -step.own_us):
        groups[step.span.name if step.span else ""].append(step)
    waits = {name: sum(step.own_us for step in group) for name, group in groups.items()}
    rows: list[tuple[Value, ...]] = []
    for name in sorted(waits, key=lambda name: -waits[name]):
        span, waited = groups[name][0].span, waits[name]
        shown = named(span) if span is not None else "no span"
        rows.append((shown, len(groups[name]), waited, waited / max(1, wall)))
    return _table(
        "What the longest trace waited for",
        (
            ("span", Unit.WORDS),
            ("n", Unit.COUNT),
            ("waited", Unit.MICROSECONDS),
            ("share", Unit.SHARE),
        ),
        rows,
    )


def _own_time_table(span_set: SpanSet) -> Table:
    """Return the table of own times. The own times of spans with the same name are added up."""
    sums: dict[str, list[int]] = defaultdict(list)
    for key, own in span_set.own_us.items():
        sums[span_set.known[key].name].append(own)
    whole = sum(map(sum, sums.values()))
    rows: list[tuple[Value, ...]] = [
        (name, len(owns), sum(owns), sum(owns) / max(1, whole))
        for name, owns in sorted(sums.items(), key=lambda each: (-sum(each[1]), each[0]))
    ]
    return _table(
        "Time of spans by name, without the time of their children",
        (
            ("name", Unit.TEXT),
            ("n", Unit.COUNT),
            ("own time", Unit.MICROSECONDS),
            ("share", Unit.SHARE),
        ),
        rows,
    )


def _slow_table(span_set: SpanSet) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            named(each.item),
            span_set.own_us[reference(each.item)],
            "time per token" if has_pace(each.item) else "own time",
            round(each.value),
            round(each.baseline.median),
            each.baseline.n,
        )
        for each in slow_spans_of(span_set)
    ]
    return _table(
        "Spans that took far longer than similar spans",
        (
            ("span", Unit.TEXT),
            ("own time", Unit.MICROSECONDS),
            ("compared by", Unit.WORDS),
            ("value", Unit.MICROSECONDS),
            ("median", Unit.MICROSECONDS),
            ("similar spans", Unit.COUNT),
        ),
        rows,
    )


def _repeats(span_set: SpanSet) -> Table:
    rows: list[tuple[Value, ...]] = [
        (named(loop.calls[0]), loop.count, loop.reason.value, loop.needless_us)
        for loop in repeated_calls_of(span_set)
    ]
    return _table(
        "Repeated calls",
        (
            ("call", Unit.TEXT),
            ("times", Unit.COUNT),
            ("kind", Unit.WORDS),
            ("time of repetitions", Unit.MICROSECONDS),
        ),
        rows,
    )


def named(span: ListedSpan) -> NamedSpan:
    """Return the span as a value of a table."""
    return NamedSpan(span.name, reference(span))


def _models(summary: Summary) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            model.name,
            model.sums.totals.model_calls,
            model.sums.totals.tokens.input,
            model.sums.totals.tokens.output,
            model.sums.totals.cost,
            model.latency.p50_us,
            model.latency.p95_us,
        )
        for model in summary.models
    ]
    return _table(
        "Models",
        (
            ("model", Unit.TEXT),
            ("calls", Unit.COUNT),
            ("input tokens", Unit.TOKENS),
            ("output tokens", Unit.TOKENS),
            ("cost", Unit.DOLLARS),
            ("p50", Unit.MICROSECONDS),
            ("p95", Unit.MICROSECONDS),
        ),
        rows,
    )


def _tools(summary: Summary) -> Table:
    rows: list[tuple[Value, ...]] = [
        (tool.name, tool.calls, tool.failed, tool.latency.p50_us, tool.latency.p95_us)
        for tool in summary.tools
    ]
    return _table(
        "Tools",
        (
            ("tool", Unit.TEXT),
            ("calls", Unit.COUNT),
            ("failed", Unit.COUNT),
            ("p50", Unit.MICROSECONDS),
            ("p95", Unit.MICROSECONDS),
        ),
        rows,
    )
