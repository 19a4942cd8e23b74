"""Facets: the values of fields, with the number of spans, runs or threads that have each value.

All facets with the same conditions are counted in one scan. A facet is counted without the
conditions on its own field, so that a user also sees the values that are not selected.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from itertools import filterfalse
from typing import Any

from treadle.database import Connection
from treadle.errors import UsageError
from treadle.spans.span import is_shown
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query.conditions import (
    METADATA_PREFIX,
    PROPERTIES,
    AnyField,
    Field,
    GroupBy,
    Grouping,
    MetadataKey,
    Query,
    Rows,
)
from treadle.traces.store.properties import property_pairs
from treadle.traces.store.queries import segment_figures, segment_scan
from treadle.traces.store.queries.conditions import Sql, listing, register_functions, resolved
from treadle.traces.store.queries.group_rows import value_rows
from treadle.traces.store.queries.groups import SHOWN_LABEL
from treadle.traces.store.queries.run_pages import fitting_rows
from treadle.traces.store.queries.span_pages import conditions
from treadle.traces.store.queries.span_sources import Source, spans_in_all, whole_source
from treadle.traces.store.results import Facets, FieldValues, ValueCount
from treadle.traces.store.statements import packed, plain

MAX_READ_SPANS = 200_000
"""The maximum number of spans, runs or threads that are counted. The newest are counted."""

_GROUPED: dict[Field, GroupBy] = {
    Field.MODEL: GroupBy.MODEL,
    Field.OPERATION: GroupBy.OPERATION,
    Field.LABEL: GroupBy.LABEL,
    Field.THREAD: GroupBy.THREAD,
    Field.RUN: GroupBy.RUN,
    Field.USER: GroupBy.USER,
    Field.RELEASE: GroupBy.RELEASE,
}
_COLUMNS = {
    Field.STATUS: "s.status",
    Field.KIND: "s.kind",
    Field.OPERATION: "s.operation",
    Field.MODEL: "s.model",
    Field.PROVIDER: "s.provider",
    Field.LABEL: "s.labels",
    Field.NAME: "s.name",
}
_OF_TRACES = (Field.OPERATION, Field.MODEL, Field.LABEL, Field.USER, Field.RELEASE)
"""Fields whose values `trace_facets` has for each trace. It has those of the metadata too."""
FACETS: dict[Rows, tuple[Field, ...]] = {
    Rows.SPANS: (
        Field.STATUS, Field.KIND, Field.OPERATION, Field.MODEL, Field.PROVIDER, Field.LABEL,
        Field.USER, Field.RELEASE,
    ),
    Rows.RUNS: (Field.STATUS, *_OF_TRACES),
    Rows.THREADS: _OF_TRACES,
}  # fmt: skip
"""The facets of each list. A list shows them before the facets of the metadata."""

MAX_METADATA_FACETS = 8
_MAX_FACET_VALUES = 1_000
"""The maximum number of values of a facet of the metadata.

A key with more values, such as the id of a request, is not a facet.
"""

_NEXT_KEY = "SELECT min(name) FROM properties WHERE name > ? AND name < ?"
_SIZE_OF_KEY = """
    SELECT count(*), sum(spans) FROM (SELECT spans FROM properties WHERE name = ? LIMIT ?)"""
_MAX_KEYS = 500
_TRACES = {
    Rows.RUNS: "CROSS JOIN traces t INDEXED BY traces_of_run ON t.run_id = g.run_id",
    Rows.THREADS: """CROSS JOIN runs o INDEXED BY runs_of_thread ON o.thread_id = g.thread_id
        CROSS JOIN traces t INDEXED BY traces_of_run ON t.run_id = o.run_id""",
}
"""SQL that joins the traces of a row `g` as `t`."""
_IN_ALL = {
    Field.STATUS: """
        SELECT status, count(*) FROM spans INDEXED BY spans_not_ok WHERE status != 'ok'
        GROUP BY status""",
    Field.KIND: "SELECT kind, count(*) FROM spans INDEXED BY spans_by_kind GROUP BY kind",
    Field.PROVIDER: """
        SELECT provider, count(*) FROM spans INDEXED BY spans_by_provider
        WHERE provider IS NOT NULL GROUP BY provider""",
}
"""SQL that counts the values in all spans from indexes only. The status `ok` is not counted."""
COUNTED = frozenset({*_GROUPED, *_COLUMNS, Field.METADATA})
"""Fields whose values can be counted."""


def value_counts(
    connection: Connection, field: AnyField, query: Query, *, text: str = "", limit: int
) -> FieldValues:
    """Return a field's values that contain `text`, each with its number of matching spans.

    Values that begin with `text` come first. The case of ASCII letters is ignored. Raises
    UsageError for a field whose values are not counted.

    """
    if field not in COUNTED and not isinstance(field, MetadataKey):
        listed = ", ".join(sorted(each.value for each in COUNTED))
        raise UsageError(
            f"The values of {field.value} are not listed.",
            hint=f"These fields have listed values: {listed}.",
        )
    register_functions(connection)
    query = resolved(connection, query)
    rows = _rows(connection, field, query)
    column = "instr(lower(CAST(value AS TEXT)), lower(?))"
    shown = SHOWN_LABEL if field is Field.LABEL else "TRUE"
    found = connection.execute(
        f"SELECT value, sum(spans) AS many FROM ({rows.text})"
        f" WHERE CAST(value AS TEXT) <> '' AND {shown} AND {column} > 0"
        " GROUP BY value HAVING sum(spans) > 0"
        f" ORDER BY {column} > 1, many DESC, value LIMIT ?",
        (*rows.values, packed(text), packed(text), limit + 1),
    ).fetchall()
    counts = tuple(ValueCount(plain(value), count) for value, count in found[:limit])
    return FieldValues(_written(field), counts, more=len(found) > limit)


def _written(field: AnyField) -> str:
    """Return the name of the field in the query language."""
    return field.written if isinstance(field, MetadataKey) else field.value


def metadata_keys(connection: Connection, *, limit: int) -> tuple[MetadataKey, ...]:
    """Return the keys of the metadata with at most a thousand values, the most used first.

    Only the first `_MAX_KEYS` keys in alphabetical order are considered.
    """
    sizes: dict[MetadataKey, int] = {}
    name, end = METADATA_PREFIX, METADATA_PREFIX[:-1] + chr(ord(METADATA_PREFIX[-1]) + 1)
    for _ in range(_MAX_KEYS):
        (name,) = connection.execute(_NEXT_KEY, (name, end)).fetchone()
        if name is None:
            break
        limits = (name, _MAX_FACET_VALUES + 1)
        values, spans = connection.execute(_SIZE_OF_KEY, limits).fetchone()
        if values <= _MAX_FACET_VALUES:
            sizes[MetadataKey(name.removeprefix(METADATA_PREFIX))] = spans
    ordered = sorted(sizes, key=lambda key: (-sizes[key], key.key))
    return tuple(ordered[:limit])


def facet_counts(connection: Connection, rows: Rows, query: Query, *, limit: int) -> Facets:
    """Return the number of matching rows with each value of each facet of their list."""
    register_functions(connection)
    query = resolved(connection, query)
    found: dict[AnyField, FieldValues] = {}
    complete = True
    keys = metadata_keys(connection, limit=MAX_METADATA_FACETS)
    facets: tuple[AnyField, ...] = (*FACETS[rows], *keys)
    for row_counts, fields in _counted_alike(query, facets):
        if rows is Rows.SPANS:
            counts, whole = _of_spans(connection, row_counts, fields)
        else:
            counts, whole = _of_rows(connection, rows, row_counts, fields)
        complete = complete and whole
        for label in filterfalse(is_shown, tuple(counts.get(Field.LABEL, ()))):
            del counts[Field.LABEL][label]
        found |= {field: _most(field, counts[field], limit) for field in fields}
    shown = (field for field in facets if found[field].values or isinstance(field, Field))
    return Facets(rows, tuple(found[field] for field in shown), complete)


def _counted_alike(
    query: Query, fields: Collection[AnyField]
) -> Iterator[tuple[Query, tuple[AnyField, ...]]]:
    """Group the facets that are counted under the same conditions."""
    filtered = {each.about for each in query.conditions}
    free = tuple(field for field in fields if field not in filtered)
    if free:
        yield query, free
    for field in fields:
        if field in filtered:
            rest = (
                each
                for each in query.conditions
                if each.about != field or each in OF_OTHERS.conditions
            )
            yield Query(tuple(rest)), (field,)


def _most(field: AnyField, counts: Counter[str], limit: int) -> FieldValues:
    """Return the `limit` most frequent values. Equally frequent values are sorted by value."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    values = tuple(ValueCount(*each) for each in ordered[:limit])
    return FieldValues(_written(field), values, more=len(ordered) > limit)


def _grouping(field: AnyField) -> Grouping | None:
    """Return the grouping by the values of a field, or None if the field is not a grouping."""
    return field if isinstance(field, MetadataKey) else _GROUPED.get(field)


def _rows(connection: Connection, field: AnyField, query: Query) -> Sql:
    if (by := _grouping(field)) is not None:
        return value_rows(connection, by, query)
    assert isinstance(field, Field)
    source, where = _source(connection, query)
    return Sql(
        f"SELECT {_COLUMNS[field]} AS value, 1 AS spans FROM {source.spans.text}"
        f" WHERE {where.text}",
        (*source.spans.values, *where.values),
    )


def _source(connection: Connection, query: Query) -> tuple[Source, Sql]:
    source = whole_source(connection, query)
    return source, conditions(source, query)


def _of_spans(
    connection: Connection, query: Query, fields: tuple[AnyField, ...]
) -> tuple[dict[AnyField, Counter[str]], bool]:
    """Return the number of spans with each value of `fields`, and whether all spans were read."""
    if all(each.field is Field.START for each in query.conditions):
        summed = {
            field: _summed(connection, by, query)
            for field in fields
            if (by := _grouping(field)) is not None
        }
        if not query.conditions:
            summed |= {
                field: _in_all(connection, field)
                for field in fields
                if isinstance(field, Field) and field in _IN_ALL
            }
        fields = tuple(field for field in fields if field not in summed)
    else:
        summed = {}
    read, whole = _read(connection, query, fields) if fields else ({}, True)
    return summed | read, whole


def _summed(connection: Connection, by: Grouping, query: Query) -> Counter[str]:
    """Return the counts of the values of a grouping from the stored sums."""
    rows = value_rows(connection, by, query)
    found = connection.execute(
        f"SELECT value, sum(spans) FROM ({rows.text}) GROUP BY value", rows.values
    )
    return Counter({plain(value): count for value, count in found if count and value})


def _in_all(connection: Connection, field: Field) -> Counter[str]:
    counts = Counter({plain(value): count for value, count in connection.execute(_IN_ALL[field])})
    if field is Field.STATUS and (ended_well := spans_in_all(connection) - counts.total()):
        counts["ok"] = ended_well
    return counts


def _read(
    connection: Connection, query: Query, fields: tuple[AnyField, ...]
) -> tuple[dict[AnyField, Counter[str]], bool]:
    """Return the counts from the spans, and whether all spans were read."""
    source, where = _source(connection, query)
    if segment_scan.can_scan(connection, query, source):
        counts = segment_figures.value_counts(connection, query, fields)
        for rest in segment_scan.uncovered(connection):
            newer, _ = _read_source(connection, rest, conditions(rest, query), fields)
            for field in fields:
                counts[field] += newer[field]
        return counts, True
    return _read_source(connection, source, where, fields)


def _read_source(
    connection: Connection, source: Source, where: Sql, fields: tuple[AnyField, ...]
) -> tuple[dict[AnyField, Counter[str]], bool]:
    """Return the counts of the newest spans of a source, and whether all spans were read."""
    own = [field for field in fields if isinstance(field, Field) and field not in PROPERTIES]
    columns = ", ".join((*(_COLUMNS[field] for field in own), "s.properties"))
    newest = "ORDER BY s.start_us DESC" if source.count > MAX_READ_SPANS else ""
    row_counts: Counter[tuple[Any, ...]] = Counter(
        connection.execute(
            f"SELECT {columns} FROM {source.spans.text} WHERE {where.text} {newest} LIMIT ?",
            (*source.spans.values, *where.values, MAX_READ_SPANS + 1),
        )
    )
    counts: dict[AnyField, Counter[str]] = {
        field: _of_column(row_counts, column, field is Field.LABEL)
        for column, field in enumerate(own)
    }
    properties = _of_properties(row_counts)
    counts |= {field: properties[field.value] for field in fields if field not in counts}
    return counts, row_counts.total() <= MAX_READ_SPANS


def _of_column(row_counts: Counter[tuple[Any, ...]], column: int, labels: bool) -> Counter[str]:
    """Return the number of spans with each value of a column, from counts of equal rows."""
    kept: Counter[Any] = Counter()
    for row, count in row_counts.items():
        kept[row[column]] += count
    del kept[None]
    counts: Counter[str] = Counter()
    for value, count in kept.items():
        for each in set(json.loads(value)) if labels else (plain(value),):
            counts[each] += count
    return counts


def _of_properties(row_counts: Counter[tuple[Any, ...]]) -> dict[str, Counter[str]]:
    """Return the number of spans with each value of each property, by the name of the property.

    The last column of each row has the properties of the spans.
    """
    kept: Counter[str | None] = Counter()
    for row, count in row_counts.items():
        kept[row[-1]] += count
    counts = defaultdict[str, Counter[str]](Counter)
    for properties, count in kept.items():
        for name, value in property_pairs(properties):
            counts[plain(name)][plain(value)] += count
    return counts


def _of_rows(
    connection: Connection, rows: Rows, query: Query, fields: tuple[AnyField, ...]
) -> tuple[dict[AnyField, Counter[str]], bool]:
    """Return the number of runs or threads with each value, and whether all rows were read."""
    fitting = fitting_rows(connection, rows, query, MAX_READ_SPANS)
    statuses = Counter(
        plain(status)
        for (status,) in connection.execute(f"SELECT status FROM ({fitting.text})", fitting.values)
    )
    counts: dict[AnyField, Counter[str]] = {field: Counter() for field in fields}
    if Field.STATUS in counts:
        counts[Field.STATUS] = statuses
    facets: dict[str, AnyField] = {
        field.value: field for field in fields if field is not Field.STATUS
    }
    names, listed = listing(list(facets))
    having = (
        f"SELECT DISTINCT g.id, a.facet, a.value FROM ({fitting.text}) g {_TRACES[rows]}"
        " CROSS JOIN trace_facets a INDEXED BY facets_of_trace"
        f" ON a.trace = t.id AND a.facet IN ({names})"
    )
    found = connection.execute(
        f"SELECT facet, value, count(*) FROM ({having}) GROUP BY facet, value",
        (*fitting.values, *listed),
    )
    for facet, value, count in found:
        counts[facets[facet]][plain(value)] = count
    return counts, statuses.total() < MAX_READ_SPANS
