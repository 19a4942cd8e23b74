"""Edit requests, before they are matched against the bytes of a file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplaceEdit:
    """Text `old` becomes `new`: the one place where it is, or with `everywhere` all of them."""

    path: str
    old: str
    new: str
    everywhere: bool = False
    expected_hash: str | None = None


@dataclass(frozen=True, slots=True)
class RangeEdit:
    """Bytes `start` to `end`, half open, become `code`, which is taken as it is.

    Only the line ends of `code` are made those of the file. With `reindent` the range is that of
    a whole item and begins at its first character that is not white space: `code` may be indented
    as the item is, or not at all. `note` is a sentence about the edit for the model.
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
    """Lines `first` to `last`, from 1, both included, become `code`; last = first - 1 inserts."""

    path: str
    first: int
    last: int
    code: str
    expected_hash: str | None = None


@dataclass(frozen=True, slots=True)
class PatchHunk:
    r"""Lines of a patch: each with its mark, " ", "-" or "+", without line end.

    `line` is where a unified diff says that it begins, a hint only. `anchors` are lines that
    come somewhere before it, from outside in (`@@ class A` of a model-style patch). `at_end`
    says that its last line is the last of the file. `no_newline_old` and `no_newline_new` say
    that the last line of that side has no line end ("\ No newline at end of file").
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
    """A new file; with `overwrite` it may be there, and becomes `content` as a whole."""

    path: str
    content: str
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """The file is removed; its content stays in the proposal, so that it can come back.

    `content` is what a patch says is in it, line ends and a byte order mark aside.
    """

    path: str
    expected_hash: str | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True)
class RenameFile:
    """The file gets the path `target`, where nothing may be; other edits name it by `path`."""

    path: str
    target: str
    expected_hash: str | None = None


EditRequest = (
    ReplaceEdit | RangeEdit | LineRangeEdit | PatchEdit | CreateFile | DeleteFile | RenameFile
)
