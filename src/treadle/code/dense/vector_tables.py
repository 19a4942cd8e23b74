"""The stored vectors of items, with one blob for each file."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SCHEMA = """
CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id INTEGER NOT NULL,
    model_id INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX vectors_of_files ON vectors (file_id, model_id);
"""
"""With AUTOINCREMENT, an id is never used twice.

Therefore an id of vectors identifies one state of a file.
"""


class FileVectors(NamedTuple):
    """The vectors (int8) of a file's items in order of position, and the name of the model."""

    model: str
    data: bytes


def put_vectors(connection: sqlite3.Connection, file_id: int, vectors: FileVectors) -> None:
    """Replace the vectors of a file."""
    drop_vectors(connection, file_id)
    connection.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (vectors.model,))
    connection.execute(
        "INSERT INTO vectors (file_id, model_id, data) SELECT ?, id, ? FROM models WHERE name = ?",
        (file_id, vectors.data, vectors.model),
    )


def drop_vectors(connection: sqlite3.Connection, file_id: int) -> None:
    """Remove the vectors of a file."""
    connection.execute("DELETE FROM vectors WHERE file_id = ?", (file_id,))


def vector_ids(connection: sqlite3.Connection, model: str) -> dict[int, int]:
    """Return the ids of the vectors of an embedding model, by file id."""
    return dict(
        connection.execute(
            "SELECT file_id, id FROM vectors"
            " WHERE model_id = (SELECT id FROM models WHERE name = ?)",
            (model,),
        )
    )


def sizes_of_vectors(
    connection: sqlite3.Connection, ids: Iterable[int]
) -> Iterator[tuple[int, int]]:
    """Yield the file id and the size in bytes of the vectors with each of the `ids`."""
    return connection.execute(
        "SELECT file_id, length(data) FROM vectors WHERE id IN (SELECT value FROM json_each(?))",
        (str(list(ids)),),
    )


def read_vectors(connection: sqlite3.Connection, ids: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    """Yield the file id and the bytes of the vectors with each of the `ids`."""
    return connection.execute(
        "SELECT file_id, data FROM vectors WHERE id IN (SELECT value FROM json_each(?))",
        (str(list(ids)),),
    )


def without_vectors(
    connection: sqlite3.Connection, model: str, limit: int
) -> list[tuple[int, int]]:
    """Return at most `limit` files that have items but no vectors, with their numbers of items."""
    return connection.execute(
        "SELECT id, items FROM files WHERE items > 0 AND id NOT IN"
        " (SELECT file_id FROM vectors WHERE model_id = (SELECT id FROM models WHERE name = ?))"
        " ORDER BY id LIMIT ?",
        (model, limit),
    ).fetchall()
