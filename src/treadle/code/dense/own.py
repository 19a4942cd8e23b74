"""How like a query the items of an index are, by the own embedding of each of them.

Nothing is loaded before a query in words, since many a search names what it wants.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from treadle.code.dense.embedder import EmbeddingError
from treadle.code.store import Store
from treadle.errors import TreadleError

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from treadle.code.dense.held import HeldVectors
    from treadle.code.dense.renewing import Renewal
    from treadle.code.dense.static import StaticEmbedding


class Asked(NamedTuple):
    """The vectors of an index and that of a query; `wanted` is how many items the index has."""

    held: "HeldVectors"
    query: "NDArray[float32]"
    wanted: int

    @property
    def part(self) -> str:
        """What took part in the search."""
        known = len(self.held.items)
        return "dense" if known >= self.wanted else f"dense: {known} of {self.wanted}"

    def nearest(self, limit: int) -> list[int]:
        """The ids of the items that are most like the query."""
        return self.held.nearest(self.query, limit)

    def similarities(self, items: Sequence[int]) -> dict[int, float]:
        """How like the query items are, by id, where they have a vector."""
        return self.held.similarities(self.query, items)

    def file_similarities(self, limit: int, also: Iterable[int]) -> dict[int, float]:
        """How like the query `also` and the `limit` nearest files are as a whole, by id."""
        return self.held.of_files().similarities(self.query, limit, also)


class OwnVectors:
    """The vectors of an index, in memory as long as it stays as it is, and their renewal."""

    def __init__(
        self,
        store: Store,
        choose: Callable[[], Path | None],
        *,
        patience: float | None,
        monotonic: Callable[[], float],
    ) -> None:
        """`choose` gives the folder of the model; None from it leaves this part out.

        `patience` is how many seconds a query waits for vectors that are not there yet.
        """
        self._store = store
        self._choose = choose
        self._patience = patience
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._chosen: tuple[Path | None] | None = None
        self._opened: tuple[StaticEmbedding, Renewal] | None = None
        self._held: tuple[sqlite3.Connection, int, HeldVectors] | None = None

    def close(self) -> None:
        """Stop what is being made."""
        if self._opened is not None:
            self._opened[1].close()

    def folder(self) -> Path | None:
        """Where the model is; None if there is to be none."""
        with self._lock:
            if self._chosen is None:
                try:
                    self._chosen = (self._choose(),)
                except TreadleError as error:
                    self._chosen = self._without(error)
            return self._chosen[0]

    def _without(self, error: Exception) -> tuple[None]:
        import logging  # seldom needed, slow to load

        logging.getLogger(__name__).warning("Search goes on without vectors: %s", error)
        return (None,)

    def _model(self) -> "tuple[StaticEmbedding, Renewal] | None":
        folder = self.folder()
        with self._lock:
            if self._opened is None and folder is not None:
                from treadle.code.dense.renewing import Renewal
                from treadle.code.dense.static import StaticEmbedding

                try:
                    model = StaticEmbedding.load(folder)
                except EmbeddingError as error:
                    self._chosen = self._without(error)
                    return None
                self._opened = model, Renewal(self._store, model, self._monotonic)
            return self._opened

    def renew(self) -> None:
        """Have made what is missing, and wait for it as long as an answer may."""
        if (opened := self._model()) is None:
            return
        model, renewal = opened
        with self._store.reading() as connection:
            missing = len(self._read(connection, model).items) < _items(connection)
        if missing:
            renewal.run(self._patience)

    def ask(self, connection: sqlite3.Connection, query: str) -> Asked | None:
        """What vectors say of a query; None where they are not used or have nothing to say."""
        if (opened := self._model()) is None:
            return None
        vector = opened[0].query(query)
        held = self._read(connection, opened[0])
        return Asked(held, vector, _items(connection)) if vector.any() else None

    def _read(self, connection: sqlite3.Connection, model: "StaticEmbedding") -> "HeldVectors":
        """The vectors as the index is now; what has not changed is not read again."""
        from treadle.code.dense.held import nothing_held, read_held

        (version,) = connection.execute("PRAGMA data_version").fetchone()
        with self._lock:
            known = self._held
            if known is None or known[0] is not connection:
                known = (connection, -1, nothing_held(model.dimension))
            if known[1] != version:
                known = (connection, version, read_held(connection, model.name, known[2]))
            self._held = known
            return known[2]


def _items(connection: sqlite3.Connection) -> int:
    (items,) = connection.execute("SELECT value FROM meta WHERE key = 'items'").fetchone()
    return int(items)
