"""Saves conversations in one SQLite file.

They are found by id, by prefix of an id, or as "last".
"""

import os
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.database import (
    FAST,
    Connection,
    Database,
    Schema,
    StoreAddress,
    ids_with_prefix,
    open_database,
    storable_text,
    transaction,
)
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.events.types import Mode, StopReason
from treadle.ids import IdSource, is_last, new_id, resolve_prefix
from treadle.json_values import JsonField
from treadle.session.agent_questions import MIGRATION as AGENT_QUESTIONS
from treadle.session.agent_questions import AgentQuestionStore
from treadle.session.context_choices import ContextChoices
from treadle.session.conversation import Conversation, Entry, MessageState, open_calls
from treadle.session.message_json import decode, encode
from treadle.session.rewinds import MIGRATION as REWINDS
from treadle.session.rewinds import RewindStore

MIGRATIONS = (
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
    # The messages form a tree. `position` is the number of a message, and `head` is the end of the
    # current branch.
    """
    ALTER TABLE messages ADD COLUMN parent INTEGER;
    ALTER TABLE messages ADD COLUMN state TEXT NOT NULL DEFAULT 'completed';
    UPDATE messages SET parent = position - 1 WHERE position > 0;
    ALTER TABLE conversations ADD COLUMN head INTEGER;
    UPDATE conversations SET head =
        (SELECT max(position) FROM messages WHERE conversation_id = conversations.id);
    """,
    # `agent` is the agent of the conversation, or null for the assistant. `about` is the page on
    # which the person asked the last question.
    """
    ALTER TABLE conversations ADD COLUMN agent TEXT;
    ALTER TABLE conversations ADD COLUMN about TEXT NOT NULL DEFAULT '';
    ALTER TABLE messages ADD COLUMN request_id TEXT;
    """,
    REWINDS,
    # `choices` is the JSON text of `ContextChoices`. It is empty if a person chose nothing.
    """
    ALTER TABLE conversations ADD COLUMN choices TEXT NOT NULL DEFAULT '';
    """,
    AGENT_QUESTIONS,
    # `mode` is a value of `Mode`.
    """
    ALTER TABLE conversations ADD COLUMN mode TEXT NOT NULL DEFAULT 'normal';
    """,
)
"""Migration n upgrades a file from version n to n + 1. A released migration is never changed."""

SCHEMA = Schema.of_migrations("conversations", MIGRATIONS, pragmas=FAST)

_COLUMNS = "position, parent, kind, body, at_us, state, stop_reason, request_id"


class Kind(StrEnum):
    """The kind of a conversation.

    A list or a reference for one kind never includes a conversation of the other kind.
    """

    ASSISTANT = "assistant"
    AGENT = "agent"

    @property
    def condition(self) -> str:
        """The SQL condition that selects this kind."""
        return "agent IS NULL" if self is Kind.ASSISTANT else "agent IS NOT NULL"

    @property
    def command(self) -> str:
        """The command that begins a conversation of this kind."""
        return "treadle ask" if self is Kind.ASSISTANT else "treadle agent"

    @property
    def listing(self) -> str:
        """The command that lists the conversations of this kind."""
        listed = "treadle sessions list", "treadle agent --conversations"
        return listed[self is Kind.AGENT]


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation in a list. `turns` counts user messages. Times are Unix microseconds.

    `branches` is the number of branches, which is the number of messages without a message after
    them. `stop_reason` is the reason why the last run ended. It is None while that run lasts, if
    its process was killed, or if the conversation has no run.
    """

    id: UUID
    root: str
    model: str
    title: str
    created_us: int
    updated_us: int
    turns: int
    branches: int
    stop_reason: StopReason | None
    agent: Annotated[str | None, JsonField(omit=True)] = None


class ConversationStore:
    """All conversations of a person.

    A worker thread uses the file, so the event loop never waits. The work of a method is completed
    even if its caller is cancelled. Methods raise StoreError if the file cannot be used.
    """

    def __init__(self, database: Database, clock: Clock, ids: IdSource) -> None:
        """Create a store for a database. Use `open` instead."""
        self._database = database
        self._clock = clock
        self._ids = ids
        self.rewinds = RewindStore(database, clock)
        self.agent_questions = AgentQuestionStore(database)

    @classmethod
    async def open(
        cls, address: StoreAddress, *, clock: Clock | None = None, ids: IdSource = new_id
    ) -> Self:
        """Open the store at `address`, and create or upgrade it if necessary."""
        database = open_database(address, SCHEMA)
        try:
            await database.run(lambda _: None)
        except BaseException:
            await database.aclose()
            raise
        return cls(database, clock or SystemClock(), ids)

    async def close(self) -> None:
        """Complete the waiting work and close the file."""
        await self._database.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def create(
        self, root: Path, model: str, *, agent: str | None = None, mode: Mode = Mode.NORMAL
    ) -> Conversation:
        """Create a conversation about the repository at `root`.

        The agent of the conversation is `agent`, or the assistant if `agent` is None.
        """
        now = self._clock.now_us()
        conversation = Conversation(
            self._ids(), _storable(root), model, now, now, agent=agent, mode=mode
        )
        await self._database.run(lambda db: self._insert(db, conversation))
        return conversation

    async def append(self, conversation: Conversation, first: int) -> None:
        """Save the entries from position `first` to the end of the branch, in one transaction."""
        await self._database.run(lambda db: self._append(db, conversation, first))

    async def update(self, conversation: Conversation, entry: Entry) -> None:
        """Save the changes of an entry: its message, its state and its stop reason."""
        await self._database.run(lambda db: self._update(db, conversation, entry))

    async def remove(self, conversation: Conversation, entry: Entry) -> None:
        """Remove the last entry. The branch then ends at the parent of that entry."""
        await self._database.run(lambda db: self._remove(db, conversation, entry))

    async def rename(
        self, reference: str, title: str, *, root: Path, kind: Kind = Kind.ASSISTANT
    ) -> ConversationSummary:
        """Change the title of a conversation. Raises the same errors as `get`."""
        return await self._database.run(
            lambda db: self._rename(db, reference, _storable(root), title, kind)
        )

    async def choose(self, conversation: Conversation, choices: ContextChoices) -> None:
        """Save a person's choices for the prompts of a conversation.

        They apply to later prompts.
        """
        await self._database.run(lambda db: self._choose(db, conversation, choices))
        conversation.choices = choices

    async def set_mode(self, conversation_id: UUID, mode: Mode) -> None:
        """Change the mode of a conversation."""
        await self._database.run(lambda db: self._set_mode(db, conversation_id, mode))

    async def mode(self, conversation_id: UUID) -> Mode | None:
        """Return the present mode of a conversation, or None if the conversation was deleted."""
        return await self._database.run(lambda db: self._mode(db, conversation_id))

    async def branch(self, reference: str, at: int, *, root: Path) -> Conversation:
        """Resume a conversation after message `at`. The later messages stay in another branch.

        Raises the same errors as `load`.
        """
        return await self._database.run(lambda db: self._branch(db, reference, _storable(root), at))

    async def delete(
        self, reference: str, *, root: Path, kind: Kind = Kind.ASSISTANT
    ) -> ConversationSummary:
        """Delete a conversation with all its branches. Raises the same errors as `get`."""
        return await self._database.run(
            lambda db: self._delete(db, reference, _storable(root), kind)
        )

    async def list(
        self, *, root: Path | None = None, limit: int = 50, kind: Kind = Kind.ASSISTANT
    ) -> tuple[ConversationSummary, ...]:
        """List conversations, the most recently changed first.

        `root` selects the conversations of one repository.
        """
        where, values = ("root = ?", (_storable(root),)) if root else ("TRUE", ())
        return await self._database.run(lambda db: self._summaries(db, where, values, limit, kind))

    async def get(
        self, reference: str, *, root: Path, kind: Kind = Kind.ASSISTANT
    ) -> ConversationSummary:
        """Find a conversation by its id, by a unique prefix of the id, or as the "last" of `root`.

        Raises `NotFoundError` if nothing matches, and `UsageError` if several conversations match.
        """
        return await self._database.run(lambda db: self._find(db, reference, _storable(root), kind))

    async def load(
        self,
        reference: str,
        *,
        root: Path,
        at: int | None = None,
        kind: Kind = Kind.ASSISTANT,
    ) -> Conversation:
        """Find a conversation as `get` does, and load a branch of it.

        This is the current branch, or the branch that ends at message `at`. Raises the same errors
        as `get`. Also raises `NotFoundError` if message `at` does not exist, and `UsageError` if
        the branch would end before the results of the calls in its last reply.
        """
        return await self._database.run(
            lambda db: self._load(db, self._find(db, reference, _storable(root), kind), at)
        )

    async def tree(self, conversation_id: UUID) -> tuple[Entry, ...]:
        """Return the messages of all branches, in the order in which they were added."""
        return await self._database.run(lambda db: self._tree(db, conversation_id))

    # The methods below run in the worker thread.

    def _insert(self, db: Connection, conversation: Conversation) -> None:
        db.execute(
            "INSERT INTO conversations"
            " (id, root, model, title, created_us, updated_us, agent, mode)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                str(conversation.id),
                conversation.root,
                conversation.model,
                conversation.title,
                conversation.created_us,
                conversation.updated_us,
                conversation.agent,
                conversation.mode,
            ),
        )

    def _append(self, db: Connection, conversation: Conversation, first: int) -> None:
        key = str(conversation.id)
        rows = [(key, *_row(entry)) for entry in conversation.entries[first:]]
        try:
            with transaction(db):
                db.executemany(
                    f"INSERT INTO messages (conversation_id, {_COLUMNS})"  # noqa: S608  (constant)
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    rows,
                )
                db.execute(
                    # A title that another process has set is kept.
                    "UPDATE conversations SET title = iif(title = '', ?, title), model = ?,"
                    " updated_us = ?, head = ? WHERE id = ?",
                    (
                        storable_text(conversation.title),
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

    def _update(self, db: Connection, conversation: Conversation, entry: Entry) -> None:
        kind, body = encode(entry.message)
        db.execute(
            "UPDATE messages SET kind = ?, body = ?, state = ?, stop_reason = ?"
            " WHERE conversation_id = ? AND position = ?",
            (kind, body, entry.state, entry.stop_reason, str(conversation.id), entry.number),
        )

    def _remove(self, db: Connection, conversation: Conversation, entry: Entry) -> None:
        key = str(conversation.id)
        with transaction(db):
            db.execute(
                "DELETE FROM messages WHERE conversation_id = ? AND position = ?",
                (key, entry.number),
            )
            db.execute(
                "UPDATE conversations SET head = ? WHERE id = ? AND head = ?",
                (entry.parent, key, entry.number),
            )

    def _rename(
        self, db: Connection, reference: str, root: str, title: str, kind: Kind
    ) -> ConversationSummary:
        found = self._find(db, reference, root, kind)
        db.execute(
            "UPDATE conversations SET title = ? WHERE id = ?", (storable_text(title), str(found.id))
        )
        return found

    def _choose(self, db: Connection, conversation: Conversation, choices: ContextChoices) -> None:
        db.execute(
            "UPDATE conversations SET choices = ? WHERE id = ?",
            (choices.encode(), str(conversation.id)),
        )

    def _set_mode(self, db: Connection, identity: UUID, mode: Mode) -> None:
        db.execute("UPDATE conversations SET mode = ? WHERE id = ?", (mode, str(identity)))

    def _mode(self, db: Connection, identity: UUID) -> Mode | None:
        row = db.execute("SELECT mode FROM conversations WHERE id = ?", (str(identity),)).fetchone()
        return None if row is None else Mode(row[0])

    def _branch(self, db: Connection, reference: str, root: str, at: int) -> Conversation:
        conversation = self._load(db, self._find(db, reference, root, Kind.ASSISTANT), at)
        db.execute(
            "UPDATE conversations SET head = ?, updated_us = ? WHERE id = ?",
            (at, self._clock.now_us(), str(conversation.id)),
        )
        return conversation

    def _delete(self, db: Connection, reference: str, root: str, kind: Kind) -> ConversationSummary:
        found = self._find(db, reference, root, kind)
        db.execute("DELETE FROM conversations WHERE id = ?", (str(found.id),))
        return found

    def _summaries(
        self,
        db: Connection,
        condition: str,
        values: tuple[object, ...],
        limit: int,
        kind: Kind,
    ) -> tuple[ConversationSummary, ...]:
        rows = db.execute(
            # `condition` is one of the constants in this module. All values are bound.
            f"""SELECT id, root, model, title, created_us, updated_us,
                   (SELECT count(*) FROM messages
                    WHERE conversation_id = id AND kind = 'user'),
                   (SELECT count(*) - count(DISTINCT parent) FROM messages
                    WHERE conversation_id = id),
                   (SELECT stop_reason FROM messages
                    WHERE conversation_id = id AND kind = 'user' ORDER BY position DESC LIMIT 1),
                   agent
            FROM conversations WHERE {condition} AND {kind.condition}
            ORDER BY updated_us DESC, id DESC LIMIT ?""",  # noqa: S608
            (*values, limit),
        ).fetchall()
        return tuple(
            ConversationSummary(
                UUID(key),
                root,
                model,
                title,
                created,
                updated,
                turns,
                branches,
                _stop_reason(reason),
                agent,
            )
            for key, root, model, title, created, updated, turns, branches, reason, agent in rows
        )

    def _find(self, db: Connection, reference: str, root: str, kind: Kind) -> ConversationSummary:
        if is_last(reference):
            found = self._summaries(db, "root = ?", (root,), 1, kind)
            if not found:
                raise NotFoundError(
                    f"There is no conversation about {root}.",
                    hint=f'Start one with {kind.command} "…".',
                )
            return found[0]

        def find(prefix: str, limit: int) -> Sequence[str]:
            return ids_with_prefix(db, "conversations", prefix, limit, where=kind.condition)

        key = resolve_prefix(reference, find, noun="conversation", listing=f"`{kind.listing}`")
        found = self._summaries(db, "id = ?", (key,), 1, kind)
        if not found:
            raise NotFoundError(f"The conversation {key} was deleted meanwhile.")
        return found[0]

    def _load(self, db: Connection, summary: ConversationSummary, at: int | None) -> Conversation:
        with transaction(db):  # so that no process changes the messages between both reads
            head, choices, mode = db.execute(
                "SELECT head, choices, mode FROM conversations WHERE id = ?", (str(summary.id),)
            ).fetchone()
            by_number = {entry.number: entry for entry in self._tree(db, summary.id)}
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
            ContextChoices.decode(choices),
            Mode(mode),
        )

    def _tree(self, db: Connection, identity: UUID) -> tuple[Entry, ...]:
        rows = db.execute(
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
    """Return `number` if that message exists, or else the number of the last message before it.

    Without this, a lost message would hide the rest of its branch.
    """
    if number is None or number in numbers:
        return number
    return max((each for each in numbers if each < number), default=None)


def _row(entry: Entry) -> tuple[object, ...]:
    kind, body = encode(entry.message)
    request = None if entry.request_id is None else str(entry.request_id)
    place = entry.number, entry.parent
    return *place, kind, body, entry.at_us, entry.state, entry.stop_reason, request


def _storable(root: Path) -> str:
    return storable_text(os.fspath(root.resolve()))


def _stop_reason(value: str | None) -> StopReason | None:
    return StopReason(value) if value else None
