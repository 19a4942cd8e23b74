"""What a person has allowed for good: kept for each repository, listed and revoked."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from treadle.errors import StoreError

_BUSY_SECONDS = 5.0
_TABLE = """
    CREATE TABLE IF NOT EXISTS grants (
        id INTEGER PRIMARY KEY, root TEXT NOT NULL, tool TEXT NOT NULL,
        path TEXT NOT NULL, command TEXT NOT NULL, granted_us INTEGER NOT NULL,
        UNIQUE (root, tool, path, command)
    )"""


@dataclass(frozen=True, slots=True)
class Grant:
    """Exactly what was allowed: a tool, with its path relative to the root or its command."""

    tool: str
    path: str = ""
    command: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.tool, self.path, self.command)))


@dataclass(frozen=True, slots=True)
class Remembered:
    """A grant with the number by which it is revoked, and when it was given."""

    number: int
    grant: Grant
    granted_us: int


class GrantStore:
    """Grants in a SQLite file, which several processes may use. All methods block.

    Nothing is made before the first grant. All methods raise StoreError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def remember(self, root: Path, grants: Iterable[Grant], at_us: int) -> None:
        """Keep grants for the repository at `root`; what is kept already stays as it is."""
        with self._connection(make=True) as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO grants (root, tool, path, command, granted_us)"
                " VALUES (?, ?, ?, ?, ?)",
                [(str(root), each.tool, each.path, each.command, at_us) for each in grants],
            )

    def remembered(self, root: Path) -> list[Remembered]:
        """What is allowed in the repository at `root`, the oldest first."""
        with self._connection() as connection:
            found = connection.execute(
                "SELECT id, tool, path, command, granted_us FROM grants WHERE root = ? ORDER BY id",
                (str(root),),
            )
            return [Remembered(row[0], Grant(*row[1:4]), row[4]) for row in found]

    def revoke(self, root: Path, number: int | None = None) -> int:
        """Forget the grant of that number, or all of the repository; how many were forgotten."""
        with self._connection() as connection:
            return connection.execute(
                "DELETE FROM grants WHERE root = ?1 AND (?2 IS NULL OR id = ?2)",
                (str(root), number),
            ).rowcount

    @contextmanager
    def _connection(self, *, make: bool = False) -> Iterator[sqlite3.Connection]:
        try:
            if make:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            name = str(self._path) if self._path.exists() else ":memory:"
            with closing(sqlite3.connect(name, timeout=_BUSY_SECONDS)) as connection, connection:
                connection.execute(_TABLE)
                yield connection
        except (OSError, sqlite3.Error, UnicodeError) as error:  # a name that is no UTF-8
            raise StoreError(
                f"The remembered approvals {self._path} cannot be used: {error}.",
                hint="Check the file's permissions, or move it aside to begin a new one.",
            ) from error
