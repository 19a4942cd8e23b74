"""Traces: how spans are stored, queried and shown."""

from treadle.traces.store import (
    Blob,
    Changes,
    Deleted,
    RunSummary,
    SpanChange,
    SqliteTraceStore,
)
from treadle.traces.tool_stats import ToolStats

__all__ = [
    "Blob",
    "Changes",
    "Deleted",
    "RunSummary",
    "SpanChange",
    "SqliteTraceStore",
    "ToolStats",
]
