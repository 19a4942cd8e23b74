"""The address of a store: the path of a SQLite file, or a schema of a PostgreSQL server."""

from pathlib import Path
from typing import NamedTuple


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
