"""The figures and tables of a report."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from treadle.diagnosis.outliers import has_pace
from treadle.diagnosis.report.behaviour_suspects import repeated_calls_of
from treadle.diagnosis.report.cost_suspects import slow_spans_of
from treadle.diagnosis.report.model import Figure, Focus, NamedSpan, Table, Unit, Value
from treadle.diagnosis.report.span_set import SpanSet
from treadle.diagnosis.span_times import critical_path, reference
from treadle.spans.span import SpanStatus
from treadle.traces.query.conditions import Query
from treadle.traces.store.results import ListedSpan, Percentiles, RunSummary, Summary
from treadle.traces.store.span_reader import SpanReader

MAX_RUNS = 5_000
"""The maximum number of runs from which the efficiency is computed. The newest runs are used."""
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The success and the cost of runs.

    Shares are from 0 to 1. Costs are in US dollars. None means that a value is unknown.
    `successful` is the number of runs with the status ok. The cost of a successful run is the cost
    of all runs, divided by `successful`.
    """

    runs: int
    successful: int
    cost_per_successful_run: float | None
    cache_hit_rate: float | None
    """The share of input tokens that were read from caches."""


def efficiency(reader: SpanReader, query: Query, figures: Summary) -> Efficiency:
    """Return the efficiency of the runs that match `query`.

    `figures` is the summary of their spans.
    """
    runs = _runs(reader, query)
    successful = sum(run.status is SpanStatus.OK for run in runs)
    costs = [run.sums.totals.cost for run in runs if run.sums.totals.cost is not None]
    tokens = figures.sums.totals.tokens
    return Efficiency(
        runs=len(runs),
        successful=successful,
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


def figures_of(
    reader: SpanReader, query: Query, now: Summary, before: Summary | None
) -> tuple[Figure, ...]:
    """Return the figures of a report. `before` is the summary of the preceding period."""
    runs = efficiency(reader, query, now)
    figures = list(_summary_figures(now))
    if before is not None and before.sums.totals.spans:
        figures = [
            Figure(each.name, each.value, each.unit, each.n, old.value)
            for each, old in zip(figures, _summary_figures(before), strict=True)
        ]
    return (
        *figures,
        Figure("runs", runs.runs, Unit.COUNT),
        Figure("successful runs", runs.successful, Unit.COUNT),
        Figure(
            "cost of a successful run",
            runs.cost_per_successful_run,
            Unit.DOLLARS,
            runs.successful,
        ),
        Figure("read from caches", runs.cache_hit_rate, Unit.SHARE),
    )


def _summary_figures(summary: Summary) -> Iterator[Figure]:
    yield from _count_figures(summary)
    yield from _latency_figures("", summary.latency)
    yield from _latency_figures("first token ", summary.time_to_first_token)


def _count_figures(summary: Summary) -> Iterator[Figure]:
    totals = summary.sums.totals
    yield Figure("spans", totals.spans, Unit.COUNT)
    yield Figure("model calls", totals.model_calls, Unit.COUNT)
    yield Figure("tool calls", totals.tool_calls, Unit.COUNT)
    yield Figure("failed spans", summary.sums.errors, Unit.COUNT)
    yield Figure("from first to last", summary.wall_us, Unit.MICROSECONDS)
    yield Figure("input tokens", totals.tokens.input, Unit.TOKENS)
    yield Figure("output tokens", totals.tokens.output, Unit.TOKENS)
    yield Figure("cost", totals.cost, Unit.DOLLARS)


def _latency_figures(name: str, latency: Percentiles) -> Iterator[Figure]:
    for percent, value in (
        ("p50", latency.p50_us),
        ("p95", latency.p95_us),
        ("p99", latency.p99_us),
    ):
        yield Figure(f"{name}{percent}", value, Unit.MICROSECONDS, latency.n)


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
    walls = span_set.wall_us
    longest = max(walls, key=lambda trace: (walls[trace], trace), default=None)
    steps = critical_path(span_set.by_trace[longest]) if longest is not None else ()
    wall = walls[longest] if longest is not None else 0
    ranked = sorted(steps, key=lambda step: -step.own_us)
    return _table(
        "The critical path of the longest trace",
        (("span", Unit.TEXT), ("waited", Unit.MICROSECONDS), ("share", Unit.SHARE)),
        [
            (
                named(step.span) if step.span else "(no span)",
                step.own_us,
                step.own_us / max(1, wall),
            )
            for step in ranked
        ],
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
        "Own time of spans, without the time of their children",
        (
            ("spans", Unit.TEXT),
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
            each.item.tokens.output if has_pace(each.item) else None,
            round(each.value),
            round(each.baseline.median),
            each.baseline.n,
        )
        for each in slow_spans_of(span_set)
    ]
    return _table(
        "Spans that took far longer than similar spans (replies by the time for an output token)",
        (
            ("span", Unit.TEXT),
            ("own time", Unit.MICROSECONDS),
            ("output tokens", Unit.TOKENS),
            ("time compared", Unit.MICROSECONDS),
            ("median", Unit.MICROSECONDS),
            ("of n", Unit.COUNT),
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
            ("why", Unit.WORDS),
            ("all except the first", Unit.MICROSECONDS),
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
            ("tokens in", Unit.TOKENS),
            ("out", Unit.TOKENS),
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
