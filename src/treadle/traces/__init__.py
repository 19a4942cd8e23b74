"""Spans: how events become spans, and how spans are stored and read."""

from treadle.traces.recorder import Loss, Recorder
from treadle.traces.span import Span, SpanEvent, SpanKind, SpanStatus, Totals, Trace
from treadle.traces.store import (
    LAST,
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
    "LAST",
    "Blob",
    "Changes",
    "Deleted",
    "Loss",
    "Recorder",
    "Row",
    "RunSummary",
    "Span",
    "SpanChange",
    "SpanEvent",
    "SpanKind",
    "SpanStatus",
    "SqliteTraceStore",
    "StoreBusyError",
    "ToolStats",
    "Totals",
    "Trace",
    "TraceStore",
    "TraceView",
    "trace_lines",
    "trace_to_json",
    "view_trace",
]
