"""Edit requests, before they are matched against the bytes of a file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplaceEdit:
    """The text `old` becomes `new`: its only occurrence, or with `everywhere` all of them."""

    path: str
    old: str
    new: str
    everywhere: bool = False
    expected_hash: str | None = None


@dataclass(frozen=True, slots=True)
class RangeEdit:
    """Replace the bytes from `start` up to, but not including, `end` by `code`.

    Only the line ends of `code` are adapted to the file. With `reindent` the range is a whole item
    and begins at its first character that is not white space; `code` may be indented like the item,
    or not at all. `note` is a sentence about the edit for the model.
    """

    path: str
    start: int
    end: int
    code: str
    expected_hash: str | None = None
    reindent: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class LineRangeEdit:
    """Lines `first` to `last`, from 1, inclusive, become `code`; last = first - 1 inserts."""

    path: str
    first: int
    last: int
    code: str
    expected_hash: str | None = None


@dataclass(frozen=True, slots=True)
class PatchHunk:
    r"""Lines of a patch: each with its mark, " ", "-" or "+", without line end.

    `line` is the line number of a unified diff, which is only a hint. `anchors` are lines somewhere
    before it, from outside in (`@@ class A` of a `*** Begin Patch` patch). `at_end` states that its
    last line is the last of the file. `no_newline_old` and `no_newline_new` state that the last
    line of that side has no line end ("\ No newline at end of file").
    """

    lines: tuple[tuple[str, str], ...]
    line: int | None = None
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    no_newline_old: bool = False
    no_newline_new: bool = False


@dataclass(frozen=True, slots=True)
class PatchEdit:
    """The hunks of a patch for one file, in order."""

    path: str
    hunks: tuple[PatchHunk, ...]
    expected_hash: str | None = None


@dataclass(frozen=True, slots=True)
class CreateFile:
    """A new file; with `overwrite` it replaces an existing one."""

    path: str
    content: str
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """The file is deleted; the proposal keeps its content for an undo.

    `content` is the content by a patch, line ends and a byte order mark aside.
    """

    path: str
    expected_hash: str | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True)
class RenameFile:
    """The file gets the unused path `target`; other edits name it by `path`."""

    path: str
    target: str
    expected_hash: str | None = None


EditRequest = (
    ReplaceEdit | RangeEdit | LineRangeEdit | PatchEdit | CreateFile | DeleteFile | RenameFile
)
