"""The store of breakpoints and held calls."""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, Self, TypeVar

from pydantic import TypeAdapter

from treadle.database import Database, Schema, StoreAddress, open_database

T = TypeVar("T")

KEPT = 500
"""The maximum number of held calls in memory and in the file. The newest are kept.

The gateway deletes older calls from the file when it starts.
"""

_MIGRATIONS = (
    """CREATE TABLE breakpoints (id TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE held (id TEXT PRIMARY KEY, state TEXT NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX held_by_state ON held (state)""",
)
SCHEMA = Schema.of_migrations("breakpoints", _MIGRATIONS)

OnExpiry = Literal["continue", "refuse"]


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Holds the calls that match all conditions. A breakpoint without conditions holds all calls.

    The conditions are `labels`, `thread_id` and `model`. None means any thread or any model.
    """

    id: str
    labels: tuple[str, ...] = ()
    """Patterns with `*` and `?`. One label of the call must match one of the patterns."""
    thread_id: str | None = None
    model: str | None = None
    """A pattern with `*` and `?` for the model name that the client sent."""
    enabled: bool = True
    timeout: float | None = None
    """The maximum number of seconds for which a call is held.

    None means the limit in the settings.
    """
    on_expiry: OnExpiry | None = None


class HeldState(StrEnum):
    """The state of a held call."""

    WAITING = "waiting"
    CONTINUED = "continued"
    EDITED = "edited"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    """The client left before a decision."""
    EXPIRED = "expired"
    """The time limit passed. `on_expiry` decided whether the call continued or was refused."""
    LOST = "lost"
    """The server ended before the call was decided."""


@dataclass(frozen=True, slots=True)
class Held:
    """A call that waits or waited at a breakpoint. `body` is its request body.

    Times are Unix microseconds.
    """

    id: str
    breakpoint_id: str
    state: HeldState
    operation: str
    model: str
    at_us: int
    expires_us: int
    on_expiry: OnExpiry
    trace_id: str
    thread_id: str | None = None
    run_id: str | None = None
    labels: tuple[str, ...] = ()
    decided_us: int | None = None
    reason: str | None = None
    body: str = field(default="", repr=False)


class BreakpointStore:
    """Stores breakpoints and held calls in a file. Any thread may use the store."""

    def __init__(self, database: Database) -> None:
        """Create a store for a database. Use the method `open` instead."""
        self._database = database

    @classmethod
    def open(cls, address: StoreAddress) -> Self:
        """Open the store, or create it if it is missing. Raises StoreError on failure."""
        return cls(open_database(address, SCHEMA).open())

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def breakpoints(self) -> tuple[list[Breakpoint], int]:
        """All breakpoints, the oldest first, and the number of unreadable rows."""
        rows = self._read("SELECT data FROM breakpoints ORDER BY id")
        found = list(_valid(Breakpoint, rows))
        return found, len(rows) - len(found)

    def save(self, breakpoint_: Breakpoint) -> None:
        """Store a breakpoint. It replaces a stored breakpoint with the same id."""
        data = json.dumps(asdict(breakpoint_))
        self._write(
            "INSERT INTO breakpoints VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET"
            " data = excluded.data",
            breakpoint_.id,
            data,
        )

    def delete(self, breakpoint_id: str) -> None:
        self._write("DELETE FROM breakpoints WHERE id = ?", breakpoint_id)

    def held_states(self) -> dict[str, HeldState]:
        """The states of the newest held calls by id, the newest first."""
        rows = self._read(f"SELECT id, state FROM held ORDER BY id DESC LIMIT {KEPT}")  # noqa: S608  (a constant)
        known = {state.value: state for state in HeldState}
        return {held_id: known[state] for held_id, state in rows if state in known}

    def held(self, ids: Collection[str]) -> list[Held]:
        """The readable held calls with these ids, at most `KEPT` of them."""
        places = ", ".join("?" * len(ids))
        return list(_valid(Held, self._read(f"SELECT data FROM held WHERE id IN ({places})", *ids)))  # noqa: S608  (placeholders)

    def save_held(self, held: Held) -> None:
        """Store the current state of a held call, unless the stored call no longer waits."""
        data = json.dumps(asdict(held))
        self._write(
            "INSERT INTO held VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " state = excluded.state, data = excluded.data WHERE held.state = 'waiting'",
            held.id,
            held.state.value,
            data,
        )

    @property
    def is_shared(self) -> bool:
        """Whether servers on other machines may use the same store."""
        return bool(self._database.machine)

    def lose_waiting(self, now_us: int) -> None:
        """Mark the waiting calls as lost, since no client waits for them after a restart.

        If several servers share the store, another server may still hold a call whose time limit
        has not passed. Such a call stays as it is. All but the newest held calls are deleted.
        """
        rows = self._read("SELECT data FROM held WHERE state = 'waiting'")
        for held in _valid(Held, rows):
            if self.is_shared and held.expires_us > now_us:
                continue
            self.save_held(replace(held, state=HeldState.LOST, decided_us=now_us))
        self._write(
            "DELETE FROM held WHERE id NOT IN (SELECT id FROM held ORDER BY id DESC LIMIT ?)", KEPT
        )

    def _read(self, statement: str, *values: object) -> list[Any]:
        with self._database.use() as connection:
            return connection.execute(statement, values).fetchall()

    def _write(self, statement: str, *values: object) -> None:
        with self._database.transaction() as connection:
            connection.execute(statement, values)


def _valid(kind: type[T], rows: Iterable[tuple[object]]) -> Iterator[T]:
    """Yield the values of readable rows, and skip damaged rows."""
    adapter = TypeAdapter(kind)
    for (data,) in rows:
        with suppress(ValueError, RecursionError):
            values = json.loads(data) if isinstance(data, str) else None
            # Earlier versions of Treadle stored lone surrogates. They cannot be sent as UTF-8, so
            # they are replaced.
            text = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")
            yield adapter.validate_json(text)
