"""The store of spans: a protocol, and the engine that needs nothing but Python."""

from treadle.traces.store.protocol import Blob, Changes, Deleted, SpanChange, SpanReader, TraceStore
from treadle.traces.store.results import RunSummary
from treadle.traces.store.sqlite import SqliteTraceStore
from treadle.traces.store.writer import PENDING_LIMIT

__all__ = [
    "PENDING_LIMIT",
    "Blob",
    "Changes",
    "Deleted",
    "RunSummary",
    "SpanChange",
    "SpanReader",
    "SqliteTraceStore",
    "TraceStore",
]
