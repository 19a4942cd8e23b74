"""Traces: how spans are stored, queried and shown."""

from treadle.traces.store.sqlite_store import SqliteTraceStore

__all__ = ["SqliteTraceStore"]
