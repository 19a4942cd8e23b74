"""The code index: items, retrieval, and snippets of verified bytes."""

from treadle.code.index import CodeIndex
from treadle.code.model import (
    ContextEntry,
    ContextResult,
    FileSummary,
    IndexStatus,
    Item,
    Kind,
    RefreshReport,
    SearchResult,
    SearchResults,
    View,
)

__all__ = [
    "CodeIndex",
    "ContextEntry",
    "ContextResult",
    "FileSummary",
    "IndexStatus",
    "Item",
    "Kind",
    "RefreshReport",
    "SearchResult",
    "SearchResults",
    "View",
]
