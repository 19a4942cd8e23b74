"""Similarities between a query and the items of an index, by vectors of the static embedding.

Many searches name an item and need no vectors. Therefore nothing is loaded before the first query
in words.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from treadle.code.dense import EmbeddingError
from treadle.code.dense.vector_tables import FileVectors, put_vectors, without_vectors
from treadle.code.storage.postings import terms_of_items
from treadle.code.storage.store import Store
from treadle.errors import TreadleError

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from treadle.code.dense.static_embedding import StaticEmbedding
    from treadle.code.dense.vector_index import VectorIndex


_FILES = 64

_ITEMS = 1_000
"""The number of items in one transaction. Other writers wait for the end of a transaction."""

_PAUSE = 0.01
"""Seconds between two transactions, so that other writers can proceed."""

_LAST_SECONDS = 2.0


class VectorRenewal:
    """A thread that computes missing vectors until each file has vectors of the embedding model.

    The thread uses the stored terms, not the source files. Each transaction writes whole files, so
    an interruption loses only the last transaction. Several processes may run such a thread at
    once. Each transaction computes vectors that are still missing when it begins.
    """

    def __init__(
        self, store: Store, model: "StaticEmbedding", monotonic: Callable[[], float]
    ) -> None:
        self._store = store
        self._model = model
        self._monotonic = monotonic
        self._ended = threading.Event()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def run(self, patience: float | None) -> None:
        """Start the thread if needed, and wait at most `patience` seconds for its end.

        If `patience` is None, there is no limit.
        """
        deadline = None if patience is None else self._monotonic() + patience
        with self._changed:
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(target=self._work, name="renewal", daemon=True)
                self._thread.start()
            while self._thread is not None:
                left = None if deadline is None else deadline - self._monotonic()
                if left is not None and left <= 0:
                    return
                self._changed.wait(left)

    def close(self) -> None:
        """Stop after the current transaction."""
        self._ended.set()
        with self._changed:
            thread = self._thread
        if thread is not None:
            thread.join(_LAST_SECONDS)

    def _work(self) -> None:
        try:
            while not self._ended.is_set() and renew(self._store, self._model):
                self._ended.wait(_PAUSE)
        except sqlite3.Error as error:
            _warn("Vectors are not renewed: %s", error)
            self._ended.set()
        finally:
            with self._changed:
                self._thread = None
                self._changed.notify_all()


def renew(store: Store, model: "StaticEmbedding") -> int:
    """Compute the vectors of some files without vectors, and return the number of these files."""
    with store.writing() as connection:
        done = items = 0
        for file_id, count in without_vectors(connection, model.name, _FILES):
            if items >= _ITEMS:
                break
            rows = model.documents(terms_of_items(connection, file_id, count))
            put_vectors(connection, file_id, FileVectors(model.name, rows.tobytes()))
            done += 1
            items += count
        return done


class VectorQuery(NamedTuple):
    """The vectors of an index and of a query. `requested` is the number of items in the index."""

    held: "VectorIndex"
    query: "NDArray[float32]"
    requested: int

    @property
    def part(self) -> str:
        """The entry for this query in `SearchResults.parts`."""
        known = len(self.held.items)
        return "dense" if known >= self.requested else f"dense: {known} of {self.requested}"

    def nearest(self, limit: int) -> list[int]:
        """Return the ids of the items that are most similar to the query."""
        return self.held.nearest(self.query, limit)

    def similarities(self, items: Sequence[int]) -> dict[int, float]:
        """Return the similarities of items by id. Items without a vector are left out."""
        return self.held.similarities(self.query, items)

    def file_similarities(self, limit: int, also: Iterable[int]) -> dict[int, float]:
        """Return the similarities of files by id.

        The files are those in `also` and the `limit` nearest files.
        """
        return self.held.of_files().similarities(self.query, limit, also)


class ItemVectors:
    """The vectors of an index, and the thread that computes missing vectors.

    The vectors stay in memory until the index changes.
    """

    def __init__(
        self,
        store: Store,
        choose: Callable[[], Path | None],
        *,
        patience: float | None,
        monotonic: Callable[[], float],
    ) -> None:
        """Prepare the vectors without loading the embedding model.

        `choose` returns the folder of the embedding model, or None to disable vectors. `patience`
        is the number of seconds that a query waits for missing vectors. If it is None, there is no
        limit.
        """
        self._store = store
        self._choose = choose
        self._patience = patience
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._chosen: tuple[Path | None] | None = None
        self._opened: tuple[StaticEmbedding, VectorRenewal] | None = None
        self._held: tuple[sqlite3.Connection, int, VectorIndex] | None = None

    def close(self) -> None:
        """Stop the thread that computes missing vectors."""
        if self._opened is not None:
            self._opened[1].close()

    def folder(self) -> Path | None:
        """Return the folder of the embedding model, or None if vectors are disabled."""
        with self._lock:
            if self._chosen is None:
                try:
                    self._chosen = (self._choose(),)
                except TreadleError as error:
                    self._chosen = self._without(error)
            return self._chosen[0]

    def _without(self, error: Exception) -> tuple[None]:
        _warn("Search continues without vectors: %s", error)
        return (None,)

    def _model(self) -> "tuple[StaticEmbedding, VectorRenewal] | None":
        folder = self.folder()
        with self._lock:
            if self._opened is None and folder is not None:
                from treadle.code.dense.static_embedding import StaticEmbedding

                try:
                    model = StaticEmbedding.load(folder)
                except EmbeddingError as error:
                    self._chosen = self._without(error)
                    return None
                self._opened = model, VectorRenewal(self._store, model, self._monotonic)
            return self._opened

    def renew(self) -> None:
        """Start computing missing vectors, and wait as long as `patience` allows."""
        if (opened := self._model()) is None:
            return
        model, renewal = opened
        with self._store.reading() as connection:
            missing = len(self._read(connection, model).items) < _count_items(connection)
        if missing:
            renewal.run(self._patience)

    def ask(self, connection: sqlite3.Connection, query: str) -> VectorQuery | None:
        """Return the vectors for a query, or None.

        The result is None if vectors are disabled or the query has no known term.
        """
        if (opened := self._model()) is None:
            return None
        vector = opened[0].query(query)
        held = self._read(connection, opened[0])
        return VectorQuery(held, vector, _count_items(connection)) if vector.any() else None

    def _read(self, connection: sqlite3.Connection, model: "StaticEmbedding") -> "VectorIndex":
        """Return the vectors of the current index. Unchanged vectors are not read again."""
        from treadle.code.dense.vector_index import empty_vector_index, read_vector_index

        (version,) = connection.execute("PRAGMA data_version").fetchone()
        with self._lock:
            known = self._held
            if known is None or known[0] is not connection:
                known = (connection, -1, empty_vector_index(model.dimension))
            if known[1] != version:
                known = (connection, version, read_vector_index(connection, model.name, known[2]))
            self._held = known
            return known[2]


def _count_items(connection: sqlite3.Connection) -> int:
    (items,) = connection.execute("SELECT value FROM meta WHERE key = 'items'").fetchone()
    return int(items)


def _warn(message: str, error: Exception) -> None:
    import logging  # imported late, since it loads slowly and is rarely needed

    logging.getLogger(__name__).warning(message, error)
