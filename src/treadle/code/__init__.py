"""The code index: items, retrieval, and snippets of verified bytes."""

from treadle.code.index import CodeIndex, most_items
from treadle.code.model import (
    ContextEntry,
    ContextResult,
    Direction,
    Edge,
    EdgeKind,
    FileReading,
    Reading,
    RefreshReport,
    SearchResults,
    View,
)

__all__ = [
    "CodeIndex",
    "ContextEntry",
    "ContextResult",
    "Direction",
    "Edge",
    "EdgeKind",
    "FileReading",
    "Reading",
    "RefreshReport",
    "SearchResults",
    "View",
    "most_items",
]
