"""The address of a store: the path of a SQLite file, or a schema of a PostgreSQL database."""

from pathlib import Path
from typing import NamedTuple

DEFAULT_PROJECT = "default"
"""The project that always exists. Everything belongs to it until other projects are created."""

PROJECT_NAME = r"[a-z][a-z0-9_]{0,29}"
"""The pattern of the name of a project."""


class PostgresAddress(NamedTuple):
    """The schema of one store of one project in a PostgreSQL database.

    It is a named tuple, because every search imports this module, and the import of `dataclasses`
    is slow.
    """

    url: str
    """The address of the database, which may contain a password."""
    project: str
    store: str
    folder: Path
    """The local folder for files that belong to the store, such as locks of this machine."""

    def __repr__(self) -> str:
        """Return a text without the URL, which may contain a password."""
        return f"PostgresAddress(project={self.project!r}, store={self.store!r})"

    @property
    def schema(self) -> str:
        """The name of the PostgreSQL schema."""
        return f"treadle_{self.project}_{self.store}"


StoreAddress = Path | PostgresAddress
