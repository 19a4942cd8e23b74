"""Vectors on disk, by embedder and text: one SQLite file for all roots, so worktrees share it."""

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.database import FAST, Database, Schema

if TYPE_CHECKING:
    from treadle.code.dense.embedder import Vectors

_TABLE = """
    CREATE TABLE IF NOT EXISTS vectors (
        embedder TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL,
        PRIMARY KEY (embedder, text)
    ) WITHOUT ROWID"""


def _upgrade(connection: sqlite3.Connection, _version: int) -> None:
    connection.execute(_TABLE)


_SCHEMA = Schema("vectors", 1, _upgrade, pragmas=FAST, is_cache=True)


def text_key(text: str) -> bytes:
    """What stands for a text: BLAKE2b-128 of its bytes."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


class VectorStore:
    """A cache. Raises StoreError if the file cannot be used; the caller then works without it."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _SCHEMA).open()

    def close(self) -> None:
        """Close the file; the store is not used after."""
        self._database.close()

    def known(self, embedder: str, keys: Iterable[bytes]) -> "dict[bytes, Vectors]":
        """The vectors that are there."""
        import numpy

        found: dict[bytes, Vectors] = {}
        with self._database.use() as connection:
            for key in keys:
                row = connection.execute(
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
        with self._database.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
