"""The store of spans: a protocol, and the engine that needs nothing but Python."""

from treadle.traces.store.sqlite import LAST, PENDING_LIMIT, RunSummary, TraceStore

__all__ = ["LAST", "PENDING_LIMIT", "RunSummary", "TraceStore"]
