"""Adds segments of new spans, and writes segments again when many of their spans changed.

The writer calls `advance` between its commits. Each call writes at most one segment, so spans that
arrive during a call wait for only about 50 ms.
"""

from bisect import bisect_left
from collections import Counter

from treadle.database import Connection, transaction
from treadle.traces.store.segments import BEFORE_ALL, remove_segment, write_segment

SEGMENT_SPANS = 8_192
NEWEST_SPANS = 2_048
"""The minimum number of newest spans that no segment covers.

Spans that arrive late often belong among these, and then do not change a segment.
"""

MAX_CHANGED = 4_096
"""If more spans than this changed after their segment was written, a segment is rewritten."""

_STATE = "SELECT coalesce(max(last), ?), coalesce(sum(spans), 0) FROM segments"
_ALL = "SELECT coalesce(sum(spans), 0) FROM rollups WHERE dimension = 'all'"
_NEXT = "SELECT id FROM spans NOT INDEXED WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"
_SEGMENTS = "SELECT last FROM segments ORDER BY last"
_CHANGED = "SELECT span FROM changed_spans"
_MANY_CHANGED = "SELECT 1 FROM changed_spans LIMIT 1 OFFSET ?"


def advance(connection: Connection) -> bool:
    """Write one segment if necessary. Returns whether a segment was written."""
    if connection.execute(_MANY_CHANGED, (MAX_CHANGED,)).fetchone():
        with transaction(connection):
            # Another process may have written the segments again before this transaction.
            if not connection.execute(_MANY_CHANGED, (MAX_CHANGED,)).fetchone():
                return False
            _renew_most_changed(connection)
        return True
    _, covered = connection.execute(_STATE, (BEFORE_ALL,)).fetchone()
    (spans,) = connection.execute(_ALL).fetchone()
    if spans - covered < SEGMENT_SPANS + NEWEST_SPANS:
        return False
    with transaction(connection):
        # Another process may have written segments before this transaction.
        after, _ = connection.execute(_STATE, (BEFORE_ALL,)).fetchone()
        if not _key_at(connection, after, SEGMENT_SPANS + NEWEST_SPANS):
            return False
        last = _key_at(connection, after, SEGMENT_SPANS)
        assert last is not None
        write_segment(connection, after, last)
    return True


def renew_after(connection: Connection, after: int) -> int | None:
    """Find the first changed span with a key above `after`, and write its segment again.

    Returns the last key of the segment, or None if there is no such span. Afterwards, the segment
    does not contain any data of deleted spans.
    """
    with transaction(connection):
        found = connection.execute(
            "SELECT min(span) FROM changed_spans WHERE span > ?", (after,)
        ).fetchone()
        last = connection.execute(
            "SELECT min(last) FROM segments WHERE last >= ?", found
        ).fetchone()[0]
        if last is not None:
            _renew(connection, last)
        return None if last is None else int(last)


def _renew_most_changed(connection: Connection) -> None:
    ends = [last for (last,) in connection.execute(_SEGMENTS)]
    changed = Counter(bisect_left(ends, span) for (span,) in connection.execute(_CHANGED))
    ((position, _),) = changed.most_common(1)
    _renew(connection, ends[position])


def _renew(connection: Connection, last: int) -> None:
    """Write the segment with this last key again. If it became too long, write only a first part.

    The further spans then count as changed until a later call writes a segment of them.
    """
    (after,) = connection.execute(
        "SELECT coalesce(max(last), ?) FROM segments WHERE last < ?", (BEFORE_ALL, last)
    ).fetchone()
    end = _key_at(connection, after, 2 * SEGMENT_SPANS)
    if end is None or end >= last:
        write_segment(connection, after, last)
        return
    end = _key_at(connection, after, SEGMENT_SPANS)
    assert end is not None
    remove_segment(connection, last)
    # A segment without spans keeps the further spans covered, so that they can count as changed.
    connection.execute("INSERT INTO segments VALUES (?, 0, 0, 0)", (last,))
    connection.execute(
        "INSERT OR IGNORE INTO changed_spans SELECT id FROM spans WHERE id > ? AND id <= ?",
        (end, last),
    )
    write_segment(connection, after, end)


def _key_at(connection: Connection, after: int, position: int) -> int | None:
    """Return the key at this position, counted from 1, among the keys higher than `after`."""
    found = connection.execute(_NEXT, (after, position - 1)).fetchone()
    return None if found is None else int(found[0])
