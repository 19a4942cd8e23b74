"""Data types for proposals, for the file changes of a proposal, and for the hunks of a change."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated
from uuid import UUID

from treadle.errors import TreadleError
from treadle.events.types import ErrorKind
from treadle.json_values import JsonField


class EditError(TreadleError):
    """Raised when an edit cannot be made. The other edits of its plan are not made either.

    `path` is the path of the file relative to the root. `number` is the index of the edit in its
    request. `expected` and `received` are two values that should be equal, such as hashes.
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
    """The state of a proposal."""

    STAGED = "staged"
    DENIED = "denied"
    APPLIED = "applied"
    CONFLICTED = "conflicted"
    """A file has changed since the proposal was staged. Nothing was written."""
    FAILED = "failed"
    """A file could not be written. Every file has its earlier content."""
    UNDONE = "undone"
    PARTLY_UNDONE = "partly undone"
    """Some files were reverted.

    The other files were changed after the proposal was applied, and were kept.
    """


@dataclass(frozen=True, slots=True)
class Hunk:
    """Replaces the bytes `old`, at byte `start` in line `line` of the base, by `new`.

    The base is the content of the file before the change. `line` counts from 1. `before` and
    `after` are the whole lines before and after the hunk in the base. Each has at most three lines
    and 2,000 bytes. They locate the hunk when the file has changed elsewhere. `unique` has one
    number for the base and one number for the result of the change. Each bit of a number is for b
    lines before and a lines after the hunk. Bit 4 * b + a is set if the hunk's bytes, together with
    these lines, occur only once. A number is 0 if this is unknown.
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
        """The offset of the first byte after the hunk in the base."""
        return self.start + len(self.old)


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of one file. The hunks do not overlap, and are in the order of the base.

    `path` is a POSIX path relative to the root. In paths, lone surrogates represent bytes that are
    not UTF-8. `base_hash` is the hash of the content before the change, or None if there is no
    file. `result_hash` is the hash of the content after all hunks, or None if no file remains. The
    change that creates a file has one hunk, and its `old` is empty. The change that deletes a file
    has one hunk, and its `new` is empty. A rename has a `target`, the new path, and has hunks if
    the content changes too. `encoding` is Python's name of the encoding, or None for UTF-8.
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
        """The number of parts of the change that a person can deny separately."""
        return len(self.hunks) if self.kind is ChangeKind.MODIFY else 1


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes that are made together or not at all.

    They are in the order in which the edits first name their files.

    `notes` are sentences for the model. Each note is about one part of an edit, such as white space
    that was ignored.
    """

    changes: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """The changes in a few words: the number of files, or the path of the only file."""
        first, *more = self.changes
        if more:
            return f"change {len(self.changes)} files"
        verb = "change" if first.kind is ChangeKind.MODIFY else first.kind
        return f"{verb} {first.path}" + (f" to {first.target}" if first.target else "")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A stored plan and its state. `denied` has the (file, hunk) numbers that a person denied.

    `request_id`, `turn` and `slot` identify the tool call that proposed the plan. `words` is the
    person's comment. `reason` states why the proposal is conflicted, failed or partly undone.
    `undone` contains the numbers of the reverted files of a partly undone proposal. `warnings` are
    sentences about the problems that the changes cause in files. Denied changes cause no warnings.
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
        """The (file, hunk) numbers of all parts that a person can deny separately, in order.

        A created, deleted or renamed file is one part, however many hunks it has.
        """
        return tuple(
            (file, hunk) for file, change in enumerate(self.changes) for hunk in range(change.parts)
        )

    def paths(self) -> frozenset[str]:
        """All paths of the changes, including the targets of renames."""
        targets = (change.target for change in self.changes if change.target is not None)
        return frozenset({*(change.path for change in self.changes), *targets})

    def require_parts(self, numbers: Collection[tuple[int, int]]) -> None:
        """Raise EditError if a (file, hunk) number is not a part of this proposal."""
        if unknown := sorted(set(numbers) - set(self.parts())):
            file, hunk = unknown[0]
            raise EditError(
                ErrorKind.VALIDATION,
                f"The proposal {self.id} has no hunk {hunk} of file {file}.",
                hint="File and hunk numbers start at 0, in the order of the proposal's changes.",
            )

    def selected(self) -> tuple[FileChange, ...]:
        """The changes without the denied parts, and without files whose parts are all denied.

        `result_hash` stays the hash of the content after all hunks, including denied hunks. A
        denied hunk of a created, deleted or renamed file denies the whole file. The numbers (file,
        0) deny a rename without hunks.
        """
        return tuple(
            change
            for number, each in enumerate(self.changes)
            if (change := self._selected(number, each)) is not None
        )

    def undone_files(self) -> frozenset[int]:
        """The numbers of the files whose changes are undone now."""
        if self.state is not ProposalState.UNDONE:
            return self.undone
        return frozenset(
            number
            for number, change in enumerate(self.changes)
            if self._selected(number, change) is not None
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
    """Apply all hunks to `base`, and return the result.

    Raises ValueError when a hunk's old bytes are not at its offset, or when two hunks overlap.
    """
    parts: list[bytes] = []
    position = 0
    for hunk in hunks:
        if hunk.start < position or base[hunk.start : hunk.end] != hunk.old:
            raise ValueError(f"line {hunk.line} differs from the line that the change was made for")
        parts += [base[position : hunk.start], hunk.new]
        position = hunk.end
    return b"".join([*parts, base[position:]])
