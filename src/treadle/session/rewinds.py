"""Stores rewinds of conversations, so that a later process can undo them.

The records are in the same file as the conversations.
"""

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from treadle.clock import Clock
from treadle.database import Connection, Database, transaction
from treadle.errors import StoreError

MIGRATION = """
    CREATE TABLE rewinds (
        number INTEGER PRIMARY KEY,
        conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        prompt INTEGER NOT NULL,
        scope TEXT NOT NULL,
        head_before INTEGER,
        head_after INTEGER,
        proposals TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        undone_us INTEGER
    ) STRICT;
    CREATE INDEX rewinds_by_conversation ON rewinds (conversation_id);
"""
"""The migration that adds the table to the file of the conversations."""

_COLUMNS = "number, conversation_id, prompt, scope, head_before, head_after, proposals, at_us"


class RewindScope(StrEnum):
    """The part that a rewind restores to its state before a prompt."""

    CONVERSATION = "conversation"
    CODE = "code"
    BOTH = "both"

    @property
    def moves_conversation(self) -> bool:
        """Whether the current branch of the conversation changes."""
        return self is not RewindScope.CODE

    @property
    def undoes_code(self) -> bool:
        """Whether changes of files are undone."""
        return self is not RewindScope.CONVERSATION


@dataclass(frozen=True, slots=True)
class UndoneProposal:
    """A proposal that a rewind undoes.

    `files` has the numbers of the undone files in it.
    """

    id: UUID
    files: frozenset[int]


@dataclass(frozen=True, slots=True)
class Rewind:
    """A rewind of a conversation to the user message `prompt`.

    `head_before` and `head_after` are the numbers of the last message of the current branch before
    and after the rewind. None means that the branch is empty. `proposals` are in the order in which
    the rewind undoes them. `at_us` is a Unix time in microseconds. `number` is 0 until the record
    is stored.
    """

    conversation_id: UUID
    prompt: int
    scope: RewindScope
    head_before: int | None
    head_after: int | None
    proposals: tuple[UndoneProposal, ...] = ()
    at_us: int = 0
    number: int = 0


class RewindStore:
    """The records of rewinds in the database of the conversations."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, rewind: Rewind) -> Rewind:
        """Store a rewind before it changes anything. Returns it with its number and time."""
        stamped = replace(rewind, at_us=self._clock.now_us())
        return await self._database.run(lambda db: _insert(db, stamped))

    async def discard(self, rewind: Rewind) -> None:
        """Delete the record of a rewind that failed without an effect."""
        await self._database.run(
            lambda db: db.execute("DELETE FROM rewinds WHERE number = ?", (rewind.number,))
        )

    async def move_head(self, rewind: Rewind) -> None:
        """Make `head_after` the end of the current branch.

        Raises StoreError if `head_before` is no longer the end, because another process continued
        or deleted the conversation.
        """
        await self._database.run(lambda db: self._move_head(db, rewind))

    async def latest(self, conversation_id: UUID) -> Rewind | None:
        """The newest rewind that was not undone, or None."""
        return await self._database.run(lambda db: _latest(db, conversation_id))

    async def undo(self, rewind: Rewind, *, head: int | None) -> None:
        """Record that a rewind was undone, and restore the former branch.

        `head` is the expected end of the current branch. Raises StoreError if the current branch
        has another end, because another process continued or deleted the conversation.
        """
        back = replace(rewind, head_before=head, head_after=rewind.head_before)

        def run(db: Connection) -> None:
            with transaction(db):
                if rewind.scope.moves_conversation:
                    self._move_head(db, back)
                db.execute(
                    "UPDATE rewinds SET undone_us = ? WHERE number = ?",
                    (self._clock.now_us(), rewind.number),
                )

        await self._database.run(run)

    def _move_head(self, db: Connection, rewind: Rewind) -> None:
        moved = db.execute(
            "UPDATE conversations SET head = ?, updated_us = ? WHERE id = ? AND head IS ?",
            (
                rewind.head_after,
                self._clock.now_us(),
                str(rewind.conversation_id),
                rewind.head_before,
            ),
        ).rowcount
        if not moved:
            raise StoreError(
                f"Another process continued or deleted the conversation {rewind.conversation_id} "
                "at the same time.",
                hint="Show it again, then repeat the rewind.",
            )


def _insert(db: Connection, rewind: Rewind) -> Rewind:
    proposals = [[str(each.id), sorted(each.files)] for each in rewind.proposals]
    stored = db.execute(
        "INSERT INTO rewinds (conversation_id, prompt, scope, head_before, head_after, proposals,"
        " at_us) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING number",
        (
            str(rewind.conversation_id),
            rewind.prompt,
            rewind.scope,
            rewind.head_before,
            rewind.head_after,
            json.dumps(proposals),
            rewind.at_us,
        ),
    )
    (number,) = stored.fetchone()
    return replace(rewind, number=number)


def _latest(db: Connection, conversation_id: UUID) -> Rewind | None:
    row = db.execute(
        f"SELECT {_COLUMNS} FROM rewinds"  # noqa: S608  (a constant)
        " WHERE conversation_id = ? AND undone_us IS NULL ORDER BY number DESC LIMIT 1",
        (str(conversation_id),),
    ).fetchone()
    if row is None:
        return None
    number, conversation, prompt, scope, before, after, proposals, at_us = row
    undone = (UndoneProposal(UUID(key), frozenset(files)) for key, files in json.loads(proposals))
    return Rewind(
        UUID(conversation),
        prompt,
        RewindScope(scope),
        before,
        after,
        tuple(undone),
        at_us,
        number,
    )
