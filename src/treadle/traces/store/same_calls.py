"""Updates `spans.same_as` (the other record of the same call) when calls change.

`spans.same_calls` defines which spans record the same call. A changed call can affect the calls
that match it, and in turn the calls that match those. No other calls are read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from treadle.database import Connection
from treadle.spans.same_calls import (
    CallKeys,
    RecordedCall,
    closest,
    counts_instead,
    distance,
    is_of_gateway,
    key_ranges,
    keys_in_period,
    partner_starts,
)
from treadle.spans.span import SameCall, SpanReference
from treadle.traces.store import statements
from treadle.traces.store.columns import SpanRow
from treadle.traces.store.statements import Text, packed, unpacked

_COLUMNS = {"response": "response_key", "content": "content_key"}
_MOST = 64
"""The maximum number of calls with the same key that are compared with a call.

Many calls have the same key only if a provider sends a constant id, or if their texts are equal.
"""

_FIELDS = (
    "span_id", "kind", "model", "start_us", "end_us", "response_key", "content_key",
    "input_tokens", "output_tokens", "cost_nano",
)  # fmt: skip
_NAMES = ", ".join(f"s.{name}" for name in _FIELDS)
_CALL = f"SELECT s.id, s.same_as, s.counted, s.trace, t.trace_id, {_NAMES}"
_BY_ID = f"""{_CALL}
    FROM spans s LEFT JOIN traces t ON t.id = s.trace
    WHERE s.id IN ({{}}) AND (s.counted = 1 OR s.same_as NOTNULL)"""
_BY_KEY = f"""{_CALL}
    FROM spans s INDEXED BY spans_by_{{column}} LEFT JOIN traces t ON t.id = s.trace
    WHERE s.{{column}} = ? AND s.start_us BETWEEN ? AND ? AND (s.counted = 1 OR s.same_as NOTNULL)
    ORDER BY s.start_us {{order}} LIMIT {_MOST}"""
_OF_TRACE = """
    SELECT s.span_id, s.counted, t.trace_id, o.span_id
    FROM spans s INDEXED BY same_calls
    CROSS JOIN spans o ON o.id = s.same_as CROSS JOIN traces t ON t.id = o.trace
    WHERE s.trace = (SELECT id FROM traces WHERE trace_id = ?1) AND s.same_as NOTNULL
        AND (?2 IS NULL OR s.span_id = ?2)"""
_PRESENT_IN_PERIOD = """
    SELECT EXISTS (SELECT 1 FROM spans INDEXED BY spans_by_response_key
            WHERE response_key BETWEEN ? AND ?)
        OR EXISTS (SELECT 1 FROM spans INDEXED BY spans_by_content_key
            WHERE content_key BETWEEN ? AND ?)"""
_PRESENT = """
    SELECT column1 FROM (VALUES {{}}) AS keys
    WHERE (
        SELECT 1 FROM spans INDEXED BY spans_by_{column} WHERE {column} = column1 LIMIT 1
    ) NOTNULL"""


def same_calls_of(
    connection: Connection, trace_id: str, span_id: str | None = None
) -> dict[str, SameCall]:
    """Return the other records of the calls of a trace, or of one of its spans, by span id."""
    found = connection.execute(_OF_TRACE, (packed(trace_id), packed(span_id)))
    return {
        unpacked(own): SameCall(SpanReference(unpacked(trace), unpacked(span)), bool(counted))
        for own, counted, trace, span in found
    }


class Outcome(NamedTuple):
    """The new state of a stored call: the key of the other record, and whether the call counts."""

    key: int
    same_as: int | None
    counted: bool


def outdated(
    connection: Connection, changed: Iterable[SpanRow], trace_ids: Mapping[int, Text]
) -> list[Outcome]:
    """Return the new states of the calls whose stored state is wrong.

    `changed` are the rows of new, changed and removed calls. A changed call has two rows, the old
    and the new one. `trace_ids` maps the keys of traces to their ids. It must contain each trace
    that is not stored yet.
    """
    near = _near(connection, changed)
    if not near:
        return []
    calls = _Calls(connection, trace_ids)
    affected: dict[RecordedCall, None] = {}
    for row in near:
        affected |= dict.fromkeys(calls.matches(_seed(row)))
    affected |= dict.fromkeys(calls.with_keys(row.id for row in near))
    for call in list(affected):
        affected |= dict.fromkeys(calls.matches(call))
    outcomes = (calls.outcome(call) for call in affected)
    return [outcome for outcome in outcomes if outcome is not None]


def _near(connection: Connection, changed: Iterable[SpanRow]) -> list[SpanRow]:
    """Return the rows of calls that have another record, or that may have one."""
    calls = [row for row in changed if row.response_key is not None or row.content_key is not None]
    if not _may_have_partners(connection, calls):
        return [row for row in calls if row.same_as is not None]
    keys: dict[str, dict[int, None]] = {column: {} for column in _COLUMNS.values()}
    sought: list[tuple[SpanRow, list[tuple[str, int]]]] = []
    for row in calls:
        own = list(_partner_keys(_seed(row)))
        sought.append((row, own))
        for column, key in own:
            keys[column][key] = None
    present = {
        (column, key)
        for column, some in keys.items()
        for (key,) in statements.select(
            connection, _PRESENT.format(column=column), [(key,) for key in some]
        )
    }
    return [row for row, own in sought if row.same_as is not None or not present.isdisjoint(own)]


def _may_have_partners(connection: Connection, calls: Sequence[SpanRow]) -> bool:
    """Return whether the other side may have recorded a call in the time of these calls.

    The sides are the gateway and the exporters. Most stores have calls of one side only, and need
    no other query than this one.
    """
    ranges: set[tuple[int, int]] = set()
    for row in calls:
        gateway = is_of_gateway(row.response_key or row.content_key or 0)
        starts = partner_starts(row.start_us, row.end_us or row.start_us, gateway=gateway)
        ranges.update(key_ranges(*starts, gateway=not gateway))
    return len(ranges) > _MOST or any(
        connection.execute(_PRESENT_IN_PERIOD, (*bounds, *bounds)).fetchone()[0]
        for bounds in ranges
    )


def _partner_keys(call: RecordedCall) -> Iterator[tuple[str, int]]:
    """Yield the columns and the keys under which the other record of the call may be found."""
    for name, key in call.partner_keys()._asdict().items():
        if key is not None:
            for each in keys_in_period(key, *call.partner_starts()):
                yield _COLUMNS[name], each


def _seed(row: SpanRow) -> RecordedCall:
    return _call(str(row.trace), *(getattr(row, name) for name in _FIELDS))


def _call(trace_id: Text, *values: Any) -> RecordedCall:
    span_id, kind, model, start, end, response, content, *figures = values
    return RecordedCall(
        (unpacked(trace_id), unpacked(span_id)),
        kind,
        None if model is None else unpacked(model),
        start,
        end,
        CallKeys(response, content),
        *figures,
    )


class _Calls:
    """The stored calls that are read in one transaction."""

    def __init__(self, connection: Connection, trace_ids: Mapping[int, Text]) -> None:
        self._connection = connection
        self._trace_ids = trace_ids
        self._matches: dict[RecordedCall, list[RecordedCall]] = {}
        self._stored: dict[RecordedCall, Outcome] = {}

    def with_keys(self, keys: Iterable[int]) -> list[RecordedCall]:
        """Return the calls with these keys that count, or whose other record counts."""
        return [self._read(row) for row in statements.select(self._connection, _BY_ID, keys)]

    def matches(self, call: RecordedCall) -> list[RecordedCall]:
        """Return the stored calls that may be records of the same call."""
        found = self._matches.get(call)
        if found is None:
            similar = dict.fromkeys(self._similar(call))
            found = [each for each in similar if distance(call, each) is not None]
            self._matches[call] = found
        return found

    def outcome(self, call: RecordedCall) -> Outcome | None:
        """Return the state that the call must have, or None if it already has this state."""
        stored = self._stored[call]
        partner = self._partner(call)
        if partner is None:
            new = Outcome(stored.key, None, counted=True)
        else:
            pair = (call, partner) if call.gateway else (partner, call)
            counted = counts_instead(*pair) is call.gateway
            new = Outcome(stored.key, self._stored[partner].key, counted)
        return None if new == stored else new

    def _partner(self, call: RecordedCall) -> RecordedCall | None:
        """Return the closest match of the call if the call is also the closest match of it."""
        other = closest(call, self.matches(call))
        if other is None or closest(other, self.matches(other)) != call:
            return None
        return other

    def _similar(self, call: RecordedCall) -> Iterator[RecordedCall]:
        starts = call.partner_starts()
        order = "DESC" if call.gateway else "ASC"
        for column, key in _partner_keys(call):
            statement = _BY_KEY.format(column=column, order=order)
            for row in self._connection.execute(statement, (key, *starts)):
                yield self._read(row)

    def _read(self, row: Sequence[Any]) -> RecordedCall:
        key, same_as, counted, trace, stored_id, *values = row
        call = _call(stored_id or self._trace_ids[trace], *values)
        self._stored[call] = Outcome(key, same_as, counted=bool(counted))
        return call
