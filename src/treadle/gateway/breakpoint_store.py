"""The file with the breakpoints, and with what was held at them. Only texts without secrets."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import TypeAdapter

from treadle.database import Database, Schema

T = TypeVar("T")

_KEPT = 500
"""Held calls that are remembered after they were decided."""

_MIGRATIONS = (
    """CREATE TABLE breakpoints (id TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE held (id TEXT PRIMARY KEY, state TEXT NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX held_by_state ON held (state)""",
)
SCHEMA = Schema.of_migrations("breakpoints", _MIGRATIONS)

OnExpiry = Literal["continue", "refuse"]


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Which calls are held: those that fit all that it names; with nothing named, all."""

    id: str
    labels: tuple[str, ...] = ()
    """Of which the call has one, with `*` and `?`."""
    thread_id: str | None = None
    model: str | None = None
    """As the client names it, with `*` and `?`."""
    enabled: bool = True
    timeout: float | None = None
    """Seconds; None takes the one of the settings."""
    on_expiry: OnExpiry | None = None


class HeldState(StrEnum):
    """What became of a held call."""

    WAITING = "waiting"
    CONTINUED = "continued"
    EDITED = "edited"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    """Its client left."""
    EXPIRED = "expired"
    """Its time was up, and it was decided as the settings say."""
    LOST = "lost"
    """The server ended while it waited."""


@dataclass(frozen=True, slots=True)
class Held:
    """A call that was held. `body` is what it was about to send; times are Unix microseconds."""

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
    """Breakpoints and held calls on disk. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        """Use `open`."""
        self._database = database

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file, which is created if necessary. Raises StoreError."""
        return cls(Database(path, SCHEMA).open())

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def breakpoints(self) -> tuple[list[Breakpoint], int]:
        """All of them, the oldest first, and how many rows cannot be read."""
        rows = self._read("SELECT data FROM breakpoints ORDER BY id")
        found = list(_valid(Breakpoint, rows))
        return found, len(rows) - len(found)

    def save(self, breakpoint_: Breakpoint) -> None:
        """Keep a breakpoint, in the place of the one with its id."""
        data = json.dumps(asdict(breakpoint_))
        self._write("REPLACE INTO breakpoints VALUES (?, ?)", breakpoint_.id, data)

    def delete(self, breakpoint_id: str) -> None:
        self._write("DELETE FROM breakpoints WHERE id = ?", breakpoint_id)

    def held(self) -> list[Held]:
        """All that are remembered and can be read, the newest first."""
        return list(_valid(Held, self._read("SELECT data FROM held ORDER BY id DESC")))

    def save_held(self, held: Held) -> None:
        """Keep a held call as it is now."""
        data = json.dumps(asdict(held))
        self._write("REPLACE INTO held VALUES (?, ?, ?)", held.id, held.state.value, data)

    def lose_waiting(self, now_us: int) -> None:
        """Note of those that still wait that nobody can answer them any more."""
        rows = self._read("SELECT data FROM held WHERE state = 'waiting'")
        for held in _valid(Held, rows):
            self.save_held(replace(held, state=HeldState.LOST, decided_us=now_us))
        self._write(
            "DELETE FROM held WHERE id NOT IN (SELECT id FROM held ORDER BY id DESC LIMIT ?)", _KEPT
        )

    def _read(self, statement: str) -> list[Any]:
        with self._database.use() as connection:
            return connection.execute(statement).fetchall()

    def _write(self, statement: str, *values: object) -> None:
        with self._database.transaction() as connection:
            connection.execute(statement, values)


def _valid(kind: type[T], rows: Iterable[tuple[object]]) -> Iterator[T]:
    """What the rows hold that can be read: one bad row does not hide the others."""
    adapter = TypeAdapter(kind)
    for (data,) in rows:
        with suppress(ValueError, RecursionError):
            values = json.loads(data) if isinstance(data, str) else None
            # An earlier version kept half surrogate pairs, which no answer can hold.
            text = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")
            yield adapter.validate_json(text)
