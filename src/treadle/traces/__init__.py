"""Traces: stores, queries and presents recorded spans."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.traces.store.trace_store import TraceStore

__all__ = ["TraceStore"]


def __getattr__(name: str) -> object:
    """Import the store at its first use, because light modules of this package need no store."""
    if name != "TraceStore":
        raise AttributeError(name)
    from treadle.traces.store.trace_store import TraceStore

    return TraceStore
