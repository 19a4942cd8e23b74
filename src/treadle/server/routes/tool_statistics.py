"""The route that returns statistics of the recorded calls of each tool."""

import asyncio
import time
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from treadle.errors import UsageError
from treadle.server.current_project import CurrentServer
from treadle.server.routers import api_router
from treadle.spans.span import SpanStatus
from treadle.traces.query.moments import Period, period_bounds, read_moment
from treadle.traces.tool_stats import END_OF_TIME, ToolStats

router = api_router("/tools", "tools")


class CallLatency(BaseModel):
    """The latency of calls that succeeded or failed, in milliseconds.

    The time in which a call waited for a person is not included.
    """

    p50: float
    p95: float
    max: float


class ToolCalls(BaseModel):
    """Statistics of all recorded calls of one tool, from Treadle and from other programs.

    `last_us` is the start of the last call in Unix microseconds. `by_status` is the number of calls
    with each status. `failures` is the number of failed calls of each error kind. `success_rate`
    and `latency_ms` refer to calls that succeeded or failed. They are null if there are no such
    calls.
    """

    name: str
    calls: int
    by_status: dict[SpanStatus, int]
    failures: dict[str, int]
    success_rate: float | None
    latency_ms: CallLatency | None
    last_us: int


class ToolStatistics(BaseModel):
    """The statistics of the tools that have calls in the period, sorted by tool name.

    `since_us` and `until_us` are Unix microseconds. `since_us` is null if the period has no start,
    and `until_us` is null if the period has no end.
    """

    data: list[ToolCalls]
    since_us: int | None
    until_us: int | None


class PeriodQuery(BaseModel):
    """The period of the statistics. Without parameters, it includes all recorded calls."""

    model_config = ConfigDict(extra="forbid")

    since: str | None = Field(None, description="start: an ISO time or an age, such as 2h")
    until: str | None = Field(None, description="end, exclusive: an ISO time or an age")
    period: Period | None = None
    token: str | None = None


@router.get("/statistics")
async def tool_statistics(
    server: CurrentServer, parameters: Annotated[PeriodQuery, Query()]
) -> ToolStatistics:
    """Return the number of calls, the failures and the latencies of each tool."""
    since, until = _bounds(parameters, time.time_ns() // 1_000)
    found = await asyncio.to_thread(
        server.traces.tool_stats,
        since_us=0 if since is None else since,
        until_us=END_OF_TIME if until is None else until,
    )
    return ToolStatistics(
        data=[_statistics(each) for each in found], since_us=since, until_us=until
    )


def _bounds(parameters: PeriodQuery, now_us: int) -> tuple[int | None, int | None]:
    """Return the start and end of the intersection of all periods in the request."""
    bounds = (None, None) if parameters.period is None else period_bounds(parameters.period, now_us)
    since = _without_none(bounds[0], _moment("since", parameters.since, now_us))
    until = _without_none(bounds[1], _moment("until", parameters.until, now_us))
    return max(since, default=None), min(until, default=None)


def _without_none(*moments: int | None) -> list[int]:
    return [each for each in moments if each is not None]


def _moment(name: str, text: str | None, now_us: int) -> int | None:
    try:
        return None if text is None else read_moment(text, now_us)
    except ValueError as error:
        what, hint = error.args
        raise UsageError(f"{name}: {what}", hint=hint) from error


def _statistics(stats: ToolStats) -> ToolCalls:
    latency = None
    if stats.p50_us is not None and stats.p95_us is not None and stats.max_us is not None:
        latency = CallLatency(
            p50=stats.p50_us / 1_000, p95=stats.p95_us / 1_000, max=stats.max_us / 1_000
        )
    return ToolCalls(
        name=stats.name,
        calls=stats.calls,
        by_status=stats.by_status,
        failures=stats.failures,
        success_rate=stats.success_rate,
        latency_ms=latency,
        last_us=stats.last_us,
    )
