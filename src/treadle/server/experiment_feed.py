"""Publishes changes of experiments and batches on the server's bus.

The changes may come from any process. The feed therefore polls the file with the experiments.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from treadle.database import Connection, StoreAddress, open_database
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.events.changes import ExperimentChanged
from treadle.experiments.store import SCHEMA, parse_plan
from treadle.ids import NO_REQUEST
from treadle.server.store_changes import Wait

_SCHEMA = SCHEMA._replace(busy_seconds=1.0)
POLL_SECONDS = 0.2
_BATCHES = 50
"""The number of newest batches that the feed checks for changes."""

_EXPERIMENTS_SQL = "SELECT id, updated_us FROM experiments"
_BATCHES_SQL = """
    SELECT b.experiment, b.id, b.state, b.plan,
        (SELECT count(*) FROM runs r WHERE r.batch = b.id AND r.outcome IS NOT NULL),
        (SELECT count(*) FROM judgements j WHERE j.batch = b.id),
        (SELECT count(*) FROM items i WHERE i.experiment = b.experiment)
    FROM (SELECT * FROM batches ORDER BY id DESC LIMIT ?) b"""

_Key = tuple[str, str | None]
_Seen = tuple[object, int | None, int | None]
"""A value that differs after each change, the number of finished runs, and the number of all runs.

Both numbers are None for an experiment. For a batch, they count its runs.
"""


@asynccontextmanager
async def experiments_followed(
    address: StoreAddress, bus: EventBus, wait: Wait | None = None
) -> AsyncIterator[None]:
    """Publish changes of the experiments at `address` while the context is active.

    The store may be created later. `wait` waits until the store may have changed.
    """
    feed = _Feed(address)
    following = asyncio.create_task(_follow(feed, bus, wait or _interval), name="experiments")
    try:
        yield
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        await asyncio.to_thread(feed.close)


async def _interval() -> None:
    await asyncio.sleep(POLL_SECONDS)


async def _follow(feed: "_Feed", bus: EventBus, wait: Wait) -> None:
    while True:
        for key, (_, done, total) in (await asyncio.to_thread(feed.changes)).items():
            experiment_id, batch_id = key
            await bus.publish(
                ExperimentChanged(
                    request_id=NO_REQUEST,
                    experiment_id=experiment_id,
                    batch_id=batch_id,
                    done=done,
                    total=total,
                )
            )
        await wait()


class _Feed:
    """Compares the experiments in the file with their state at the previous call.

    All methods block.
    """

    def __init__(self, address: StoreAddress) -> None:
        self._database = open_database(address, _SCHEMA)
        self._connection: Connection | None = None
        self._version: int | None = None
        self._seen: dict[_Key, _Seen] = {}
        self._first = True
        self._missing = self._is_missing()

    def close(self) -> None:
        self._drop_connection()

    def changes(self) -> Mapping[_Key, _Seen]:
        """Return the changes since the previous call.

        At the first call there is no state to compare with, so the result is empty. An exception is
        a file that was created after this object: all its content is new. The result is also empty
        if the file cannot be read.
        """
        if self._connection is None and self._is_missing():
            return {}
        try:
            return self._read_changes()
        except sqlite3.Error:  # the store is locked, or PostgreSQL cannot be reached
            self._drop_connection()
            return {}

    def _is_missing(self) -> bool:
        try:
            return not self._database.exists
        except StoreError:  # PostgreSQL cannot be reached
            return False

    def _drop_connection(self) -> None:
        connection, self._connection, self._version = self._connection, None, None
        if connection is not None:
            connection.close()

    def _read_changes(self) -> dict[_Key, _Seen]:
        if self._connection is None:
            self._connection = self._database.connect_reader()
        version = self._database.change_number(self._connection)
        if version is not None and version == self._version:
            return {}
        now = _state(self._connection)
        first, self._first = self._first and not self._missing, False
        before, self._seen, self._version = self._seen, now, version
        if first:
            return {}
        changed = {key: seen for key, seen in now.items() if before.get(key) != seen}
        gone = {key for key in before if key not in now and key[1] is None}
        return {**changed, **dict.fromkeys(gone, (None, None, None))}


def _state(connection: Connection) -> dict[_Key, _Seen]:
    found: dict[_Key, _Seen] = {
        (experiment, None): (updated_us, None, None)
        for experiment, updated_us in connection.execute(_EXPERIMENTS_SQL)
    }
    for experiment, batch, state, plan, done, judged, items in connection.execute(
        _BATCHES_SQL, (_BATCHES,)
    ):
        read = parse_plan(plan)
        total = len(read.variants) * items * read.repeats
        found[experiment, batch] = ((state, judged), done, total)
    return found
