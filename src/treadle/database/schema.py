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

    @classmethod
    def of_migrations(
        cls,
        records: str,
        migrations: Sequence[Migration],
        *,
        pragmas: tuple[str, ...] = DURABLE,
        busy_seconds: float = 10.0,
        row_errors: tuple[type[Exception], ...] = (),
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
        )
