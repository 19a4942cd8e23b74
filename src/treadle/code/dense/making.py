"""Vectors that a thread makes, so that no answer waits for them longer than it has patience."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.code.dense.embedder import Embedder, EmbedderError
from treadle.code.dense.vectors import VectorStore, text_key

if TYPE_CHECKING:
    from treadle.code.dense.embedder import Vectors

_LAST_SECONDS = 2.0
"""Waited for the batch in work when all is closed; MiniLM needs a quarter of it."""


@dataclass(slots=True, eq=False)
class _Order:
    """Texts by key, the most wanted first, and what is known of them; under the maker's lock."""

    missing: dict[bytes, str]
    vectors: "dict[bytes, Vectors]"
    failure: Exception | None = None


class VectorMaker:
    """One embedder and its cache. What nobody waits for any longer is made and kept all the same.

    The newest order comes first. The thread ends when there is nothing left to do.
    """

    def __init__(self, embedder: Embedder, path: Path, monotonic: Callable[[], float]) -> None:
        """Raises `sqlite3.Error` or `OSError` if the cache cannot be opened."""
        self._embedder = embedder
        self._store = VectorStore(path)
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._orders: list[_Order] = []
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """Drop what is not begun, and close the cache."""
        with self._changed:
            thread = self._thread
            for order in self._orders:
                order.failure = EmbedderError("it was closed")
            self._orders.clear()
            self._changed.notify_all()
        if thread is not None:
            thread.join(_LAST_SECONDS)
        self._store.close()

    def vectors(self, texts: Sequence[str], patience: float | None) -> "dict[str, Vectors]":
        """Those that are there after at most `patience` seconds (None: all, whatever it takes).

        Raises what the embedder or the cache raised in that time.
        """
        keys = {text: text_key(text) for text in texts}
        found = self._store.known(self._embedder.name, keys.values())
        order = _Order({key: text for text, key in keys.items() if key not in found}, found)
        with self._changed:
            if order.missing:
                self._wait(order, patience)
            if order.failure is not None:
                raise order.failure
            return {text: order.vectors[key] for text, key in keys.items() if key in order.vectors}

    def _wait(self, order: _Order, patience: float | None) -> None:
        """Hand the order to the thread; the lock is held."""
        deadline = None if patience is None else self._monotonic() + patience
        self._orders.append(order)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="vectors", daemon=True)
            self._thread.start()
        while order.missing and order.failure is None:
            left = None if deadline is None else deadline - self._monotonic()
            if left is not None and left <= 0:
                return
            self._changed.wait(left)

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            order, texts = batch
            try:
                made = self._made(texts)
            except Exception as error:  # noqa: BLE001  (whatever it is, who waits must learn it)
                with self._changed:
                    order.failure = error
                    order.missing.clear()
                    self._changed.notify_all()
                continue
            with self._changed:
                order.vectors.update(made)
                for key in texts:
                    del order.missing[key]
                self._changed.notify_all()

    def _next(self) -> tuple[_Order, dict[bytes, str]] | None:
        with self._changed:
            while self._orders:
                order = self._orders[-1]
                if order.missing:
                    return order, dict(islice(order.missing.items(), self._embedder.batch))
                self._orders.remove(order)
            self._thread = None
            return None

    def _made(self, texts: dict[bytes, str]) -> "dict[bytes, Vectors]":
        """The vectors of a batch, as rounded by the cache, so that orders repeat."""
        name = self._embedder.name
        found = self._store.known(name, texts)  # by another order meanwhile
        missing = [key for key in texts if key not in found]
        if missing:
            rows = self._embedder.embed([texts[key] for key in missing])
            self._store.add(name, dict(zip(missing, rows, strict=True)))
            found |= self._store.known(name, missing)
        return found
