"""The address of a store: the path of a SQLite file, or a schema of a PostgreSQL server."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The schema of one store of one project in a PostgreSQL database."""

    url: str = field(repr=False)
    """The address of the database, which may contain a password."""
    project: str
    store: str
    folder: Path
    """The local folder for files that belong to the store, such as locks of this machine."""

    @property
    def schema(self) -> str:
        """The name of the PostgreSQL schema."""
        return f"treadle_{self.project}_{self.store}"


StoreAddress = Path | PostgresAddress
