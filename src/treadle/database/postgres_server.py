"""Facts about a PostgreSQL server, for people who set it up."""

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass

from treadle.database.address import PostgresAddress
from treadle.database.postgres_connection import as_sqlite_errors, pool_of
from treadle.database.postgres_tables import bypassing_role
from treadle.database.schema import Schema
from treadle.errors import StoreError

_SCHEMA = Schema.of_migrations("stores", (), busy_seconds=5.0)
_ROUND_TRIPS = 5


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The version of a server, the user of the connection, and the time of a round trip."""

    version: str
    user: str
    protects: bool
    """Whether row-level security applies to the user."""
    round_trip_ms: float


def server_facts(address: PostgresAddress) -> ServerFacts:
    """Ask the server at `address`. Raises StoreError if it does not answer."""
    try:
        with (
            as_sqlite_errors(),
            closing(pool_of(address.url).take(address, _SCHEMA)) as connection,
        ):
            times: list[float] = []
            row: tuple[str, str] | None = None
            for _ in range(_ROUND_TRIPS):
                begin = time.perf_counter()
                row = connection.raw.execute(
                    "SELECT current_setting('server_version'), current_user"
                ).fetchone()
                times.append(time.perf_counter() - begin)
            version, user = row or ("unknown", "unknown")
            protects = bypassing_role(connection) is None
            return ServerFacts(version, user, protects, min(times) * 1_000)
    except sqlite3.Error as error:
        raise StoreError(
            f"The PostgreSQL server does not answer: {error}.",
            hint="Check that the server of the setting store.url runs and accepts this user.",
        ) from error
