"""Statistics of the calls of each tool: outcomes and latencies, from the database."""

from dataclasses import dataclass, field

from treadle.database import Connection
from treadle.spans.span import TOOL_NAME_PREFIX, SpanStatus

_COUNTS = """
    SELECT name, status, coalesce(error_type, ''), count(*), count(work_us), max(start_us)
    FROM spans INDEXED BY tool_calls
    WHERE kind = 'tool' AND start_us >= ? AND start_us < ?
    GROUP BY name, status, error_type"""

_LATENCY = """
    SELECT work_us FROM spans INDEXED BY tool_calls
    WHERE kind = 'tool' AND name = ? AND start_us >= ? AND start_us < ? AND work_us IS NOT NULL
        AND status IN ('ok', 'error')
    ORDER BY work_us {order} LIMIT 1 OFFSET ?"""

END_OF_TIME = 2**63 - 1
"""A moment later than every call, in Unix microseconds."""

_RAN = frozenset({SpanStatus.OK, SpanStatus.ERROR})
"""The outcomes of completed calls. Other outcomes do not show whether the tool works."""


@dataclass(slots=True)
class ToolStats:
    """The calls of one tool. Latencies are in microseconds and exclude waits for a person."""

    name: str
    by_status: dict[SpanStatus, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    """The number of failures of each kind."""
    p50_us: int | None = None
    p95_us: int | None = None
    max_us: int | None = None
    last_us: int = 0
    """The start of the last call, in Unix microseconds."""

    @property
    def calls(self) -> int:
        """The number of calls with any outcome."""
        return sum(self.by_status.values())

    @property
    def success_rate(self) -> float | None:
        """The fraction of successes among completed calls. It is None if no call was completed.

        Denied, cancelled and unfinished calls do not show whether the tool works.
        """
        ended = sum(self.by_status.get(status, 0) for status in _RAN)
        return self.by_status.get(SpanStatus.OK, 0) / ended if ended else None


def tool_stats(connection: Connection, since_us: int, until_us: int) -> list[ToolStats]:
    """Return the statistics of every tool that was called in the period, sorted by name.

    The period includes `since_us` and excludes `until_us`. Both are in Unix microseconds.
    """
    found: dict[str, ToolStats] = {}
    timed: dict[str, int] = {}
    period = since_us, until_us
    for name, status, failure, count, known, last in connection.execute(_COUNTS, period):
        stats = found.setdefault(name, ToolStats(name.removeprefix(TOOL_NAME_PREFIX)))
        kind = SpanStatus(status)
        stats.by_status[kind] = stats.by_status.get(kind, 0) + count
        stats.last_us = max(stats.last_us, last)
        if failure:
            stats.failures[failure] = stats.failures.get(failure, 0) + count
        timed[name] = timed.get(name, 0) + known * (kind in _RAN)
    for name, count in timed.items():
        if count:
            _set_latencies(connection, found[name], (name, *period), count)
    return sorted(found.values(), key=lambda stats: stats.name)


def _set_latencies(
    connection: Connection, stats: ToolStats, call: tuple[str, int, int], count: int
) -> None:
    """Set the median, the 95th percentile and the maximum. Each is the latency of a real call.

    Each latency is looked up in the index, starting from the nearer end.
    """

    def latency(offset: int, order: str) -> int:
        found = connection.execute(_LATENCY.format(order=order), (*call, offset)).fetchone()
        return int(found[0])

    stats.p50_us = latency((count - 1) // 2, "ASC")
    stats.p95_us = latency(count - -(-count * 95 // 100), "DESC")
    stats.max_us = latency(0, "DESC")
