"""Traces: stores, queries and presents recorded spans."""

from treadle.traces.store.sqlite_store import SqliteTraceStore

__all__ = ["SqliteTraceStore"]
