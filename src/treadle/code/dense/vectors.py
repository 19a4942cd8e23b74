"""Vectors on disk, by embedder and text: one SQLite file for all roots, so worktrees share it."""

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.databases import use_write_ahead_log
from treadle.owner_only import private_file

if TYPE_CHECKING:
    from treadle.code.dense.embedder import Vectors

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    embedder TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (embedder, text)
) WITHOUT ROWID
"""
_BUSY_SECONDS = 10.0


def text_key(text: str) -> bytes:
    """What stands for a text: BLAKE2b-128 of its bytes."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


class VectorStore:
    """A cache. Raises `sqlite3.Error` where the file cannot be used: the caller goes without."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        private_file(path)
        self._connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        use_write_ahead_log(self._connection)
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(_SCHEMA)

    def close(self) -> None:
        """Close the file; the store is not used after."""
        with self._lock:
            self._connection.close()

    def known(self, embedder: str, keys: Iterable[bytes]) -> "dict[bytes, Vectors]":
        """The vectors that are there."""
        import numpy

        found: dict[bytes, Vectors] = {}
        with self._lock:
            for key in keys:
                row = self._connection.execute(
                    "SELECT vector FROM vectors WHERE embedder = ? AND text = ?", (embedder, key)
                ).fetchone()
                if row is not None:
                    found[key] = numpy.frombuffer(row[0], numpy.float16).astype(numpy.float32)
        return found

    def add(self, embedder: str, vectors: "Mapping[bytes, Vectors]") -> None:
        """Keep vectors (as 16-bit floats) in one transaction."""
        rows = [
            (embedder, key, vector.astype("float16").tobytes()) for key, vector in vectors.items()
        ]
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows
                )
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
