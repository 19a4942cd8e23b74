"""How often each tool was called, how it went and how long it took; counted by the database."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

from treadle.traces.span import SpanStatus

PREFIX = "execute_tool "
"""What stands before the tool in the name of its spans."""

_COUNTS = """
    SELECT name, status, coalesce(error_type, ''), count(*)
    FROM spans INDEXED BY tool_calls
    WHERE kind = 'tool' AND start_us >= ?
    GROUP BY name, status, error_type ORDER BY name"""

_LATENCY = """
    SELECT work_us FROM spans INDEXED BY tool_calls
    WHERE kind = 'tool' AND name = ? AND start_us >= ? AND work_us IS NOT NULL
        AND status IN ('ok', 'error')
    ORDER BY work_us LIMIT 1 OFFSET ?"""

_TIMED = """
    SELECT count(*) FROM spans INDEXED BY tool_calls
    WHERE kind = 'tool' AND name = ? AND start_us >= ? AND work_us IS NOT NULL
        AND status IN ('ok', 'error')"""


@dataclass(slots=True)
class ToolStats:
    """The calls of one tool. Latencies are in microseconds, without the waits for a person."""

    name: str
    by_status: dict[SpanStatus, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    """How many failed in which way, by the kinds of failure."""
    p50_us: int | None = None
    p95_us: int | None = None
    max_us: int | None = None

    @property
    def calls(self) -> int:
        """All calls, whatever came of them."""
        return sum(self.by_status.values())

    @property
    def success_rate(self) -> float | None:
        """The share of the calls that ran to an end and succeeded; None where none did.

        What was denied, cancelled or never ended says nothing of the tool.
        """
        ok = self.by_status.get(SpanStatus.OK, 0)
        ended = ok + self.by_status.get(SpanStatus.ERROR, 0)
        return ok / ended if ended else None


def tool_stats(connection: sqlite3.Connection, since_us: int) -> list[ToolStats]:
    """The statistics of every tool that was called since that moment, by name."""
    found: dict[str, ToolStats] = {}
    for name, status, failure, count in connection.execute(_COUNTS, (since_us,)):
        stats = found.setdefault(name, ToolStats(name.removeprefix(PREFIX)))
        kind = SpanStatus(status)
        stats.by_status[kind] = stats.by_status.get(kind, 0) + count
        if failure:
            stats.failures[failure] = stats.failures.get(failure, 0) + count
    for name, stats in found.items():
        stats.p50_us, stats.p95_us, stats.max_us = _latencies(connection, name, since_us)
    return list(found.values())


def _latencies(
    connection: sqlite3.Connection, name: str, since_us: int
) -> Iterator[int | None] | tuple[None, None, None]:
    """The median, the 95th percentile and the longest, each the value of a real call."""
    count: int = connection.execute(_TIMED, (name, since_us)).fetchone()[0]
    if not count:
        return None, None, None
    places = ((count - 1) // 2, max(0, -(-count * 95 // 100) - 1), count - 1)
    return (connection.execute(_LATENCY, (name, since_us, at)).fetchone()[0] for at in places)
