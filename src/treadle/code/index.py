"""The public door of the code index: refresh, search, context, and what it knows of files."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from treadle.code import refreshing
from treadle.code.model import (
    ContextEntry,
    ContextResult,
    FileSummary,
    IndexStatus,
    RefreshReport,
    SearchResults,
    View,
)
from treadle.code.nearest import nearest
from treadle.code.ranking import ranked
from treadle.code.store import Store, cannot_use, store_path

T = TypeVar("T")


class CodeIndex:
    """The index of one tree. Synchronous; safe to call from several threads and processes."""

    def __init__(self, root: Path, store: Store) -> None:
        self.root = root
        self._store = store
        self._refreshing = threading.Lock()

    @classmethod
    def open(cls, root: Path, *, cache_dir: Path) -> Self:
        """Open the index of `root`, empty until the first `refresh`.

        Raises `StoreError` if the cache folder cannot be used.
        """
        resolved = root.resolve()
        return cls(resolved, Store(store_path(cache_dir, resolved)))

    def close(self) -> None:
        """Release the files of the index."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _guarded(self, action: Callable[[], T]) -> T:
        """Run `action`; if the file turns out to be broken, build the index anew and run again."""
        try:
            return action()
        except sqlite3.OperationalError as error:
            raise cannot_use(self._store.path, error) from error
        except sqlite3.ProgrammingError:
            raise  # used after it was closed
        except sqlite3.DatabaseError:
            self._store.rebuild()
            refreshing.refresh(self.root, self._store)
            return action()

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> RefreshReport:
        """Bring the index up to date; `progress(done, total)` counts files that are read."""
        with self._refreshing:
            return self._guarded(lambda: refreshing.refresh(self.root, self._store, progress))

    def search(self, query: str, *, top_k: int = 10, view: View = View.ITEMS) -> SearchResults:
        """The `top_k` best items or files, as of the last refresh. Deterministic."""
        started = time.perf_counter()

        def run() -> SearchResults:
            with self._store.reading() as connection:
                results = ranked(connection, query, top_k, view)
            files, items, _ = self._store.counts()
            took = time.perf_counter() - started
            return SearchResults(query, view, tuple(results), files, items, took)

        return self._guarded(run)

    def context(
        self, query: str, *, top_k: int, fits: Callable[[Sequence[ContextEntry], int], bool]
    ) -> ContextResult:
        """At most `top_k` items for `query`, as many and as whole as `fits` allows.

        `fits(entries, omitted)` says whether the whole answer with these entries is within its
        budget. Snippets are read now and checked against the indexed hash; where a file has
        changed since, the index is refreshed first. Never stale, never above the budget.
        """
        from treadle.code import assembly  # a search needs none of it

        def run() -> ContextResult:
            found = assembly.retrieve(self._store, self.root, query, top_k)
            if found.stale:
                self.refresh()
                found = assembly.retrieve(self._store, self.root, query, top_k)
            return assembly.assemble(query, top_k, found, fits)

        return self._guarded(run)

    def files_summary(self, path: str) -> FileSummary | None:
        """What is known of the file at `path` (relative, POSIX); None if it is not in the index."""
        try:
            key = os.fsencode(path)
        except UnicodeEncodeError:
            return None

        def run() -> FileSummary | None:
            with self._store.reading() as connection:
                row = connection.execute(
                    "SELECT language, items, lines, hash, skipped FROM files WHERE path = ?",
                    (key,),
                ).fetchone()
            return FileSummary(path, row[0], row[1], row[2], row[3].hex(), row[4]) if row else None

        return self._guarded(run)

    def nearest_paths(self, name: str, limit: int = 5) -> tuple[str, ...]:
        """The paths most like `name`, best first: for a path that does not exist."""
        return self._guarded(lambda: nearest(name, self._store.paths(), limit))

    def status(self) -> IndexStatus:
        """The size of the index, and whether it is what the tree holds now (by stat)."""

        def run() -> IndexStatus:
            files, items, skipped = self._store.counts()
            fresh = refreshing.difference(self.root, self._store).empty
            return IndexStatus(files, items, skipped, fresh, self._store.path.stat().st_size)

        return self._guarded(run)
