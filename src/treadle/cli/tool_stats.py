"""`treadle tools stats`: the outcomes and latencies of the calls of each tool."""

import re
import time
from contextlib import closing
from datetime import datetime

from treadle.app.stores import open_trace_store
from treadle.cli.output import print_json, print_text, table
from treadle.errors import UsageError
from treadle.spans.span import SpanStatus
from treadle.traces.amounts import duration
from treadle.traces.tool_stats import ToolStats

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def show_stats(since: str | None, *, as_json: bool) -> int:
    """Print the statistics of the calls since a moment, or of all."""
    since_us = 0 if since is None else moment(since, time.time())
    with closing(open_trace_store()) as store:
        found = store.tool_stats(since_us=since_us)
    if as_json:
        print_json({"since_us": since_us or None, "tools": [_json(stats) for stats in found]})
    elif found:
        headers = ("TOOL", "CALLS", "SUCCESS", "P50", "P95", "MAX", "NOT DONE")
        print_text(table([_row(stats) for stats in found], headers))
    else:
        print_text("No tool calls are recorded.")
    return 0


def moment(text: str, now: float) -> int:
    """Unix microseconds of `30m`, `12h`, `7d`, … ago, or of an ISO date. Raises UsageError."""
    if ago := re.fullmatch(r"(\d{1,9})([smhdw])", text):
        return int((now - int(ago[1]) * _UNITS[ago[2]]) * 1e6)
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1e6)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since: {text!r} is not a time.",
            hint="Use a form such as 30m, 12h, 7d or 2026-01-31.",
        ) from error


def _json(stats: ToolStats) -> dict[str, object]:
    return {
        "name": stats.name,
        "calls": stats.calls,
        **{status.value: stats.by_status.get(status, 0) for status in SpanStatus},
        "success_rate": None if stats.success_rate is None else round(stats.success_rate, 4),
        "latency_ms": {
            "p50": _milliseconds(stats.p50_us),
            "p95": _milliseconds(stats.p95_us),
            "max": _milliseconds(stats.max_us),
        },
        "failures": stats.failures,
    }


def _milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1_000


def _row(stats: ToolStats) -> tuple[str, ...]:
    rate = "-" if stats.success_rate is None else f"{stats.success_rate:.1%}"
    unfinished = stats.by_status.get(SpanStatus.UNFINISHED, 0)
    ways = dict(sorted(stats.failures.items(), key=lambda way: (-way[1], way[0])))
    if unfinished:
        ways["unfinished"] = unfinished
    return (
        stats.name,
        f"{stats.calls:,}",
        rate,
        duration(stats.p50_us),
        duration(stats.p95_us),
        duration(stats.max_us),
        ", ".join(f"{count:,} {way}" for way, count in ways.items()),
    )
