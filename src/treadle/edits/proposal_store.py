"""Stores proposals in an SQLite file, with a journal of the writes in progress."""

import json
import zlib
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.database import (
    Connection,
    Database,
    Schema,
    StoreAddress,
    ids_with_prefix,
    open_database,
    storable_text,
)
from treadle.edits.model import ChangeKind, EditError, FileChange, Hunk, Proposal, ProposalState
from treadle.errors import NotFoundError
from treadle.events.types import ErrorKind
from treadle.ids import is_last, resolve_prefix, unknown_id

NO_PROPOSALS = "This repository has no proposals."
"""The message for a repository without proposals."""

_NOUN, _LISTING = "proposal", "`treadle edits list`"

_COLUMNS = (
    "id, root, state, summary, changes, created_us, changed_us, request_id, turn, slot, "
    "session_id, denied, words, reason, notes, undone, warnings"
)

_MIGRATIONS = (
    """
    CREATE TABLE proposals (
        id TEXT PRIMARY KEY,
        root TEXT NOT NULL,
        state TEXT NOT NULL,
        summary TEXT NOT NULL,
        changes BLOB NOT NULL,
        created_us INTEGER NOT NULL,
        changed_us INTEGER NOT NULL,
        request_id TEXT,
        turn INTEGER NOT NULL,
        slot INTEGER NOT NULL,
        session_id TEXT,
        denied TEXT NOT NULL,
        words TEXT,
        reason TEXT,
        notes TEXT NOT NULL,
        made BLOB,
        written TEXT
    ) STRICT;
    CREATE INDEX proposals_by_root ON proposals (root, created_us);
    CREATE TABLE journal (
        proposal_id TEXT PRIMARY KEY REFERENCES proposals (id) ON DELETE CASCADE,
        root TEXT NOT NULL,
        goal TEXT NOT NULL,
        changes BLOB NOT NULL,
        written TEXT NOT NULL,
        temporaries TEXT NOT NULL
    ) STRICT;
    """,
    "ALTER TABLE proposals ADD COLUMN undone TEXT NOT NULL DEFAULT '[]';",
    "ALTER TABLE proposals ADD COLUMN warnings TEXT NOT NULL DEFAULT '[]';",
    # The machine that writes the files. It is empty in a SQLite file, which only one machine uses.
    "ALTER TABLE journal ADD COLUMN machine TEXT NOT NULL DEFAULT '';",
)
"""Migration n upgrades a file from version n to n + 1. A released migration is never changed."""

SCHEMA = Schema.of_migrations(
    "proposals", _MIGRATIONS, row_errors=(zlib.error, ValueError, KeyError, TypeError)
)
"""Commits must be durable.

Files of the repository are written after a commit. After a crash, these files are recovered with
the committed journal.
"""


@dataclass(frozen=True, slots=True)
class Written:
    """The effect of a write on one file. `before` and `after` are the hashes of its content.

    A hash is None if there is no file. `mode` contains the permissions of a file that the write
    removed. `folders` are the folders that were created for the file, outermost first.
    """

    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AppliedChanges:
    """Changes as they were fitted to the files and written, and the effect on each file."""

    changes: tuple[FileChange, ...]
    written: tuple[Written, ...]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A write that has begun for a proposal.

    If the process dies, the write is completed or reverted later. `temporaries` has the name of one
    temporary file for each element of `applied.written`. Each temporary file is in the same folder
    as its target. `goal` is the state of the proposal after the write.
    """

    proposal_id: UUID
    goal: ProposalState
    applied: AppliedChanges
    temporaries: tuple[str, ...]


class ProposalStore:
    """All proposals of a person. Several threads and processes may use one SQLite file.

    The store contains hunks and hashes. Only created and deleted files are stored whole, as one
    hunk each. If the SQLite file fails, methods raise StoreError.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        """Callers use the method `open` to create a store."""
        self.folder = database.folder
        self._machine = database.machine
        self._database = database
        self._clock = clock

    @classmethod
    def open(cls, address: StoreAddress, *, clock: Clock | None = None) -> Self:
        """Open the store at `address`, which is created or upgraded if necessary."""
        return cls(open_database(address, SCHEMA).open(), clock or SystemClock())

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def add(self, proposal: Proposal) -> None:
        """Store a new proposal."""
        values = {**_values(proposal), "changes": encode_changes(proposal.changes)}
        parameters = ", ".join("?" * len(values))
        with self._database.use() as connection:
            connection.execute(
                f"INSERT INTO proposals ({', '.join(values)}) VALUES ({parameters})",  # noqa: S608
                tuple(values.values()),
            )

    def replace(self, former: Proposal, proposal: Proposal) -> Proposal:
        """Store `proposal` in place of `former`, and return it as it is stored.

        Raises EditError of kind conflict when the stored proposal differs from `former`, or when
        its files are being written.
        """
        with self._database.transaction() as connection:
            self._check_idle(connection, former.id)
            return self._update(connection, former, proposal)

    def get(self, reference: UUID | str, *, root: Path | None = None) -> Proposal:
        """The proposal with the id `reference`, a unique prefix of an id, or "last".

        `root` limits the search to one repository, since a copy of a repository may have the same
        files. Raises NotFoundError if there is no such proposal, and UsageError for an ambiguous
        prefix.
        """
        scope = "" if root is None else " in this repository"
        where, values = ("TRUE", []) if root is None else ("root = ?", [_root_text(root)])

        def find(prefix: str, limit: int) -> Sequence[str]:
            with self._database.use() as connection:
                return ids_with_prefix(
                    connection, "proposals", prefix, limit, where=where, values=values
                )

        if isinstance(reference, UUID):
            key = str(reference)
        elif is_last(reference):
            return self._last(root)
        else:
            key = resolve_prefix(reference, find, noun=_NOUN, listing=_LISTING, scope=scope)
        found = self._select(f"WHERE id = ? AND {where}", [key, *values], 1)
        if not found:
            raise unknown_id(key, noun=_NOUN, listing=_LISTING, scope=scope)
        return found[0]

    def list(
        self,
        root: Path | None = None,
        *,
        states: Collection[ProposalState] | None = None,
        session_id: UUID | None = None,
        limit: int = 50,
    ) -> tuple[Proposal, ...]:
        """List at most `limit` proposals, newest first.

        The other parameters filter the proposals.
        """
        conditions: list[str] = []
        values: list[object] = []
        if root is not None:
            conditions.append("root = ?")
            values.append(_root_text(root))
        if states is not None:
            conditions.append(f"state IN ({', '.join('?' * len(states))})")
            values += states
        if session_id is not None:
            conditions.append("session_id = ?")
            values.append(str(session_id))
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        return self._select(where, values, limit)

    def applied(self, proposal_id: UUID) -> AppliedChanges | None:
        """The effect of the last apply, undo or redo of a proposal, or None if there was none."""
        with self._database.use() as connection:
            found = connection.execute(
                "SELECT made, written FROM proposals WHERE id = ?", (str(proposal_id),)
            ).fetchone()
            return _decode_applied(*found) if found and found[0] is not None else None

    def begin(self, former: Proposal, entry: JournalEntry) -> None:
        """Record that the write of a proposal begins.

        No other process can change the proposal until `end` is called. Raises the same errors as
        `replace`.
        """
        with self._database.transaction() as connection:
            self._check_idle(connection, former.id)
            self._check_same(connection, former)
            connection.execute(
                "INSERT INTO journal"
                " (proposal_id, root, goal, changes, written, temporaries, machine)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    str(entry.proposal_id),
                    storable_text(former.root),
                    entry.goal,
                    *_encode_applied(entry.applied),
                    json.dumps(entry.temporaries),
                    self._machine,
                ),
            )

    def end(
        self, former: Proposal, proposal: Proposal, *, applied: AppliedChanges | None
    ) -> Proposal:
        """Record that the write has ended, and return the proposal as it is stored.

        The next undo or redo reverts `applied`. If `applied` is None, the stored changes stay.
        """
        key = str(former.id)
        with self._database.transaction() as connection:
            if applied is not None:
                connection.execute(
                    "UPDATE proposals SET made = ?, written = ? WHERE id = ?",
                    (*_encode_applied(applied), key),
                )
            connection.execute("DELETE FROM journal WHERE proposal_id = ?", (key,))
            return self._update(connection, former, proposal)

    def journal(self, root: Path) -> tuple[JournalEntry, ...]:
        """The journal of the repository at `root`: interrupted writes and writes in progress.

        Writes of other machines are left out, because their files are not on this machine.
        """
        with self._database.use() as connection:
            rows = connection.execute(
                "SELECT proposal_id, goal, changes, written, temporaries FROM journal"
                " WHERE root = ? AND machine = ?",
                (_root_text(root), self._machine),
            ).fetchall()
            return tuple(
                JournalEntry(
                    UUID(key),
                    ProposalState(goal),
                    _decode_applied(changes, written),
                    tuple(json.loads(temporaries)),
                )
                for key, goal, changes, written, temporaries in rows
            )

    def _last(self, root: Path | None) -> Proposal:
        found = self.list(root, limit=1)
        if not found:
            raise NotFoundError(
                NO_PROPOSALS,
                hint='Ask for one with `treadle ask "…"`.',
            )
        return found[0]

    def _select(self, condition: str, values: Sequence[object], limit: int) -> tuple[Proposal, ...]:
        with self._database.use() as connection:
            rows = connection.execute(
                # `condition` is built from constants, and all values are bound.
                f"SELECT {_COLUMNS} FROM proposals {condition}"  # noqa: S608
                " ORDER BY created_us DESC, id DESC LIMIT ?",
                (*values, limit),
            ).fetchall()
            return tuple(map(_proposal, rows))

    def _check_idle(self, connection: Connection, proposal_id: UUID) -> None:
        found = connection.execute(
            "SELECT 1 FROM journal WHERE proposal_id = ?", (str(proposal_id),)
        ).fetchone()
        if found:
            raise EditError(
                ErrorKind.CONFLICT,
                f"The proposal {proposal_id} is being written.",
                hint="Try again when the write is complete.",
            )

    def _check_same(self, connection: Connection, former: Proposal) -> None:
        found = connection.execute(
            "SELECT state, changed_us FROM proposals WHERE id = ?", (str(former.id),)
        ).fetchone()
        if found != (former.state, former.changed_us):
            state = f"is {found[0]} now" if found else "no longer exists"
            raise EditError(
                ErrorKind.CONFLICT,
                f"Another process changed the proposal {former.id} at the same time: it {state}.",
                hint="Review it again before you decide.",
            )

    def _update(self, connection: Connection, former: Proposal, proposal: Proposal) -> Proposal:
        """Update a proposal inside a transaction.

        Each update sets a new time, so that other processes notice the update.
        """
        self._check_same(connection, former)
        kept = replace(proposal, changed_us=max(self._clock.now_us(), former.changed_us + 1))
        values = _values(kept)
        if kept.changes != former.changes:  # encoding large changes takes time
            values["changes"] = encode_changes(kept.changes)
        connection.execute(
            f"UPDATE proposals SET {', '.join(f'{name} = ?' for name in values)}"  # noqa: S608
            " WHERE id = ?",
            (*values.values(), str(former.id)),
        )
        return kept


def _values(proposal: Proposal) -> dict[str, object]:
    """The columns of a proposal except for its changes."""
    return {
        "id": str(proposal.id),
        "root": storable_text(proposal.root),
        "state": proposal.state,
        "summary": storable_text(proposal.summary),
        "created_us": proposal.created_us,
        "changed_us": proposal.changed_us,
        "request_id": str(proposal.request_id) if proposal.request_id else None,
        "turn": proposal.turn,
        "slot": proposal.slot,
        "session_id": str(proposal.session_id) if proposal.session_id else None,
        "denied": json.dumps(sorted(proposal.denied)),
        "words": storable_text(proposal.words) if proposal.words is not None else None,
        "reason": storable_text(proposal.reason) if proposal.reason is not None else None,
        "notes": json.dumps(proposal.notes),
        "undone": json.dumps(sorted(proposal.undone)),
        "warnings": json.dumps(proposal.warnings),
    }


def _proposal(row: tuple[Any, ...]) -> Proposal:
    key, root, state, summary, changes, created, changed, request, turn, slot, session = row[:11]
    denied, words, reason, notes, undone, warnings = row[11:]
    return Proposal(
        UUID(key),
        root,
        ProposalState(state),
        summary,
        decode_changes(changes),
        created,
        changed,
        UUID(request) if request else None,
        turn,
        slot,
        UUID(session) if session else None,
        frozenset((file, hunk) for file, hunk in json.loads(denied)),
        words,
        reason,
        tuple(json.loads(notes)),
        frozenset(json.loads(undone)),
        tuple(json.loads(warnings)),
    )


def _encode_applied(applied: AppliedChanges) -> tuple[bytes, str]:
    return encode_changes(applied.changes), json.dumps([asdict(each) for each in applied.written])


def _decode_applied(changes: bytes, written: str) -> AppliedChanges:
    files = (Written(**{**each, "folders": tuple(each["folders"])}) for each in json.loads(written))
    return AppliedChanges(decode_changes(changes), tuple(files))


def _root_text(root: Path) -> str:
    return storable_text(str(root))


def encode_changes(changes: Sequence[FileChange]) -> bytes:
    """Encode `changes` as compressed JSON, which is about as large as the hunks."""
    body = [
        {
            "path": change.path,
            "kind": change.kind,
            "base": change.base_hash,
            "result": change.result_hash,
            "target": change.target,
            "encoding": change.encoding,
            "hunks": [
                [
                    hunk.start,
                    hunk.line,
                    hunk.unique,
                    *map(_text, (hunk.old, hunk.new, hunk.before, hunk.after)),
                ]
                for hunk in change.hunks
            ],
        }
        for change in changes
    ]
    return zlib.compress(json.dumps(body).encode("ascii"))  # JSON escapes lone surrogates in paths


def decode_changes(data: bytes) -> tuple[FileChange, ...]:
    """Decode the result of `encode_changes`.

    Raises ValueError, KeyError, TypeError or zlib.error.
    """
    body: list[dict[str, Any]] = json.loads(zlib.decompress(data))
    return tuple(
        FileChange(
            each["path"],
            ChangeKind(each["kind"]),
            each["base"],
            each["result"],
            tuple(_hunk(*values) for values in each["hunks"]),
            each["target"],
            each.get("encoding"),  # missing in older stores
        )
        for each in body
    )


def _hunk(start: int, line: int, unique: list[int], *texts: str) -> Hunk:
    old, new, before, after = (text.encode("latin-1") for text in texts)
    return Hunk(start, line, old, new, before, after, (unique[0], unique[1]))


def _text(data: bytes) -> str:
    return data.decode("latin-1")
