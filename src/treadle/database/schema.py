"""The tables of one kind of database, and the settings of its connections."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from treadle.database.connection import Connection

Migration = str | Callable[[Connection], None]
"""A migration: SQL statements, or a function that changes the tables."""

DURABLE = ("synchronous = FULL", "foreign_keys = ON")
"""SQLite settings (pragmas) with which a commit survives a loss of power."""
FAST = ("synchronous = NORMAL", "foreign_keys = ON")
"""SQLite settings (pragmas) with which a commit survives a crash of the process.

A loss of power may undo the last commits.
"""


class Schema(NamedTuple):
    """The tables of one kind of database, and the settings of its connections."""

    records: str
    """The name of the content in messages, such as "conversations"."""
    version: int
    """The version of a database that is up to date."""
    upgrade: Callable[[Connection, int], None]
    """Upgrades the tables from an older version in a transaction.

    Version 0 is an empty database.
    """
    pragmas: tuple[str, ...] = DURABLE
    file_pragmas: tuple[str, ...] = ()
    """SQLite settings (pragmas) that take effect only before the first table is created."""
    busy_seconds: float = 10.0
    """The seconds that a statement waits for the lock of another process."""
    upgrade_seconds: float = 10.0
    """The seconds that `open_connection` waits while another process upgrades the database."""
    cached_statements: int = 128
    is_cache: bool = False
    """Whether the file can be rebuilt.

    If it can be rebuilt, a damaged file is deleted, and `upgrade` accepts any version.
    """
    row_errors: tuple[type[Exception], ...] = ()
    """Further errors that mean that a row is damaged."""
    works_since: int | None = None
    """The oldest version with which servers of this version can share a PostgreSQL database.

    Code of that version works with these tables, and this code works with the tables of that
    version. This holds for migrations that only add tables, indexes, or columns with a default. A
    server then uses older tables unchanged until `Database.migrate`. None means that there is no
    such version: the first server of this version upgrades the tables, and servers of older
    versions refuse them.
    """

    @property
    def oldest_tables(self) -> int:
        """The oldest version of tables that this code can use without an upgrade."""
        return self.version if self.works_since is None else self.works_since

    @classmethod
    def of_migrations(
        cls,
        records: str,
        migrations: Sequence[Migration],
        *,
        pragmas: tuple[str, ...] = DURABLE,
        busy_seconds: float = 10.0,
        row_errors: tuple[type[Exception], ...] = (),
        works_since: int | None = None,
    ) -> Self:
        """Return a schema whose migration n upgrades a database from version n to n + 1."""

        def upgrade(connection: Connection, version: int) -> None:
            for migration in migrations[version:]:
                if callable(migration):
                    migration(connection)
                else:
                    for statement in filter(str.strip, migration.split(";")):
                        connection.execute(statement)

        return cls(
            records,
            len(migrations),
            upgrade,
            pragmas=pragmas,
            busy_seconds=busy_seconds,
            row_errors=row_errors,
            works_since=works_since,
        )
