"""Figures of groups that are not sums: the number of runs, and percentiles of durations.

A run belongs to each group that has one of its matching spans.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from treadle.database import Connection
from treadle.traces.query.conditions import GroupBy, Grouping, Query, property_of
from treadle.traces.store import statements
from treadle.traces.store.percentiles import percentiles
from treadle.traces.store.queries import segment_scan, segment_sums
from treadle.traces.store.queries.conditions import ALL, Sql, joined, member
from treadle.traces.store.queries.span_pages import conditions
from treadle.traces.store.queries.span_sources import JOINED, Source, whole_source
from treadle.traces.store.results import DURATION_OF_ROOT, STATUS_OF_ROOT, DurationsOf, Group
from treadle.traces.store.segments import SHAPES, row_of_shape
from treadle.traces.store.statements import plain

_OF_CALLS = {GroupBy.MODEL: DurationsOf.CALLS, GroupBy.OPERATION: DurationsOf.SPANS}
"""The groupings with durations of single spans. Other groups have durations of whole runs."""

_FACETS = """
    SELECT value, trace FROM trace_facets WHERE facet = ?1
    UNION ALL SELECT '', t.id FROM traces t
    WHERE t.spans > (
        SELECT coalesce(sum(count), 0) FROM trace_facets a INDEXED BY facets_of_trace
        WHERE a.trace = t.id AND a.facet = ?1
    )"""
"""Selects the values of each trace, and '' for a trace with spans that have no value."""

_RUNS = f"""
    SELECT o.id, r.id, {STATUS_OF_ROOT} = 'error', {DURATION_OF_ROOT}
    FROM traces o CROSS JOIN runs r ON r.run_id = o.run_id
    CROSS JOIN spans s ON s.id = r.root CROSS JOIN traces t ON t.id = s.trace"""
"""Selects traces with the key of their run, whether the run failed, and its duration."""

_MANY_TRACES = 10_000
"""For at least this many traces, it takes less time to read the runs of all stored traces."""


@dataclass(slots=True)
class _Runs:
    """The runs of a group by key: whether each run failed, and its duration if it is known."""

    failed: dict[int, bool] = field(default_factory=dict)
    durations: dict[int, int] = field(default_factory=dict)


def value_of(by: Grouping, bucket_us: int) -> Sql:
    """Return SQL of the value by which the span `s` is grouped.

    The SQL may use the tables that `_spans` adds. The value is '' if the span has none. Only spans
    with labels have rows in groups by label.
    """
    if name := property_of(by):
        found = f"SELECT {member('s.properties')} FROM json_each(s.properties) e WHERE e.key = ?"
        return Sql(f"CAST(coalesce(({found}), '') AS BLOB)", (name,))
    columns: dict[Grouping, str] = {
        GroupBy.TIME: f"s.start_us - ((s.start_us % {bucket_us}) + {bucket_us}) % {bucket_us}",
        GroupBy.MODEL: "coalesce(s.model, '')",
        GroupBy.OPERATION: "s.operation",
        GroupBy.THREAD: "r.thread_id",
        GroupBy.RUN: "t.run_id",
        GroupBy.LABEL: member("s.labels"),
    }
    return Sql(columns[by])


def with_figures(
    connection: Connection,
    by: Grouping,
    query: Query,
    bucket_us: int,
    groups: Sequence[Group],
    *,
    durations_of: DurationsOf | None = None,
) -> list[Group]:
    """Add the figures to groups of the matching spans. `query` must be a result of `resolved`.

    Without `durations_of`, the grouping determines what the durations measure.
    """
    runs = _runs(connection, by, query, bucket_us)
    durations_of = durations_of or _measured(by)
    single = None
    if durations_of is not DurationsOf.RUNS:
        single = _durations(connection, by, query, bucket_us, durations_of)
    found = []
    for group in groups:
        own = runs[group.value]
        durations = own.durations.values() if single is None else single[group.value]
        found.append(
            replace(
                group,
                runs=len(own.failed),
                failed_runs=sum(own.failed.values()),
                duration=percentiles(durations),
                duration_of=durations_of,
            )
        )
    return found


def _measured(by: Grouping) -> DurationsOf:
    return _OF_CALLS.get(by, DurationsOf.RUNS) if isinstance(by, GroupBy) else DurationsOf.RUNS


def _runs(
    connection: Connection, by: Grouping, query: Query, bucket_us: int
) -> dict[str | int, _Runs]:
    traces: dict[str | int, set[int]] = defaultdict(set)
    for value, trace in _pairs(connection, by, query, bucket_us):
        traces[value].add(trace)
    every = set[int]().union(*traces.values())
    if len(every) < _MANY_TRACES:
        found = statements.select(connection, f"{_RUNS} WHERE o.id IN ({{}})", every)
    else:
        found = iter(connection.execute(_RUNS))
    run_of = {trace: rest for trace, *rest in found}
    runs: dict[str | int, _Runs] = defaultdict(_Runs)
    for value, keys in traces.items():
        of_value = runs[value]
        for run, failed, duration in map(run_of.__getitem__, keys):
            of_value.failed[run] = bool(failed)
            if duration is not None:
                of_value.durations[run] = duration
    return runs


def _pairs(
    connection: Connection, by: Grouping, query: Query, bucket_us: int
) -> Iterator[tuple[str | int, int]]:
    """Yield pairs of a value and the key of a trace that has a matching span with this value.

    A pair may occur several times.
    """
    source = whole_source(connection, query)
    if not query.conditions and by is not GroupBy.TIME:
        parts = [_all_pairs(by, bucket_us)]
    elif segment_sums.can_group(by) and segment_scan.can_scan(connection, query, source):
        yield from segment_sums.traces_of_values(connection, by, query, bucket_us)
        parts = [
            _pairs_of(each, by, query, bucket_us) for each in segment_scan.uncovered(connection)
        ]
    else:
        parts = [_pairs_of(source, by, query, bucket_us)]
    for part in parts:
        for value, trace in connection.execute(part.text, part.values):
            yield plain(value), trace


def _all_pairs(by: Grouping, bucket_us: int) -> Sql:
    """Return SQL for pairs of a value and the key of a trace, from the stored values of traces."""
    if by in {GroupBy.THREAD, GroupBy.RUN}:
        value = value_of(by, bucket_us)
        joined_runs = "traces t CROSS JOIN runs r ON r.run_id = t.run_id"
        return Sql(f"SELECT {value.text}, t.id FROM {joined_runs}")
    return Sql(_FACETS, (by.value,))


def _pairs_of(source: Source, by: Grouping, query: Query, bucket_us: int) -> Sql:
    """Return SQL for pairs of a value and the key of a trace, from the spans of a source."""
    value = value_of(by, bucket_us)
    where = conditions(source, query)
    column = "properties" if property_of(by) else "labels" if by is GroupBy.LABEL else None
    if column is not None:
        # Most spans of a trace have the same JSON, which takes long to read.
        different = f"SELECT DISTINCT s.trace, s.{column} FROM {source.spans.text}"
        values = (*source.spans.values, *where.values)
        source, where = Source(Sql(f"({different} WHERE {where.text}) s", values), 0), ALL
    spans = _spans(source, by)
    return Sql(
        f"SELECT DISTINCT {value.text}, s.trace FROM {spans.text} WHERE {where.text}",
        (*value.values, *spans.values, *where.values),
    )


def _spans(source: Source, by: Grouping) -> Sql:
    """Return the FROM clause for the source and the further tables that `value_of` uses."""
    more = ""
    if by in {GroupBy.THREAD, GroupBy.RUN}:
        more = JOINED
    elif by is GroupBy.LABEL:
        more = "CROSS JOIN json_each(s.labels) e"
    return Sql(f"{source.spans.text} {more}", source.spans.values)


def _durations(
    connection: Connection,
    by: Grouping,
    query: Query,
    bucket_us: int,
    durations_of: DurationsOf,
) -> "dict[str | int, array[int]]":
    """Return the durations of the counted calls or of all spans of each value."""
    found: dict[str | int, array[int]] = defaultdict(lambda: array("q"))
    source = whole_source(connection, query)
    sources: Iterable[Source] = (source,)
    if segment_sums.can_group(by) and segment_scan.can_scan(connection, query, source):
        for each, durations in _durations_in_segments(
            connection, by, query, bucket_us, durations_of
        ):
            found[each].frombytes(durations)
        sources = segment_scan.uncovered(connection)
    value = value_of(by, bucket_us)
    counts = Sql("s.counted = 1") if durations_of is DurationsOf.CALLS else ALL
    for part in sources:
        spans = _spans(part, by)
        where = joined((conditions(part, query), counts))
        rows = connection.execute(
            f"SELECT {value.text}, s.duration_us FROM {spans.text}"
            f" WHERE {where.text} AND s.duration_us NOTNULL",
            (*value.values, *spans.values, *where.values),
        )
        for name, duration in rows:
            found[plain(name)].append(duration)
    return found


def _durations_in_segments(
    connection: Connection,
    by: Grouping,
    query: Query,
    bucket_us: int,
    durations_of: DurationsOf,
) -> Iterator[tuple[str | int, bytes]]:
    """Yield values, each with durations as 64-bit integers. A value may occur several times."""
    import numpy

    for spans in segment_scan.matches(connection, query, (SHAPES, "duration_us")):
        numbers = spans.numbers("duration_us")
        if numbers is None:
            continue
        durations, known = numbers[0], numbers[1]
        chosen = numpy.ones(len(spans), bool) if known is None else known
        if durations_of is DurationsOf.CALLS:
            shapes, shape_of = spans.texts(SHAPES)
            counts = [bool(row_of_shape(tuple(shape)).counted) for shape in shapes]
            chosen = chosen & numpy.array(counts)[shape_of]
        values, codes = segment_sums.values_of_spans(spans, by, bucket_us)
        # Numpy sorts small integers in linear time.
        codes = codes[chosen].astype(numpy.min_scalar_type(len(values)))
        order = numpy.argsort(codes, kind="stable")
        ordered = durations[chosen][order].astype(numpy.int64)
        ends = numpy.bincount(codes, minlength=len(values)).cumsum()
        for own, part in zip(values, numpy.split(ordered, ends[:-1]), strict=True):
            for value in own if len(part) else ():
                yield value, part.tobytes()
