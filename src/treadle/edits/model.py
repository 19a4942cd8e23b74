"""Changes of files: hunks of bytes over a known content, collected in a proposal."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated
from uuid import UUID

from treadle.errors import TreadleError
from treadle.events.types import ErrorKind
from treadle.json_values import JsonField


class EditError(TreadleError):
    """An edit that cannot be made, and why; nothing of its plan is done.

    `path` is the file, relative to the root, and `number` the place of the edit among the edits
    that were asked for together, from 0.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        path: str | None = None,
        number: int | None = None,
        expected: str | None = None,
        received: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.path = path
        self.number = number
        self.expected = expected
        self.received = received


class ChangeKind(StrEnum):
    """How an edit changes a file."""

    MODIFY = "modify"
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"


class ProposalState(StrEnum):
    """Where a proposal is on its way."""

    STAGED = "staged"
    DENIED = "denied"
    APPLIED = "applied"
    CONFLICTED = "conflicted"
    """A file is not what the proposal was made on; nothing was written."""
    FAILED = "failed"
    """It could not be written; every file is as it was."""
    UNDONE = "undone"
    PARTLY_UNDONE = "partly undone"
    """Some of its files are taken back; the others were changed since and are kept."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """The bytes `old`, which begin at byte `start` and in line `line` of the base, become `new`.

    `before` and `after` are the whole lines around it in the base (at most three each, and at
    most 2,000 bytes), by which its place is found again when the file has changed elsewhere.
    `unique`, for the base and for the result, has bit 4 * b + a set where the last b lines before
    it, its bytes and the first a lines after it are there only once; 0 where that is not known.
    """

    start: int
    line: int
    old: bytes
    new: bytes
    before: bytes = b""
    after: bytes = b""
    unique: tuple[int, int] = (0, 0)

    @property
    def end(self) -> int:
        """The first byte of the base behind it."""
        return self.start + len(self.old)


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one file: hunks in the order of the base, none overlapping.

    `path` is relative to the root, POSIX, with bytes that are no UTF-8 as lone surrogates.
    `base_hash` is that of the bytes that the hunks were made on, None where no file is to be;
    `result_hash` that of the bytes that come out of all hunks, None where no file remains.
    A file that is created is one hunk without `old`, one that is deleted one hunk without `new`;
    a rename has a `target`, and hunks when the content changes as well. `encoding` is Python's
    name of what the text is encoded in, None for UTF-8.
    """

    path: str
    kind: ChangeKind
    base_hash: str | None
    result_hash: str | None
    hunks: tuple[Hunk, ...]
    target: str | None = None
    encoding: str | None = None

    @property
    def parts(self) -> int:
        """How many parts of it a person can refuse by themselves."""
        return len(self.hunks) if self.kind is ChangeKind.MODIFY else 1


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes that are made all or not at all, in the order in which files were first named.

    `notes` are one sentence each for the model: every leniency that matching took.
    """

    changes: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A staged plan. `denied` holds the (file, hunk) numbers that a person refused.

    `call` names the call that proposed it: the request, and the turn and slot of the call in it.
    `words` are what the person said; `reason` says why it is conflicted, failed or partly undone.
    `undone` holds the numbers of the files that are taken back while it is partly undone.
    `warnings` are one sentence for each file that is broken by what is not denied of it.
    """

    id: UUID
    root: Annotated[str, JsonField(omit=True)]
    state: ProposalState
    summary: str
    changes: Annotated[tuple[FileChange, ...], JsonField(omit=True)]
    created_us: int
    changed_us: int
    request_id: UUID | None = None
    turn: Annotated[int, JsonField(omit=True)] = 0
    slot: Annotated[int, JsonField(omit=True)] = 0
    session_id: UUID | None = None
    denied: Annotated[frozenset[tuple[int, int]], JsonField(omit=True)] = frozenset()
    words: str | None = None
    reason: str | None = None
    notes: tuple[str, ...] = field(default=())
    undone: Annotated[frozenset[int], JsonField(omit=True)] = frozenset()
    warnings: tuple[str, ...] = field(default=())

    def parts(self) -> tuple[tuple[int, int], ...]:
        """Every (file, hunk) that a person can refuse by itself, in order.

        A file that is created, deleted or renamed is one, whatever its hunks.
        """
        return tuple(
            (file, hunk) for file, change in enumerate(self.changes) for hunk in range(change.parts)
        )

    def selected(self) -> tuple[FileChange, ...]:
        """The changes without what was denied; a file of which nothing is left is not in it.

        `result_hash` of a file of which some hunks are left is that of all its hunks still.
        A denied creation, deletion or rename is denied as a whole by any of its hunks, a rename
        without hunks by (file, 0).
        """
        return tuple(
            change
            for number, each in enumerate(self.changes)
            if (change := self._selected(number, each)) is not None
        )

    def _selected(self, number: int, change: FileChange) -> FileChange | None:
        denied = {hunk for file, hunk in self.denied if file == number}
        if not denied:
            return change
        left = tuple(h for number, h in enumerate(change.hunks) if number not in denied)
        if change.kind is not ChangeKind.MODIFY or not left:
            return None
        return replace(change, hunks=left)


def content_hash(data: bytes) -> str:
    """BLAKE2b-256 of the raw bytes, as 64 hexadecimal digits."""
    return blake2b(data, digest_size=32).hexdigest()


def splice(base: bytes, hunks: Sequence[Hunk]) -> bytes:
    """`base` with every hunk done; every other byte is as it was.

    Raises ValueError when a hunk's old bytes are not at its place, or two overlap.
    """
    parts: list[bytes] = []
    position = 0
    for hunk in hunks:
        if hunk.start < position or base[hunk.start : hunk.end] != hunk.old:
            raise ValueError(f"line {hunk.line} is not what the change was made on")
        parts += [base[position : hunk.start], hunk.new]
        position = hunk.end
    return b"".join([*parts, base[position:]])
