"""The definitions of tools that a person knows, for each repository and server."""

from pathlib import Path
from typing import Protocol

from treadle.database import Database, Schema, StoreAddress, open_database
from treadle.mcp_client.definition import Definition
from treadle.repository_identity import consent_identity

_MIGRATIONS = (
    """CREATE TABLE known_definitions (
        id INTEGER PRIMARY KEY, root TEXT NOT NULL, identity TEXT NOT NULL, server TEXT NOT NULL,
        tool TEXT NOT NULL, definition TEXT NOT NULL, accepted_us INTEGER NOT NULL,
        UNIQUE (root, identity, server, tool)
    )""",
)
SCHEMA = Schema.of_migrations("mcp", _MIGRATIONS, busy_seconds=5.0)


class KnownDefinitions(Protocol):
    """The definitions that a person knows. All methods block and raise StoreError."""

    def of_server(self, server: str) -> dict[str, Definition]:
        """Return the known definitions of a server by the name of the tool."""
        ...

    def add(self, definitions: list[Definition], at_us: int) -> None:
        """Store definitions. They replace the definitions of the same tools."""
        ...


class StoredDefinitions:
    """The known definitions of one repository in a store that several processes may use.

    The first definition creates the store.
    """

    def __init__(self, address: StoreAddress, root: Path) -> None:
        self._address = address
        self._root = root

    def of_server(self, server: str) -> dict[str, Definition]:
        if not self._database().exists:
            return {}
        with self._database() as database, database.use() as connection:
            found = connection.execute(
                "SELECT tool, definition FROM known_definitions"
                " WHERE root = ? AND identity = ? AND server = ?",
                (str(self._root), consent_identity(self._root) or "", server),
            )
            return {row[0]: Definition.of_json(server, row[0], row[1]) for row in found}

    def add(self, definitions: list[Definition], at_us: int) -> None:
        if not definitions:
            return
        with self._database() as database, database.transaction() as connection:
            identity = consent_identity(self._root, create=True)
            connection.executemany(
                "INSERT INTO known_definitions"
                " (root, identity, server, tool, definition, accepted_us)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (root, identity, server, tool)"
                " DO UPDATE SET definition = excluded.definition,"
                " accepted_us = excluded.accepted_us",
                [
                    (str(self._root), identity, each.server, each.tool, each.json, at_us)
                    for each in definitions
                ],
            )

    def _database(self) -> Database:
        return open_database(self._address, SCHEMA)
