"""The store of spans: a protocol, and the engine that needs nothing but Python."""

from treadle.traces.store.results import Blob, Changes, Deleted, RunSummary, SpanChange
from treadle.traces.store.span_reader import SpanReader
from treadle.traces.store.sqlite_store import SqliteTraceStore
from treadle.traces.store.writer_thread import PENDING_LIMIT

__all__ = [
    "PENDING_LIMIT",
    "Blob",
    "Changes",
    "Deleted",
    "RunSummary",
    "SpanChange",
    "SpanReader",
    "SqliteTraceStore",
]
