"""Merges arriving versions of spans into the tables, within a transaction of the writer.

The tables depend only on the most complete version of each span. The order and the number of its
versions do not matter.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.database import Connection
from treadle.spans.span import Span
from treadle.spans.span_versions import merge_versions
from treadle.traces.store import blobs, contents, inheritance, statements
from treadle.traces.store.blobs import NewBlobs
from treadle.traces.store.call_counts import recount
from treadle.traces.store.columns import COLUMNS, SpanRow, span_row
from treadle.traces.store.engine import Engine
from treadle.traces.store.engines import engine_of
from treadle.traces.store.examinations import KEYED_BY_SPAN
from treadle.traces.store.properties import NO_INHERITANCE, Inheritance, own_labels
from treadle.traces.store.revisions import request_revisions
from treadle.traces.store.schema import KEY_BITS
from treadle.traces.store.search_text import newest_text, search_text
from treadle.traces.store.statements import Text, labels_of, pack_text
from treadle.traces.store.sums import SumChanges
from treadle.traces.store.trace_states import TraceState, trace_states

_EARLIEST = -(1 << 51)
_LATEST = (1 << 52) - (1 << 24)  # reserves keys for 34 billion spans that start later
_MAX_SPILLED = 10_000

_HIGHEST = f"""
    SELECT moment, highest FROM (
        SELECT column1 AS moment, (
            SELECT max(id) FROM spans
            WHERE id BETWEEN column1 << {KEY_BITS} AND ((column1 + 1) << {KEY_BITS}) - 1
        ) AS highest FROM (VALUES {{}}) AS moments
    ) AS keys WHERE highest IS NOT NULL"""  # noqa: S608  (a constant)


class SpanKeys:
    """Assigns keys to new spans, each built from the microsecond of the start and a position.

    The position distinguishes the spans of one microsecond. A microsecond is full when all its
    positions are taken. Further spans of a full microsecond get keys of the next microsecond that
    is not full. Full microseconds are cached to save look-ups.
    """

    def __init__(self) -> None:
        self._spilled: dict[int, int] = {}
        """Maps a full microsecond to the later microsecond whose keys its spans get."""

    def assign(self, connection: Connection, starts: Sequence[int]) -> list[int]:
        """Return a free key for each start, which is in Unix microseconds.

        Call the method in the transaction that uses the keys. The keys of starts from 1834 to 2112
        are in the order of the starts. Earlier and later starts get a key at the nearer end of that
        range.
        """
        if len(self._spilled) > _MAX_SPILLED:
            self._spilled.clear()
        moments = [min(max(start, _EARLIEST), _LATEST) for start in starts]
        free = _free(connection, {self._spilled.get(moment, moment) for moment in moments})
        keys = []
        for moment in moments:
            target = self._spilled.get(moment, moment)
            while free[target] == (target + 1) << KEY_BITS:
                target += 1
                if target not in free:
                    free.update(_free(connection, {target}))
                self._spilled[moment] = target
            keys.append(free[target])
            free[target] += 1
        return keys


def _free(connection: Connection, moments: set[int]) -> dict[int, int]:
    """Return the first free key of each microsecond.

    For a full microsecond, this is the first key of the next microsecond.
    """
    found = statements.select(connection, _HIGHEST, [(moment,) for moment in moments])
    return {moment: moment << KEY_BITS for moment in moments} | {
        moment: highest + 1 for moment, highest in found
    }


@dataclass(frozen=True, slots=True)
class PreparedSpan:
    """A version of a span in all forms that the tables store.

    The caller builds these forms in its own thread, outside of the transaction.
    """

    span: Span
    trace_id: Text
    row: SpanRow
    data: bytes
    new_blobs: NewBlobs
    text_row: tuple[Any, ...]
    """The columns of `texts` for the span, without the key."""


def prepare(spans: Iterable[Span], engine: Engine) -> list[PreparedSpan]:
    """Merge the versions of each span, and prepare the result."""
    newest: dict[tuple[str, str], Span] = {}
    for span in spans:
        key = (span.trace_id, span.span_id)
        newest[key] = merge_versions(newest[key], span) if key in newest else span
    return [_prepared(span, engine) for span in newest.values()]


def most_complete(prepared: Iterable[PreparedSpan], engine: Engine) -> list[PreparedSpan]:
    """Merge the versions of each span, from the spans of several requests."""
    kept: dict[tuple[Text, Text], PreparedSpan] = {}
    for one in prepared:
        key = (one.trace_id, one.row.span_id)
        other = kept.get(key)
        kept[key] = one if other is None else _merged(other, one, engine)
    return list(kept.values())


def _merged(one: PreparedSpan, other: PreparedSpan, engine: Engine) -> PreparedSpan:
    span = merge_versions(one.span, other.span)
    known = {id(one.span): one, id(other.span): other}
    return known[id(span)] if id(span) in known else _prepared(span, engine)


def _prepared(span: Span, engine: Engine) -> PreparedSpan:
    texts = (search_text(span.name), search_text(span.input), search_text(span.output))
    data, new_blobs = contents.encode(span)
    return PreparedSpan(
        span=span,
        trace_id=engine.index_text(pack_text(span.trace_id)),
        row=engine.index_row(span_row(span, newest_text(span.input, texts[1]), texts[2])),
        data=data,
        new_blobs=new_blobs,
        text_row=engine.text_row(texts),
    )


_COLUMNS = ", ".join(COLUMNS)
_STORED_ROWS = f"""
    SELECT {", ".join(f"spans.{name}" for name in COLUMNS)} FROM (VALUES {{}}) AS ids
    CROSS JOIN traces ON traces.trace_id = ids.column1
    CROSS JOIN spans ON spans.trace = traces.id AND spans.span_id = ids.column2"""  # noqa: S608
"""Selects the rows of spans by pairs of a trace id and a span id."""


@dataclass(slots=True)
class _Change:
    """A version to store, and the row of the stored version that it replaces."""

    span: PreparedSpan
    state: TraceState
    before: SpanRow | None
    row: SpanRow


def merge(connection: Connection, prepared: Sequence[PreparedSpan], keys: SpanKeys) -> None:
    """Store each version that adds something to the stored one.

    `prepared` has at most one version of each span.
    """
    if not prepared:
        return
    stored = statements.request(
        connection, _STORED_ROWS, [(one.trace_id, one.row.span_id) for one in prepared]
    )
    states = trace_states(connection, (one.trace_id for one in prepared))
    changes = _changes(connection, prepared, states, stored)
    if not changes:
        return
    _assign_keys(connection, changes, keys)
    sums = SumChanges()
    for change in changes:
        if change.before:
            sums.add(change.before, change.state, -1)
            change.state.remove(change.before, change.row)
    for change in changes:
        change.state.add(change.row)
    new_roots = _inheritances(changes)
    for change in changes:
        change.row = inheritance.with_inherited(change.row, new_roots[change.state.id])
        sums.add(change.row, change.state)
    delete_rows(connection, [change.before.id for change in changes if change.before])
    _insert(connection, changes)
    touched = {change.state.id: change.state for change in changes}
    counted = dict(touched)
    recount(connection, [(change.before, change.row) for change in changes], counted, sums)
    sums.store_facets(connection)
    for state in touched.values():
        state.settle(connection)
    inheritance.store(connection, touched.values(), new_roots, sums)
    sums.store(connection, counted.values())


def _inheritances(changes: Iterable[_Change]) -> dict[int, Inheritance]:
    """Return what spans inherit from the root of each trace, by the key of the trace.

    If a change removed the root, the result still has the inheritance from the old root.
    `inheritance.store` corrects the spans once the new root is known.
    """
    found: dict[int, Inheritance] = {}
    for change in changes:
        state = change.state
        found.setdefault(state.id, state.inherited)
        if change.row.id == state.root:
            rooted = state.rank is not None and not state.rank[0]
            of_root = Inheritance.of_root(change.row.properties, change.row.labels)
            found[state.id] = of_root if rooted else NO_INHERITANCE
    return found


def add_redactions(connection: Connection, redacted: Mapping[str, int]) -> None:
    """Add to the counts of redacted secrets."""
    statements.insert(
        connection,
        "INSERT INTO redactions (kind, count)",
        [(kind, count) for kind, count in sorted(redacted.items()) if count],
        "ON CONFLICT (kind) DO UPDATE SET count = redactions.count + excluded.count",
    )


def delete_rows(connection: Connection, keys: Iterable[int]) -> None:
    """Delete the rows of spans in all tables except the sums. Also delete blobs without uses."""
    ordered = sorted(keys)
    if not ordered:
        return
    used = {
        key
        for (key,) in statements.select(
            connection, "SELECT hash FROM blob_uses WHERE span IN ({})", ordered
        )
    }
    labelled = [
        (label, key)
        for key, labels in statements.select(
            connection, "SELECT id, labels FROM spans WHERE id IN ({}) AND labels NOTNULL", ordered
        )
        for label in labels_of(labels)
    ]
    inheritance.delete(connection, ordered)
    examined = [(table, "span") for table in KEYED_BY_SPAN]
    engine_of(connection).delete_texts(connection, ordered)
    for table, key in (("contents", "id"), ("spans", "id"), *examined):
        statements.run(connection, f"DELETE FROM {table} WHERE {key} IN ({{}})", ordered)  # noqa: S608
    statements.run(connection, "DELETE FROM blob_uses WHERE span IN ({})", ordered)
    connection.executemany("DELETE FROM span_labels WHERE label = ? AND span = ?", labelled)
    statements.run(
        connection,
        "DELETE FROM blobs WHERE hash IN ({})"
        " AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_uses.hash = blobs.hash)",
        used,
    )


def _changes(
    connection: Connection,
    prepared: Sequence[PreparedSpan],
    states: Mapping[Text, TraceState],
    stored: Iterable[tuple[Any, ...]],
) -> list[_Change]:
    """Return the versions that are new, or that add something to the stored ones.

    `stored` are the values of the stored rows of these spans.
    """
    rows = {(row.trace, row.span_id): row for row in map(SpanRow._make, stored)}
    undecided = [
        (row, one)
        for one in prepared
        if (row := rows.get((states[one.trace_id].id, one.row.span_id)))
        and not _only_ends_differ(row, one)
    ]
    better = _with_stored(connection, undecided)
    changes = []
    for one in prepared:
        state = states[one.trace_id]
        before = rows.get((state.id, one.row.span_id))
        version: PreparedSpan | None = one
        if before is not None and not _only_ends_differ(before, one):
            version = better.get(before.id)
        elif before is not None and before.end_us is not None:
            version = None
        if version is not None:
            changes.append(_Change(version, state, before, version.row))
    return changes


def _only_ends_differ(before: SpanRow, one: PreparedSpan) -> bool:
    """Return whether only one of the versions is finished, so that it replaces the other one.

    In this case, their contents need not be read. This applies only to spans that Treadle records
    itself. A span of another program states its times in nanoseconds. Its versions must be merged,
    since either may have messages that arrived in log records. If the labels differ, a person may
    have changed those of the stored version, so the versions must be merged too.
    """
    return (
        one.span.start_ns is None
        and (before.end_us is None) != (one.row.end_us is None)
        and own_labels(before.labels, before.inherited_labels) == one.row.labels
    )


def _with_stored(
    connection: Connection, pairs: Sequence[tuple[SpanRow, PreparedSpan]]
) -> dict[int, PreparedSpan]:
    """Merge stored spans with their new versions. Returns the changed spans by stored key."""
    same = dict(
        statements.select(
            connection,
            "SELECT id, data FROM contents WHERE id IN ({})",
            [row.id for row, _ in pairs],
        )
    )
    different = [(row, one) for row, one in pairs if same[row.id] != one.data]
    stored = contents.spans_by_key(connection, [row.id for row, _ in different])
    engine = engine_of(connection)
    merged: dict[int, PreparedSpan] = {}
    for row, one in different:
        span = merge_versions(stored[row.id], one.span)
        if span is not stored[row.id]:
            merged[row.id] = one if span is one.span else _prepared(span, engine)
    return merged


def _assign_keys(connection: Connection, changes: Sequence[_Change], keys: SpanKeys) -> None:
    """Assign keys, traces and revisions. A version with the same start keeps its key."""
    moving = [
        change
        for change in changes
        if change.before is None or change.before.start_us != change.row.start_us
    ]
    revisions = request_revisions(connection, len(changes))
    assigned = keys.assign(connection, [change.row.start_us for change in moving])
    new = dict(zip(map(id, moving), assigned, strict=True))
    for revision, change in zip(revisions(), changes, strict=True):
        kept = change.before.id if change.before else 0
        change.row = change.row._replace(
            id=new.get(id(change), kept),
            trace=change.state.id,
            revision=revision,
        )


def _insert(connection: Connection, changes: Sequence[_Change]) -> None:
    """Insert the rows in the order of their keys, since FTS5 writes to disk if a key decreases."""
    ordered = sorted(changes, key=lambda change: change.row.id)
    statements.insert(
        connection, f"INSERT INTO spans ({_COLUMNS})", [change.row for change in ordered]
    )
    statements.insert(
        connection,
        "INSERT INTO contents (id, data)",
        [(change.row.id, change.span.data) for change in ordered],
    )
    new_blobs: blobs.NewBlobs = {}
    for change in ordered:
        new_blobs |= change.span.new_blobs
    blobs.store(connection, new_blobs)
    statements.insert(
        connection,
        "INSERT INTO blob_uses (span, hash)",
        [(change.row.id, key) for change in ordered for key in sorted(change.span.new_blobs)],
    )
    inheritance.insert(connection, [change.row for change in ordered])
    engine_of(connection).insert_texts(
        connection, [(change.row.id, *change.span.text_row) for change in ordered]
    )
