"""Traces: how spans are stored, queried and shown."""

from treadle.traces.store import (
    Blob,
    Changes,
    Deleted,
    RunSummary,
    SpanChange,
    SqliteTraceStore,
    StoreBusyError,
    TraceStore,
)
from treadle.traces.text import trace_lines
from treadle.traces.tool_stats import ToolStats
from treadle.traces.tree import Row, TraceView, trace_to_json, view_trace

__all__ = [
    "Blob",
    "Changes",
    "Deleted",
    "Row",
    "RunSummary",
    "SpanChange",
    "SqliteTraceStore",
    "StoreBusyError",
    "ToolStats",
    "TraceStore",
    "TraceView",
    "trace_lines",
    "trace_to_json",
    "view_trace",
]
