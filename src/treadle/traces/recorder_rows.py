"""The recorders of a store in PostgreSQL: one row and one advisory lock for each recorder.

Several machines can share the store, so a local lock says nothing about a recorder of another
machine. Each recorder therefore has a row, in a schema next to that of the spans. A connection of
its own holds an advisory lock of the session for as long as the recorder runs. The server releases
the lock when the connection ends. The recorder takes it again with its next heartbeat.

A recorder has ended early if its lock is free and its last heartbeat is older than the grace time.
If the server itself started later than that, the other recorders first get the grace time to
connect again. Heartbeats have the clocks of their machines. A difference between two clocks changes
the grace time by the same amount.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from treadle.clock import Clock
from treadle.database import Connection, PostgresAddress, Schema, open_database
from treadle.errors import StoreError
from treadle.traces.recorders import Recorders

_GRACE_US = 60_000_000
_TABLE = """
    CREATE TABLE recorders (
        id TEXT PRIMARY KEY, started_us INTEGER NOT NULL, heartbeat_us INTEGER NOT NULL
    )"""
_SCHEMA = Schema.of_migrations(
    "recorders",
    (_TABLE,),
)
_BEAT = """
    INSERT INTO recorders (id, started_us, heartbeat_us) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET heartbeat_us = excluded.heartbeat_us"""
_SERVER_START = "SELECT CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS bigint)"
_log = logging.getLogger(__name__)


class RecorderRows(Recorders):
    """Recorders of several machines, each with a row and an advisory lock."""

    beat_seconds = 15.0

    def __init__(self, address: PostgresAddress, clock: Clock) -> None:
        self._database = open_database(address._replace(store="recorders"), _SCHEMA)
        self._clock = clock
        self._own = ""
        self._started_us = 0
        self._lock = ExitStack()
        """Holds the lock of the own recorder on a connection that nothing else uses."""

    def begin(self, recorder: str) -> bool:
        self._own, self._started_us = recorder, self._clock.now_us()
        try:
            self.beat()
        except StoreError:
            _log.warning("The recorder could not be registered", exc_info=True)
            self._lock.close()
            return False
        return True

    def beat(self) -> None:
        name = _lock_name(self._own)
        with self._database as database:
            with database.transaction() as connection:
                connection.execute(_BEAT, (self._own, self._started_us, self._clock.now_us()))
            if not database.is_held(name):
                self._lock.close()  # its connection has ended
                self._lock.enter_context(database.hold(name))

    def end(self) -> None:
        with self._lock, self._database as database, database.transaction() as connection:
            _remove(connection, self._own)

    def others(self) -> Sequence[str]:
        limit = self._clock.now_us() - _GRACE_US
        with self._database as database, database.use() as connection:
            if connection.execute(_SERVER_START).fetchone()[0] > limit:
                return ()
            found = connection.execute(
                "SELECT id FROM recorders WHERE heartbeat_us < ? AND id != ? ORDER BY id",
                (limit, self._own),
            )
            return [recorder for (recorder,) in found]

    @contextmanager
    def claim(self, recorder: str) -> Iterator[int | None]:
        with self._database as database, database.hold(_lock_name(recorder)) as held:
            started_us = self._start_of_silent(recorder) if held else None
            yield started_us
            if started_us is not None:
                with database.transaction() as connection:
                    _remove(connection, recorder)

    def _start_of_silent(self, recorder: str) -> int | None:
        """Return the start of a recorder whose heartbeat is still older than the grace time."""
        with self._database.use() as connection:
            row = connection.execute(
                "SELECT started_us FROM recorders WHERE id = ? AND heartbeat_us < ?",
                (recorder, self._clock.now_us() - _GRACE_US),
            ).fetchone()
        return None if row is None else int(row[0])


def _remove(connection: Connection, recorder: str) -> None:
    connection.execute("DELETE FROM recorders WHERE id = ?", (recorder,))


def _lock_name(recorder: str) -> str:
    return f"recorder/{recorder}"
