"""The kinds of edit requests. They are matched against the bytes of a file later.

A request is refused if its `expected_hash` is not None and the file has another hash.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplaceEdit:
    """Replace the only occurrence of `old` by `new`. With `everywhere`, replace all occurrences."""

    path: str
    old: str
    new: str
    everywhere: bool = False
    expected_hash: str | None = None


@dataclass(frozen=True, slots=True)
class RangeEdit:
    """Replace the bytes from `start` up to, but not including, `end` by `code`.

    Without `reindent`, only the line ends of `code` are adapted to the file. With `reindent`, the
    range is a whole item and begins at its first character that is not white space. In that case
    `code` may be indented like the item, or not at all. `note` is a sentence about the edit for the
    model.
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
    """Replace the lines `first` to `last`, counted from 1, by `code`. Line `last` is included.

    If `last` is `first - 1`, `code` is inserted before line `first`.
    """

    path: str
    first: int
    last: int
    code: str
    expected_hash: str | None = None


@dataclass(frozen=True, slots=True)
class PatchHunk:
    r"""The lines of a hunk. A line is a mark (" ", "-" or "+") and a text without line end.

    `line` is the line number from a unified diff, which is only a hint. `anchors` are lines before
    the hunk, outermost first, such as `@@ class A` in a `*** Begin Patch` patch. `at_end` states
    that the last line of the hunk is the last line of the file. `no_newline_old` and
    `no_newline_new` state that the last line of the old or new side has no line end ("\ No newline
    at end of file").
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
    """Create a file. With `overwrite`, the new file replaces an existing file."""

    path: str
    content: str
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Delete a file. The proposal keeps the content of the file for an undo.

    `content` is the content of the file according to a patch, or None. Its line ends and byte order
    mark may differ from the file.
    """

    path: str
    expected_hash: str | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True)
class RenameFile:
    """Rename the file to the unused path `target`. Other edits of the file use its old `path`."""

    path: str
    target: str
    expected_hash: str | None = None


EditRequest = (
    ReplaceEdit | RangeEdit | LineRangeEdit | PatchEdit | CreateFile | DeleteFile | RenameFile
)
