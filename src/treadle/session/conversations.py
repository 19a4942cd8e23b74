"""Saved conversations in one SQLite file: written as they happen, found by id, prefix or "last"."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.databases import transaction
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.events.types import StopReason
from treadle.ids import IdSource, new_id
from treadle.session.conversation import Conversation, Entry, MessageState, open_calls
from treadle.session.conversation_file import connect
from treadle.session.message_json import decode, encode

T = TypeVar("T")

LAST = "last"
"""The reference of the conversation that was changed last."""

_COLUMNS = "position, parent, kind, body, at_us, state, stop_reason, request_id"


class Kind(StrEnum):
    """Whose conversations are meant: lists and references of the one never meet the other's."""

    ASSISTANT = "assistant"
    AGENT = "agent"

    @property
    def condition(self) -> str:
        """The same in SQL."""
        return "agent IS NULL" if self is Kind.ASSISTANT else "agent IS NOT NULL"

    @property
    def command(self) -> str:
        """The command that begins one."""
        return "treadle ask" if self is Kind.ASSISTANT else "treadle agent"

    @property
    def listing(self) -> str:
        """The command that lists them."""
        listed = "treadle sessions list", "treadle agent --conversations"
        return listed[self is Kind.AGENT]


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
    agent: str | None = None


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

    async def create(self, root: Path, model: str, *, agent: str | None = None) -> Conversation:
        """A new, empty conversation about the repository at `root`, with that agent if one."""
        now = self._clock.now_us()
        conversation = Conversation(self._ids(), _storable(root), model, now, now, agent=agent)
        await self._run(lambda: self._insert(conversation))
        return conversation

    async def append(self, conversation: Conversation, first: int) -> None:
        """Save the entries from place `first` on, all or none, as the end of the branch in use."""
        await self._run(lambda: self._append(conversation, first))

    async def update(self, conversation: Conversation, entry: Entry) -> None:
        """Save what has changed in an entry: its message, its state, how its turn ended."""
        await self._run(lambda: self._update(conversation, entry))

    async def remove(self, conversation: Conversation, entry: Entry) -> None:
        """Take out an entry that nothing follows; the branch then ends at its parent."""
        await self._run(lambda: self._remove(conversation, entry))

    async def rename(
        self, reference: str, title: str, *, root: Path, kind: Kind = Kind.ASSISTANT
    ) -> ConversationSummary:
        """Give a conversation another title. Raises what `get` raises."""
        return await self._run(lambda: self._rename(reference, _storable(root), title, kind))

    async def branch(self, reference: str, at: int, *, root: Path) -> Conversation:
        """Go on from message `at` of a conversation; what came after it stays as another branch.

        Raises what `load` raises.
        """
        return await self._run(lambda: self._branch(reference, _storable(root), at))

    async def delete(
        self, reference: str, *, root: Path, kind: Kind = Kind.ASSISTANT
    ) -> ConversationSummary:
        """Take out a conversation with all its branches, for good. Raises what `get` raises."""
        return await self._run(lambda: self._delete(reference, _storable(root), kind))

    async def list(
        self, *, root: Path | None = None, limit: int = 50, kind: Kind = Kind.ASSISTANT
    ) -> tuple[ConversationSummary, ...]:
        """Conversations, changed last first; of one repository when `root` is given."""
        where, values = ("root = ?", (_storable(root),)) if root else ("1", ())
        return await self._run(lambda: self._summaries(where, values, limit, kind))

    async def get(
        self, reference: str, *, root: Path, kind: Kind = Kind.ASSISTANT
    ) -> ConversationSummary:
        """The conversation with that id or unique beginning of an id, or "last" of `root`.

        Raises `NotFoundError` when there is none, `UsageError` when several begin so.
        """
        return await self._run(lambda: self._find(reference, _storable(root), kind))

    async def load(
        self,
        reference: str,
        *,
        root: Path,
        at: int | None = None,
        kind: Kind = Kind.ASSISTANT,
    ) -> Conversation:
        """Like `get`, with the messages of the branch in use, or of the one that ends at `at`.

        Raises `NotFoundError` when there is no message `at`, `UsageError` when it stands between a
        call and its result.
        """
        return await self._run(lambda: self._load(self._find(reference, _storable(root), kind), at))

    async def tree(self, conversation: Conversation) -> tuple[Entry, ...]:
        """The messages of all branches, in the order in which they came."""
        return await self._run(lambda: self._tree(conversation.id))

    async def _run(self, work: Callable[[], T]) -> T:
        def guarded() -> T:
            try:
                return work()
            except (sqlite3.Error, OSError) as error:
                raise StoreError(
                    f"The conversations in {self._path} cannot be read or written: {error}.",
                    hint="Check the file, its permissions and the free space. If you move the file "
                    "away, Treadle creates a new one.",
                ) from error

        # Shielded: cancelling the caller must not take the work out of the thread's queue.
        return await asyncio.shield(
            asyncio.get_running_loop().run_in_executor(self._thread, guarded)
        )

    # What follows runs in the thread.

    def _connect(self) -> None:
        self._connection = connect(self._path)

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        self._connection.execute(statement, values)

    def _insert(self, conversation: Conversation) -> None:
        self._write(
            "INSERT INTO conversations (id, root, model, title, created_us, updated_us, agent)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                str(conversation.id),
                conversation.root,
                conversation.model,
                conversation.title,
                conversation.created_us,
                conversation.updated_us,
                conversation.agent,
            ),
        )

    def _append(self, conversation: Conversation, first: int) -> None:
        key = str(conversation.id)
        rows = [(key, *_row(entry)) for entry in conversation.entries[first:]]
        try:
            with transaction(self._connection) as connection:
                connection.executemany(
                    f"INSERT INTO messages (conversation_id, {_COLUMNS})"  # noqa: S608  (a constant)
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    rows,
                )
                connection.execute(
                    # A title that was given meanwhile stays.
                    "UPDATE conversations SET title = iif(title = '', ?, title), model = ?,"
                    " updated_us = ?, head = ? WHERE id = ?",
                    (
                        _text(conversation.title),
                        conversation.model,
                        conversation.updated_us,
                        conversation.entries[-1].number,
                        key,
                    ),
                )
        except sqlite3.IntegrityError as error:
            raise StoreError(
                f"Another process continued or deleted the conversation {key} at the same time.",
                hint="Resume it again to see all messages, or start a new one.",
            ) from error

    def _update(self, conversation: Conversation, entry: Entry) -> None:
        kind, body = encode(entry.message)
        self._write(
            "UPDATE messages SET kind = ?, body = ?, state = ?, stop_reason = ?"
            " WHERE conversation_id = ? AND position = ?",
            (kind, body, entry.state, entry.stop_reason, str(conversation.id), entry.number),
        )

    def _remove(self, conversation: Conversation, entry: Entry) -> None:
        key = str(conversation.id)
        with transaction(self._connection) as connection:
            connection.execute(
                "DELETE FROM messages WHERE conversation_id = ? AND position = ?",
                (key, entry.number),
            )
            connection.execute(
                "UPDATE conversations SET head = ? WHERE id = ? AND head = ?",
                (entry.parent, key, entry.number),
            )

    def _rename(self, reference: str, root: str, title: str, kind: Kind) -> ConversationSummary:
        found = self._find(reference, root, kind)
        self._write(
            "UPDATE conversations SET title = ? WHERE id = ?", (_text(title), str(found.id))
        )
        return found

    def _branch(self, reference: str, root: str, at: int) -> Conversation:
        conversation = self._load(self._find(reference, root, Kind.ASSISTANT), at)
        self._write(
            "UPDATE conversations SET head = ?, updated_us = ? WHERE id = ?",
            (at, self._clock.now_us(), str(conversation.id)),
        )
        return conversation

    def _delete(self, reference: str, root: str, kind: Kind) -> ConversationSummary:
        found = self._find(reference, root, kind)
        self._write("DELETE FROM conversations WHERE id = ?", (str(found.id),))
        return found

    def _summaries(
        self, where: str, values: tuple[object, ...], limit: int, kind: Kind
    ) -> tuple[ConversationSummary, ...]:
        rows = self._connection.execute(
            # `where` is one of the constants in this module; all values are bound.
            f"""SELECT id, root, model, title, created_us, updated_us,
                   (SELECT count(*) FROM messages
                    WHERE conversation_id = id AND kind = 'user'),
                   (SELECT stop_reason FROM messages
                    WHERE conversation_id = id AND kind = 'user' ORDER BY position DESC LIMIT 1),
                   agent
            FROM conversations WHERE {where} AND {kind.condition}
            ORDER BY updated_us DESC, id DESC LIMIT ?""",  # noqa: S608
            (*values, limit),
        ).fetchall()
        return tuple(
            ConversationSummary(
                UUID(key), root, model, title, created, updated, turns, _stop_reason(reason), agent
            )
            for key, root, model, title, created, updated, turns, reason, agent in rows
        )

    def _find(self, reference: str, root: str, kind: Kind) -> ConversationSummary:
        if reference.strip().lower() == LAST:
            found = self._summaries("root = ?", (root,), 1, kind)
            if not found:
                raise NotFoundError(
                    f"There is no conversation about {root}.",
                    hint=f'Start one with {kind.command} "…".',
                )
            return found[0]
        # With or without its dashes: lists show the beginning without them.
        prefix = reference.strip().lower().replace("-", "")
        found = self._summaries(
            "? <> '' AND substr(replace(id, '-', ''), 1, length(?)) = ?",
            (prefix, prefix, prefix),
            6,
            kind,
        )
        if not found:
            raise NotFoundError(
                f"There is no conversation {reference!r}.",
                hint=f"List their ids with {kind.listing}.",
            )
        if len(found) > 1:
            some = ", ".join(str(summary.id) for summary in found[:5])
            more = ", …" if len(found) > 5 else ""
            raise UsageError(
                f"Several conversations begin with {reference!r}: {some}{more}.",
                hint="Give more characters of the id.",
            )
        return found[0]

    def _load(self, summary: ConversationSummary, at: int | None) -> Conversation:
        with transaction(self._connection) as connection:  # head and messages of one moment
            (head,) = connection.execute(
                "SELECT head FROM conversations WHERE id = ?", (str(summary.id),)
            ).fetchone()
            by_number = {entry.number: entry for entry in self._tree(summary.id)}
        if at is not None and at not in by_number:
            raise NotFoundError(
                f"The conversation {summary.id} has no message {at}.",
                hint=f"`treadle sessions show {summary.id}` shows the numbers of its messages.",
            )
        entries: list[Entry] = []
        number = head if at is None else at
        while (number := _present(by_number, number)) is not None:
            entries.append(by_number[number])
            number = by_number[number].parent
        entries.reverse()
        if at is not None and open_calls(entries):
            raise UsageError(
                f"Message {at} is between a tool call and its result.",
                hint="Continue from the last result of that reply, or from an earlier message.",
            )
        return Conversation(
            summary.id,
            summary.root,
            summary.model,
            summary.created_us,
            summary.updated_us,
            summary.title,
            entries,
            max(by_number, default=-1) + 1,
            summary.agent,
        )

    def _tree(self, identity: UUID) -> tuple[Entry, ...]:
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM messages"  # noqa: S608  (a constant)
            " WHERE conversation_id = ? ORDER BY position",
            (str(identity),),
        )
        return tuple(
            Entry(
                decode(kind, body),
                at_us,
                number,
                parent,
                MessageState(state),
                _stop_reason(reason),
                UUID(request) if request else None,
            )
            for number, parent, kind, body, at_us, state, reason, request in rows
        )


def _present(numbers: Collection[int], number: int | None) -> int | None:
    """`number`; where its message was lost, the last one before it, so that the rest is kept."""
    if number is None or number in numbers:
        return number
    return max((each for each in numbers if each < number), default=None)


def _row(entry: Entry) -> tuple[object, ...]:
    kind, body = encode(entry.message)
    request = None if entry.request_id is None else str(entry.request_id)
    place = entry.number, entry.parent
    return *place, kind, body, entry.at_us, entry.state, entry.stop_reason, request


def _storable(root: Path) -> str:
    return _text(os.fspath(root.resolve()))


def _text(text: str) -> str:
    """`text` with what SQLite cannot hold (lone surrogates) written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _stop_reason(value: str | None) -> StopReason | None:
    return StopReason(value) if value else None
