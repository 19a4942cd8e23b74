"""The interface of the code index: refresh, search, context, lookup, and status."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from treadle.code.history.tables import WINDOW
from treadle.code.history.update import STEP, drop_history, update_history
from treadle.code.model import (
    ContextEntry,
    ContextResult,
    Direction,
    Edge,
    EdgeKind,
    EdgeList,
    FileReading,
    FileSummary,
    FoundItem,
    IndexStatus,
    Lookup,
    Reading,
    RefreshReport,
    SearchResults,
    View,
)
from treadle.code.retrieval.hits import (
    Candidates,
    Hit,
    VectorScores,
    definitions,
    files_of,
    owners_of,
)
from treadle.code.retrieval.item_ranking import rank_items
from treadle.code.retrieval.lexical import best_files, rank_by_words
from treadle.code.retrieval.query import MAX_CHARACTERS, Question
from treadle.code.storage.refresh import difference, refresh_index
from treadle.code.storage.store import Store, store_path

if TYPE_CHECKING:
    from treadle.code.dense.item_vectors import ItemVectors
    from treadle.code.graph.tables import Graph
    from treadle.code.history.file_history import History

T = TypeVar("T")

PATIENCE = 1.5
"""The number of seconds that a search may wait for vectors."""
_CONTEXT_CANDIDATES = 250
_NEAREST = 50
"""The maximum number of items that only vectors find."""
_TOKENS_OF_ITEM = 80
"""The budget of a context in tokens, divided by this number, is its number of candidates.

About half of the candidates are shown.
"""
_FEWEST_ITEMS, _MAX_ITEMS = 5, 200


def most_items(tokens: int) -> int:
    """Return the value of `top_k` for a context with a budget of `tokens`."""
    return max(_FEWEST_ITEMS, min(_MAX_ITEMS, tokens // _TOKENS_OF_ITEM))


class CodeIndex:
    """The index of one tree. Calls are synchronous, and safe from several threads and processes."""

    def __init__(
        self,
        root: Path,
        store: Store,
        own: "ItemVectors | None" = None,
        history: Callable[[], bool] | None = None,
    ) -> None:
        self.root = root
        self._store = store
        self._own = own
        self._with_history = history
        self._refreshing = threading.Lock()
        self._read_graph: tuple[sqlite3.Connection, int, Graph] | None = None
        self._unpacked_history: History | None = None

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        cache_dir: Path,
        static: Callable[[], Path | None] | None = None,
        patience: float | None = PATIENCE,
        monotonic: Callable[[], float] = time.monotonic,
        history: Callable[[], bool] | None = None,
    ) -> Self:
        """Open the index of `root`, which is empty until the first `refresh`.

        `static` returns the folder of an embedding model. If `static` is given, a refresh computes
        a vector for each new item. Queries in words then also find items by their vectors. Items
        that were indexed without this model have no vectors yet. A search waits at most `patience`
        seconds for missing vectors. If `patience` is None, the search waits until all vectors
        exist. A thread computes the remaining vectors while the index is open.

        `history` returns whether a refresh also reads the git history. If `history` returns false,
        a refresh deletes the stored history.

        Raises `StoreError` if the cache folder cannot be used.
        """
        resolved = root.resolve()
        store = Store(store_path(cache_dir, resolved))
        own = None
        if static is not None:
            from treadle.code.dense.item_vectors import ItemVectors

            own = ItemVectors(store, static, patience=patience, monotonic=monotonic)
        return cls(resolved, store, own, history)

    def close(self) -> None:
        """Release the files of the index."""
        if self._own is not None:
            self._own.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _guarded(self, action: Callable[[], T]) -> T:
        """Run `action`. If the index file is damaged, rebuild the index and run `action` again."""
        try:
            return action()
        except sqlite3.OperationalError as error:
            raise self._store.error(error) from error
        except sqlite3.ProgrammingError:
            raise  # the index is already closed
        except sqlite3.DatabaseError:
            self._store.rebuild()
            self._refresh()
            return action()

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> RefreshReport:
        """Update the index to match the files of the tree.

        `progress(done, total)` receives the number of changed files that were read so far, and the
        number of all changed files.
        """
        with self._refreshing:
            return self._guarded(lambda: self._refresh(progress))

    def _refresh(self, progress: Callable[[int, int], None] | None = None) -> RefreshReport:
        embedding = None if self._own is None else self._own.folder
        report = refresh_index(self.root, self._store, progress, embedding)
        self._read_history()
        return report

    @property
    def refreshing(self) -> bool:
        """Whether a thread of this process refreshes the index now."""
        return self._refreshing.locked()

    def complete_history(self) -> None:
        """Read the git history up to `WINDOW` commits. One refresh reads at most 500 commits."""
        with self._refreshing:
            self._guarded(lambda: self._read_history(WINDOW))

    def _read_history(self, most: int = STEP) -> None:
        if self._with_history is not None and self._with_history():
            update_history(self.root, self._store, most=most)
        else:
            drop_history(self._store)

    def search(self, query: str, *, top_k: int = 10, view: View = View.ITEMS) -> SearchResults:
        """Return the `top_k` best items or files, as of the last refresh.

        The order is deterministic.
        """
        started = time.perf_counter()

        def run() -> SearchResults:
            found, vector_scores, parts = self.found(query, view)
            if view is View.ITEMS:
                hits = rank_items(found, vector_scores, top_k)
                results = [hit.result(rank) for rank, hit in enumerate(hits, start=1)]
            else:
                from treadle.code.retrieval.file_ranking import (
                    rank_files,
                )  # imported late, since most searches do not need it

                with self._store.reading() as connection:
                    results = rank_files(connection, found, vector_scores, top_k)
            files, items, _ = self._store.counts()
            notes = self._notes(query, [hit.file for hit in results])
            took = time.perf_counter() - started
            return SearchResults(query, view, tuple(results), files, items, took, parts, notes)

        return self._guarded(run)

    def _notes(self, query: str, files: Iterable[str]) -> tuple[str, ...]:
        from treadle.code.retrieval.notes import notes

        with self._store.reading() as connection:
            title, _, _ = query[:MAX_CHARACTERS].strip().partition("\n")
            return notes(connection, title, files)

    def found(
        self, query: str, view: View = View.ITEMS
    ) -> tuple[Candidates, VectorScores, tuple[str, ...]]:
        """Return the candidates for a query, their vector scores, and `SearchResults.parts`.

        A query that names an item exactly uses neither vectors nor the graph.
        """
        question = Question.of(query)
        with self._store.reading() as connection:
            parts: tuple[str, ...] = ("lexical",)
            defined = definitions(connection, question.text)
            if not defined:
                # imported late, since it loads the graph
                from treadle.code.retrieval.candidates import find_users

                defined = find_users(connection, self._graph(connection), question.text)
                parts = ("lexical", "graph")
            if defined:
                hits = rank_by_words(connection, question)
                scores = best_files(connection, question.terms)
                files = files_of(connection, scores, {hit.file_id for hit in hits})
                return Candidates(question, hits, defined, files), VectorScores(), parts
        return self._found_by_all(question, view)

    def _found_by_all(
        self, question: Question, view: View
    ) -> tuple[Candidates, VectorScores, tuple[str, ...]]:
        """Return the candidates that words, vectors, the graph and git history find."""
        # imported late, since it loads the graph
        from treadle.code.retrieval.candidates import find_candidates

        if self._own is not None:
            self._own.renew()
        with self._store.reading() as connection:
            vector_query = None if self._own is None else self._own.ask(connection, question.gist)
            nearest = () if vector_query is None else vector_query.nearest(_NEAREST)
            graph = self._graph(connection)
            found = find_candidates(
                connection, question, nearest, graph, lambda: self._history(connection)
            )
        parts = ("lexical", "graph") if any(hit.reason for hit in found.hits) else ("lexical",)
        if vector_query is None or not found.hits:
            return found, VectorScores(), parts
        vector_scores = VectorScores(vector_query.similarities([hit.item_id for hit in found.hits]))
        if question.is_task or (view is View.FILES and question.files.similarity):
            known = {file.id for file in found.files}
            limit = 0 if question.is_task else _NEAREST
            vector_scores = vector_scores._replace(
                files=vector_query.file_similarities(limit, known)
            )
        return found, vector_scores, (*parts, vector_query.part)

    def _graph(self, connection: sqlite3.Connection) -> "Graph":
        """Return the graph. Until the index changes, the graph keeps the rows that it has read."""
        from treadle.code.graph.tables import Graph

        (version,) = connection.execute("PRAGMA data_version").fetchone()
        known = self._read_graph
        if known is None or known[:2] != (connection, version) or known[2].is_full:
            known = self._read_graph = (connection, version, Graph(connection))
        return known[2]

    def _history(self, connection: sqlite3.Connection) -> "History":
        """Return the git history, which is unpacked again only when it changes."""
        from treadle.code.history.file_history import History

        self._unpacked_history = History.read(connection, self._unpacked_history)
        return self._unpacked_history

    def context(
        self, query: str, *, top_k: int, fits: Callable[[Sequence[ContextEntry], int], bool]
    ) -> ContextResult:
        """Return at most `top_k` items for `query`, as many and as complete as `fits` allows.

        `fits(entries, omitted)` returns whether the whole answer with these entries is within its
        budget. `omitted` is the number of omitted items. The snippets are read from the files and
        compared with the indexed hashes. If a file has changed, the index is refreshed first. An
        answer is never above the budget.
        """
        # imported late, since searches need neither module
        from treadle.code.context import assembly, selection

        def select_items() -> selection.SelectedItems:
            question, hits, named = self._ranked(query)
            return selection.select_items(
                self.root, question, hits, self._owners, exact=named, top_k=top_k
            )

        def run() -> ContextResult:
            found = select_items()
            if found.stale:
                self.refresh()
                found = select_items()
            answer = assembly.assemble(query, top_k, found, fits)
            notes = self._notes(query, [entry.file for entry in answer.entries])
            return answer._replace(notes=notes)

        return self._guarded(run)

    def _ranked(self, query: str) -> tuple[Question, list[Hit], int]:
        """Return the best items, and how many of them the query names exactly.

        The exactly named items come first.
        """
        found, vector_scores, _ = self.found(query)
        hits = rank_items(found, vector_scores, _CONTEXT_CANDIDATES)
        return found.question, hits, len(found.defined)

    def _owners(self, item_ids: Sequence[int]) -> dict[int, Hit]:
        with self._store.reading() as connection:
            return owners_of(connection, item_ids)

    def files_summary(self, path: str) -> FileSummary | None:
        """Return the index entry of the file at `path`, or None. `path` is relative to the root."""
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
        """Return the paths that are most similar to `name`, best first.

        Callers use it if the path `name` does not exist.
        """
        from treadle.code.retrieval.lookup import nearest_paths

        return self._guarded(lambda: nearest_paths(name, self._store.paths(), limit))

    def lookup(
        self, name: str, *, file: str | None = None, kind: str | None = None, limit: int = 10
    ) -> Lookup:
        """Return the items that `name` may mean.

        `name` is the name or the canonical path of an item, or the end of the canonical path.
        `file` is the path of a file, or the end of the path. `kind` is a `Kind`. If nothing
        matches, the result has the items with the most similar names. The function does not refresh
        the index.
        """
        from treadle.code.retrieval import lookup

        def run() -> Lookup:
            with self._store.reading() as connection:
                items, total = lookup.lookup(connection, name, file=file, kind=kind, limit=limit)
                near = [] if items else lookup.nearest_items(connection, name, file=file, kind=kind)
            return Lookup(tuple(items), total, tuple(near))

        return self._guarded(run)

    def names(self, beginning: str, *, limit: int) -> tuple[FoundItem, ...]:
        """Return items whose name or canonical path begins with `beginning`.

        Upper and lower case do not matter. The items are those of the last refresh.
        """
        from treadle.code.retrieval.lookup import beginning_with

        def run() -> tuple[FoundItem, ...]:
            with self._store.reading() as connection:
                return tuple(beginning_with(connection, beginning, limit))

        return self._guarded(run)

    def paths(self) -> list[str]:
        """Return the paths of all files, relative to the root."""
        return self._guarded(self._store.paths)

    def edges(
        self,
        item_id: int,
        *,
        kinds: Iterable[EdgeKind] = tuple(EdgeKind),
        direction: Direction | None = None,
        depth: int = 1,
    ) -> EdgeList:
        """Return the edges from and to an item.

        The item must be from a `lookup` since the last refresh. An edge without a target has the
        reason why its target is unknown.
        """
        from treadle.code.graph.edges import walk
        from treadle.code.graph.tables import Graph

        def run() -> EdgeList:
            with self._store.reading() as connection:
                return walk(
                    Graph(connection), item_id, kinds=frozenset(kinds), direction=direction,
                    depth=depth,
                )  # fmt: skip

        return self._guarded(run)

    def broken_uses(self, name: str, file: str) -> tuple[Edge, ...]:
        """Return uses of an item that `file` defined before, and that now have no definition.

        `name` is the name of the item. The function does not refresh the index.
        """
        from treadle.code.graph.edges import broken_uses
        from treadle.code.graph.tables import Graph

        def run() -> tuple[Edge, ...]:
            with self._store.reading() as connection:
                return tuple(broken_uses(Graph(connection), name, file))

        return self._guarded(run)

    def readings(self) -> tuple[FileReading, ...]:
        """Return how each file of the index was read, ordered by path."""

        def run() -> tuple[FileReading, ...]:
            with self._store.reading() as connection:
                rows = connection.execute(
                    "SELECT path, reading, skipped FROM files ORDER BY path"
                ).fetchall()
            return tuple(FileReading(os.fsdecode(row[0]), Reading(row[1]), row[2]) for row in rows)

        return self._guarded(run)

    def status(self) -> IndexStatus:
        """Return the size of the index, and whether the index matches the files of the tree.

        The files are compared by size, times and inode. Recently changed files are also compared by
        hash.
        """

        def run() -> IndexStatus:
            files, items, skipped = self._store.counts()
            fresh = difference(self.root, self._store.files()).empty
            return IndexStatus(files, items, skipped, fresh, self._store.path.stat().st_size)

        return self._guarded(run)
