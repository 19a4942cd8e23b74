"""Saved conversations in one SQLite file: written as they happen, found by id, prefix or "last"."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.events.types import StopReason
from treadle.ids import IdSource, new_id
from treadle.session.conversation import Conversation, Entry
from treadle.session.message_json import decode, encode

T = TypeVar("T")

LAST = "last"
"""The reference of the conversation that was changed last."""

_BUSY_SECONDS = 10.0
"""How long a statement waits for another process."""

_MIGRATIONS = (
    """
    CREATE TABLE conversations (
        id TEXT PRIMARY KEY,
        root TEXT NOT NULL,
        model TEXT NOT NULL,
        title TEXT NOT NULL,
        created_us INTEGER NOT NULL,
        updated_us INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX conversations_by_root ON conversations (root, updated_us);
    CREATE TABLE messages (
        conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        stop_reason TEXT,
        PRIMARY KEY (conversation_id, position)
    ) STRICT, WITHOUT ROWID;
    """,
)
"""Migration n brings a file from `user_version` n to n + 1. Never edited, only added to."""


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation in a list. `turns` counts user messages; times are Unix microseconds.

    `stop_reason` is that of the last turn; None when it runs or was killed, or there is none.
    """

    id: UUID
    root: str
    model: str
    title: str
    created_us: int
    updated_us: int
    turns: int
    stop_reason: StopReason | None


class ConversationStore:
    """All conversations of a person. One thread owns the connection; the loop never waits on it.

    What was handed to the thread is written even when the caller is cancelled meanwhile. Errors of
    the file are `StoreError`.
    """

    def __init__(self, path: Path, clock: Clock, ids: IdSource) -> None:
        """Use `open`."""
        self._path = path
        self._clock = clock
        self._ids = ids
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="conversations")
        self._connection: sqlite3.Connection

    @classmethod
    async def open(cls, path: Path, *, clock: Clock | None = None, ids: IdSource = new_id) -> Self:
        """Open or make the file at `path` and bring it to the present shape."""
        store = cls(path, clock or SystemClock(), ids)
        try:
            await store._run(store._connect)
        except BaseException:
            store._thread.shutdown(wait=False)
            raise
        return store

    async def close(self) -> None:
        """Write what waits and close the file."""
        await self._run(self._connection.close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def create(self, root: Path, model: str) -> Conversation:
        """A new, empty conversation about the repository at `root`."""
        now = self._clock.now_us()
        conversation = Conversation(self._ids(), _storable(root), model, now, now)
        await self._run(lambda: self._insert(conversation))
        return conversation

    async def append(self, conversation: Conversation, first: int) -> None:
        """Save the entries from place `first` on, all or none."""
        await self._run(lambda: self._append(conversation, first))

    async def end_turn(self, conversation: Conversation, place: int) -> None:
        """Save the stop reason of the user message at `place`."""
        reason = conversation.entries[place].stop_reason
        statement = "UPDATE messages SET stop_reason = ? WHERE conversation_id = ? AND position = ?"
        await self._run(lambda: self._write(statement, (reason, str(conversation.id), place)))

    async def list(
        self, *, root: Path | None = None, limit: int = 50
    ) -> tuple[ConversationSummary, ...]:
        """Conversations, changed last first; of one repository when `root` is given."""
        where, values = ("WHERE root = ?", (_storable(root),)) if root else ("", ())
        return await self._run(lambda: self._summaries(where, values, limit))

    async def get(self, reference: str, *, root: Path) -> ConversationSummary:
        """The conversation with that id or unique beginning of an id, or "last" of `root`.

        Raises `NotFoundError` when there is none, `UsageError` when several begin so.
        """
        return await self._run(lambda: self._find(reference, _storable(root)))

    async def load(self, reference: str, *, root: Path) -> Conversation:
        """Like `get`, with all messages, to go on with or to show."""
        return await self._run(lambda: self._load(self._find(reference, _storable(root))))

    async def _run(self, work: Callable[[], T]) -> T:
        def guarded() -> T:
            try:
                return work()
            except (sqlite3.Error, OSError) as error:
                raise StoreError(
                    f"The conversations in {self._path} cannot be read or written: {error}.",
                    hint="Check the file, its permissions and the free space; "
                    "moved away, it is made anew.",
                ) from error

        # Shielded: cancelling the caller must not take the work out of the thread's queue.
        return await asyncio.shield(
            asyncio.get_running_loop().run_in_executor(self._thread, guarded)
        )

    # What follows runs in the thread.

    def _connect(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.touch(mode=0o600)
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > len(_MIGRATIONS):
            raise StoreError(
                f"The conversations in {self._path} were written by a newer version of Treadle.",
                hint="Update Treadle, or set TREADLE_HOME to another folder.",
            )
        for number in range(version, len(_MIGRATIONS)):
            # The version is read again under the lock: another process may have been quicker.
            with _transaction(connection):
                if connection.execute("PRAGMA user_version").fetchone() == (number,):
                    for statement in filter(str.strip, _MIGRATIONS[number].split(";")):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {number + 1}")

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        self._connection.execute(statement, values)

    def _insert(self, conversation: Conversation) -> None:
        self._write(
            "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?)",
            (
                str(conversation.id),
                conversation.root,
                conversation.model,
                conversation.title,
                conversation.created_us,
                conversation.updated_us,
            ),
        )

    def _append(self, conversation: Conversation, first: int) -> None:
        key = str(conversation.id)
        rows = [
            (key, place, *encode(entry.message), entry.at_us, entry.stop_reason)
            for place, entry in enumerate(conversation.entries[first:], first)
        ]
        try:
            with _transaction(self._connection) as connection:
                connection.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", rows)
                connection.execute(
                    "UPDATE conversations SET title = ?, model = ?, updated_us = ? WHERE id = ?",
                    (_text(conversation.title), conversation.model, conversation.updated_us, key),
                )
        except sqlite3.IntegrityError as error:
            raise StoreError(
                f"The conversation {key} was continued elsewhere at the same time.",
                hint="Resume it again to see all of it, or begin a new one.",
            ) from error

    def _summaries(
        self, where: str, values: tuple[object, ...], limit: int
    ) -> tuple[ConversationSummary, ...]:
        rows = self._connection.execute(
            # `where` is one of the constants in this module; all values are bound.
            f"""SELECT id, root, model, title, created_us, updated_us,
                   (SELECT count(*) FROM messages
                    WHERE conversation_id = id AND kind = 'user'),
                   (SELECT stop_reason FROM messages
                    WHERE conversation_id = id AND kind = 'user' ORDER BY position DESC LIMIT 1)
            FROM conversations {where} ORDER BY updated_us DESC, id DESC LIMIT ?""",  # noqa: S608
            (*values, limit),
        ).fetchall()
        return tuple(
            ConversationSummary(
                UUID(key), root, model, title, created, updated, turns, _stop_reason(reason)
            )
            for key, root, model, title, created, updated, turns, reason in rows
        )

    def _find(self, reference: str, root: str) -> ConversationSummary:
        if reference.strip().lower() == LAST:
            found = self._summaries("WHERE root = ?", (root,), 1)
            if not found:
                raise NotFoundError(
                    f"There is no conversation about {root} yet.",
                    hint='Begin one with treadle ask "…".',
                )
            return found[0]
        # With or without its dashes: lists show the beginning without them.
        prefix = reference.strip().lower().replace("-", "")
        found = self._summaries(
            "WHERE ? <> '' AND substr(replace(id, '-', ''), 1, length(?)) = ?",
            (prefix, prefix, prefix),
            6,
        )
        if not found:
            raise NotFoundError(
                f"There is no conversation {reference!r}.",
                hint="See treadle sessions list for their ids.",
            )
        if len(found) > 1:
            some = ", ".join(str(summary.id) for summary in found[:5])
            more = ", …" if len(found) > 5 else ""
            raise UsageError(
                f"Several conversations begin with {reference!r}: {some}{more}.",
                hint="Give more characters of the id.",
            )
        return found[0]

    def _load(self, summary: ConversationSummary) -> Conversation:
        rows = self._connection.execute(
            "SELECT kind, body, at_us, stop_reason FROM messages"
            " WHERE conversation_id = ? ORDER BY position",
            (str(summary.id),),
        )
        entries = [
            Entry(decode(kind, body), at_us, _stop_reason(reason))
            for kind, body, at_us, reason in rows
        ]
        return Conversation(
            summary.id,
            summary.root,
            summary.model,
            summary.created_us,
            summary.updated_us,
            summary.title,
            entries,
        )


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All or nothing. The lock is taken at once, so that waiting for it can time out cleanly."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends some failed ones itself
            connection.execute("ROLLBACK")
        raise


def _storable(root: Path) -> str:
    return _text(os.fspath(root.resolve()))


def _text(text: str) -> str:
    """`text` with what SQLite cannot hold (lone surrogates) written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _stop_reason(value: str | None) -> StopReason | None:
    return StopReason(value) if value else None
