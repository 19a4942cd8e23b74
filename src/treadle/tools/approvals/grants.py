"""The permanent grants that a person gave for repositories. They can be listed and revoked."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Self

from treadle.database import Database, Schema, StoreAddress, open_database
from treadle.repository_identity import consent_identity
from treadle.tools.approvals.question import Program

_MIGRATIONS = (
    # IF NOT EXISTS is needed since early versions of Treadle created this table without setting a
    # schema version.
    """CREATE TABLE IF NOT EXISTS bound_grants (
        id INTEGER PRIMARY KEY, root TEXT NOT NULL, identity TEXT NOT NULL, tool TEXT NOT NULL,
        path TEXT NOT NULL, command TEXT NOT NULL, program TEXT NOT NULL, digest TEXT NOT NULL,
        environment TEXT NOT NULL, granted_us INTEGER NOT NULL,
        UNIQUE (root, identity, tool, path, command, program, digest, environment)
    )""",
)
SCHEMA = Schema.of_migrations("approvals", _MIGRATIONS, busy_seconds=5.0)
"""The schema of the grants.

Grants of old versions, which identify a repository only by its path, are in another table and are
ignored.
"""


@dataclass(frozen=True, slots=True)
class Grant:
    """The permission to call one tool for one path, or to run one command with one tool.

    `path` is relative to the root of the repository. For a command, `program` is the path of its
    program. If the program is inside the repository, `digest` is a hash of its content.
    `environment` is a hash of the environment variables that determine which code the program
    loads.
    """

    tool: str
    path: str = ""
    command: str = ""
    program: str = ""
    digest: str = ""
    environment: str = ""

    @classmethod
    def of(cls, tool: str, path: str, command: str, program: Program | None) -> Self:
        """Return the grant for a call with a path or a command."""
        if program is None:
            return cls(tool, path, command)
        return cls(tool, path, command, program.path, program.digest, program.environment)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.tool, self.path, self.command)))


@dataclass(frozen=True, slots=True)
class StoredGrant:
    """A stored grant, with the number that revokes it and the time at which it was given."""

    number: int
    grant: Grant
    granted_us: int


class GrantStore:
    """Grants in a SQLite file, which several processes may use. All methods block.

    The first grant creates the file. A method raises StoreError when it cannot use the file.
    """

    def __init__(self, address: StoreAddress) -> None:
        self._address = address

    def remember(self, root: Path, grants: Iterable[Grant], at_us: int) -> None:
        """Add grants for the repository at `root`. Existing grants do not change."""
        with self._database() as database, database.transaction() as connection:
            identity = consent_identity(root, create=True)
            connection.executemany(
                "INSERT OR IGNORE INTO bound_grants (root, identity, tool, path, command, program,"
                " digest, environment, granted_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(str(root), identity, *astuple(each), at_us) for each in grants],
            )

    def list_grants(self, root: Path) -> list[StoredGrant]:
        """Return the grants for the repository that is at `root` now, the oldest first."""
        if not self._database().exists:
            return []
        with self._database() as database, database.use() as connection:
            found = connection.execute(
                "SELECT id, tool, path, command, program, digest, environment, granted_us"
                " FROM bound_grants WHERE root = ? AND identity = ? ORDER BY id",
                (str(root), consent_identity(root) or ""),
            )
            return [StoredGrant(row[0], Grant(*row[1:7]), row[7]) for row in found]

    def revoke(self, root: Path, number: int | None = None) -> int:
        """Delete the grant `number` of the repository, or all its grants if `number` is None.

        Returns the number of deleted grants.
        """
        if not self._database().exists:
            return 0
        with self._database() as database, database.transaction() as connection:
            return connection.execute(
                "DELETE FROM bound_grants WHERE root = ?1 AND (?2 IS NULL OR id = ?2)",
                (str(root), number),
            ).rowcount

    def _database(self) -> Database:
        return open_database(self._address, SCHEMA)
