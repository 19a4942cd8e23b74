"""Vectors for what was indexed without them, or by another model: made from the stored postings."""

import logging
import sqlite3
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from treadle.code.dense.stored import FileVectors, put_vectors, without_vectors
from treadle.code.postings import terms_of_items
from treadle.code.store import Store

if TYPE_CHECKING:
    from treadle.code.dense.static import StaticEmbedding

_FILES = 64
_ITEMS = 1_000
"""Of one transaction, which other writers wait for."""
_PAUSE = 0.01
"""Seconds between two, in which they come in."""
_LAST_SECONDS = 2.0
_log = logging.getLogger(__name__)


class Renewal:
    """A thread that ends when all files have vectors of the model.

    No file is read. Each transaction leaves whole files, so that whatever ends it costs only the
    last, and several processes may do this at once: each takes what is not done when it begins.
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
        """Begin, if it has not begun, and wait for the end at most `patience` seconds."""
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
        """Stop after what is in work."""
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
            _log.warning("Vectors are not renewed: %s", error)
            self._ended.set()
        finally:
            with self._changed:
                self._thread = None
                self._changed.notify_all()


def renew(store: Store, model: "StaticEmbedding") -> int:
    """Make the vectors of some files that have none of the model; how many files it were."""
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
