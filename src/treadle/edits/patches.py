"""Parses unified diffs and `*** Begin Patch` patches into edit requests.

Wrong line numbers and counts are tolerated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from treadle.edits.model import EditError
from treadle.edits.requests import (
    CreateFile,
    DeleteFile,
    EditRequest,
    PatchEdit,
    PatchHunk,
    RenameFile,
)
from treadle.events.types import ErrorKind

NOWHERE = "/dev/null"

_ESCAPE = re.compile(rb'\\([0-7]{1,3}|[abtnvfr"\\])')
_ESCAPED = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip
_PREFIX = re.compile(r"[abciow]/")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def name_of(text: str, number: int) -> str:
    """Parse the file name after `--- `, `+++ ` or `rename to `, without quotes and time stamp."""
    text = text.rstrip()
    if text.startswith('"'):
        quoted = _QUOTED.match(text)
        if quoted is None:
            raise mismatch(number, "has a file name without its closing quote")
        return _unquoted(quoted[0])
    name = text.split("\t")[0].rstrip()
    if not name:
        raise mismatch(number, "has no file name")
    return name


def _unquoted(text: str) -> str:
    def unescape(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return _ESCAPED[code] if code in _ESCAPED else bytes([int(code, 8) & 0xFF])

    name = _ESCAPE.sub(unescape, text[1:-1].encode("utf-8", "surrogateescape"))
    return name.decode("utf-8", "surrogateescape")


def git_names(line: str, number: int) -> tuple[str, str]:
    """Both names in `diff --git a/OLD b/NEW`, without their prefixes."""
    rest = line.removeprefix("diff --git ").rstrip()
    quoted = _QUOTED.match(rest)
    if quoted:
        old, new = _unquoted(quoted[0]), name_of(rest[quoted.end() :].strip(), number)
    elif rest.endswith('"'):
        old, _, new = rest.partition(' "')
        new = _unquoted(f'"{new}')
    else:
        half = len(rest) // 2  # both names of one file have the same length
        old, new = rest[:half], rest[half + 1 :]
        if old.partition("/")[2] != new.partition("/")[2]:
            old, _, new = rest.partition(" b/")
            new = f"b/{new}"
    return without_prefix(old), without_prefix(new)


def without_prefix(name: str) -> str:
    """Remove a prefix of git, such as `a/`, from a name."""
    return name[2:] if _PREFIX.match(name) else name


def same_file(old: str, new: str, *, git: bool) -> tuple[str | None, str | None] | None:
    """The paths of both names, if they are names of one file. Returns None for different files.

    A created or deleted file has the name `NOWHERE` on one side. The path on that side is None.
    """
    if NOWHERE in {old, new}:
        paths = [None if name == NOWHERE else without_prefix(name) for name in (old, new)]
        return paths[0], paths[1]
    if old == new and not git:
        return old, new
    bare = without_prefix(old), without_prefix(new)
    for one, other in (bare, (old, bare[1]), (bare[0], new)):
        if one == other:
            return one, other
    return None


_HEADER = re.compile(r"@@+ *-(\d+)(?:,(\d+))? +\+(\d+)(?:,(\d+))? *@@")
_LOOSE_HEADER = re.compile(r"@@(?: *(?:\.\.\.|…))?(?: *@@.*)? *$")
_MARKS = (" ", "-", "+")
_NO_NEWLINE = "\\ "
_END_OF_FILE = "*** End of File"


class Lines:
    """Reads the lines of a patch one after the other."""

    def __init__(self, text: str) -> None:
        self.texts = text.split("\n")
        if self.texts[-1] == "":
            self.texts.pop()
        heads = [line for line in self.texts if line.startswith(("--- ", "+++ ", "@@", "*** "))]
        if heads and all(line.endswith("\r") for line in heads):
            self.texts = [line.removesuffix("\r") for line in self.texts]
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at >= len(self.texts)

    @property
    def number(self) -> int:
        """The number of the current line, from 1."""
        return self._at + 1

    @property
    def text(self) -> str:
        """The current line, which is not consumed yet."""
        return self.texts[self._at]

    @property
    def next(self) -> str:
        """The line after the current line, or an empty text."""
        return self.ahead(1) or ""

    def take(self) -> str:
        self._at += 1
        return self.texts[self._at - 1]

    def skip(self) -> None:
        self._at += 1

    def skip_empty(self) -> None:
        while not self.done and not self.text.strip():
            self._at += 1

    def ahead(self, count: int) -> str | None:
        """The line that is `count` lines after the current line, or None after the last line."""
        position = self._at + count
        return self.texts[position] if position < len(self.texts) else None


def mismatch(number: int, problem: str) -> EditError:
    """The error for a line of a patch that cannot be parsed."""
    return EditError(
        ErrorKind.PARSING,
        f"Line {number} of the patch {problem}.",
        hint="Write a unified diff, or a patch between `*** Begin Patch` and `*** End Patch`.",
    )


def unified_hunks(lines: Lines) -> Iterator[PatchHunk]:
    """Parse the hunks of a unified diff, which follow the lines `---` and `+++` of a file."""
    while not lines.done and lines.text.startswith("@@"):
        number, head = lines.number, lines.take()
        header = _HEADER.match(head)
        if header is None and not _LOOSE_HEADER.match(head):
            raise mismatch(number, "starts a hunk without `@@ -LINE,COUNT +LINE,COUNT @@`")
        line = int(header[1]) if header else None
        body = _counted(lines, header) if header else None
        if body is None:
            body = _until_boundary(lines)
        yield _hunk(body, number, line=line)


def _counted(lines: Lines, header: re.Match[str]) -> list[str] | None:
    """The lines that the counts in the header cover, or None if the counts are wrong."""
    old, new = (int(header[group] or "1") for group in (2, 4))
    count = 0
    while (line := lines.ahead(count)) is not None:
        mark = line[:1] or " "
        if mark != "\\":
            if old <= 0 and new <= 0:
                break
            if mark not in _MARKS:
                return None
            old -= mark != "+"
            new -= mark != "-"
        count += 1
    if old or new or not _is_boundary(lines.ahead(count), lines.ahead(count + 1)):
        return None
    return [lines.take() for _ in range(count)]


def _is_boundary(line: str | None, following: str | None) -> bool:
    """Whether a hunk ends before `line`. The line `following` comes after it."""
    if line is None or not line.startswith(_MARKS) or line.rstrip() == "--":
        return True
    return line.startswith("--- ") and following is not None and following.startswith("+++ ")


def _until_boundary(lines: Lines) -> list[str]:
    """Take the lines up to the next hunk or file. Empty lines at the end are dropped."""
    body: list[str] = []
    while not lines.done:
        line = lines.text
        if line.startswith(("@@", "diff --git ", "```", "*** ")) or line.rstrip() == "--":
            break
        if line.startswith("--- ") and lines.next.startswith("+++ "):
            break
        if line and not line.startswith((*_MARKS, "\\")):
            raise mismatch(lines.number, "does not start with ` `, `-` or `+`")
        body.append(lines.take())
    while body and not body[-1]:
        body.pop()
    return body


def update_hunks(lines: Lines) -> Iterator[PatchHunk]:
    """Parse the hunks that follow a line `*** Update File:`."""
    while not lines.done:
        lines.skip_empty()
        if lines.done or (lines.text.startswith("*** ") and lines.text.rstrip() != _END_OF_FILE):
            return
        number = lines.number
        anchors: list[str] = []
        line: int | None = None
        while not lines.done and lines.text.startswith("@@"):
            head = lines.take()
            header = _HEADER.match(head)
            line = int(header[1]) if header else line
            anchor = head.removeprefix("@@").rstrip().removesuffix(" @@").strip()
            if not header and anchor and anchor != "@@":
                anchors.append(anchor)
        body = _until_boundary(lines)
        at_end = not lines.done and lines.text.rstrip() == _END_OF_FILE
        if at_end:
            lines.skip()
        if not body:
            raise mismatch(number, "starts an empty hunk")
        yield _hunk(body, number, line=line, anchors=tuple(anchors), at_end=at_end)


def _hunk(
    body: list[str],
    number: int,
    *,
    line: int | None,
    anchors: tuple[str, ...] = (),
    at_end: bool = False,
) -> PatchHunk:
    found: list[tuple[str, str]] = []
    unended: set[str] = set()
    for text in body:
        if text.startswith("\\"):
            unended |= {found[-1][0]} if found else set()
        else:
            found.append((text[:1] or " ", text[1:]))
    if not found:
        raise mismatch(number, "starts an empty hunk")
    if line is not None and all(mark == "+" for mark, _ in found):
        line += 1  # if a hunk only adds lines, its header has the line before them
    return PatchHunk(
        tuple(found), line, anchors, at_end,
        no_newline_old=bool(unended & {" ", "-"}), no_newline_new=bool(unended & {" ", "+"}),
    )  # fmt: skip


_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE, _BEGIN, _END = "*** Move to: ", "*** Begin Patch", "*** End Patch"

_IGNORED = ("index ", "similarity index ", "dissimilarity index ")
_MODES = ("old mode ", "new mode ")


def parse_patch(text: str) -> tuple[EditRequest, ...]:
    """The edits of a unified diff (git's or plain) or of a `*** Begin Patch` patch.

    Line numbers and counts may be wrong. Lines may end with CRLF. Markdown fences and prose may
    surround the patch. Raises EditError of kind parsing for text that cannot be parsed. Changes of
    file modes, copies and binary patches cause the same error. The error names the line.
    """
    lines = Lines(text)
    if any(line.startswith((_BEGIN, _ADD, _DELETE, _UPDATE)) for line in lines.texts):
        found = tuple(_model_style(lines))
    else:
        found = tuple(_unified(lines))
    if not found:
        raise mismatch(
            1, "does not start a patch: there is neither `--- a/FILE`, `+++ b/FILE` and `@@`, nor "
"`*** Begin Patch`"
        )  # fmt: skip
    return found


def _model_style(lines: Lines) -> Iterator[EditRequest]:
    """The edits of a patch between `*** Begin Patch` and `*** End Patch`."""
    while not lines.done and not lines.text.startswith((_BEGIN, _ADD, _DELETE, _UPDATE)):
        lines.skip()
    while not lines.done:
        line = lines.text.rstrip()
        if line.startswith(_ADD):
            path = lines.take().removeprefix(_ADD).strip()
            yield CreateFile(path, "".join(f"{added}\n" for added in _added(lines)))
        elif line.startswith(_DELETE):
            yield DeleteFile(lines.take().removeprefix(_DELETE).strip())
        elif line.startswith(_UPDATE):
            yield from _update(lines)
        elif line == _END:
            return
        elif line == _BEGIN or not line or line.startswith(("*** Environment ID: ", "```")):
            lines.skip()
        else:
            raise mismatch(lines.number, "is neither a hunk line nor a file header")


def _added(lines: Lines) -> Iterator[str]:
    while not lines.done and lines.text.startswith("+"):
        yield lines.take()[1:]
    lines.skip_empty()


def _update(lines: Lines) -> Iterator[EditRequest]:
    number = lines.number
    path = lines.take().removeprefix(_UPDATE).strip()
    moved = not lines.done and lines.text.startswith(_MOVE)
    if moved:
        yield RenameFile(path, lines.take().removeprefix(_MOVE).strip())
    hunks = tuple(update_hunks(lines))
    if hunks:
        yield PatchEdit(path, hunks)
    elif not moved:
        raise mismatch(number, f"updates {path}, but has no hunk")


@dataclass(slots=True)
class _Section:
    """The part of a unified diff about one file."""

    number: int
    old: str | None = None
    new: str | None = None
    names: tuple[str, str] | None = None
    renamed: dict[str, str] = field(default_factory=dict)
    created: bool = False
    deleted: bool = False
    hunks: tuple[PatchHunk, ...] = ()

    def requests(self) -> Iterator[EditRequest]:
        """The edits of the section. Raises EditError when parts of it contradict each other."""
        if "from" in self.renamed and "to" in self.renamed:
            yield RenameFile(self.renamed["from"], self.renamed["to"])
            if self.hunks:
                yield PatchEdit(self.renamed["from"], self.hunks)
            return
        old, new = self._paths()
        if self.created or old is None:
            yield CreateFile(self._required_name(new), self._content("+"))
        elif self.deleted or new is None:
            content = self._content("-") if self.hunks else None
            yield DeleteFile(self._required_name(old), content=content)
        elif not self.hunks:
            raise mismatch(self.number, f"names {new}, but has no hunk")
        else:
            yield PatchEdit(new, self.hunks)

    def _paths(self) -> tuple[str | None, str | None]:
        if self.old is not None and self.new is not None:
            found = same_file(self.old, self.new, git=self.names is not None)
            if found is None:
                raise mismatch(
                    self.number, f"names two files, {self.old} and {self.new}, without a rename"
                )
            return found
        if self.names is None:
            raise mismatch(self.number, "starts a file without its other name")
        return self.names

    def _required_name(self, path: str | None) -> str:
        if path is None:
            raise mismatch(self.number, "creates and deletes the same file")
        return path

    def _content(self, side: str) -> str:
        """The lines that the hunks add to a new file or remove from a deleted file."""
        lines = [line for hunk in self.hunks for line in hunk.lines]
        if any(mark != side for mark, _ in lines):
            raise mismatch(
                self.number, "creates or deletes a file, but its hunks also have other lines"
            )
        content = "".join(f"{text}\n" for _, text in lines)
        last = self.hunks[-1] if self.hunks else None
        unended = last and (last.no_newline_new if side == "+" else last.no_newline_old)
        return content[:-1] if unended else content


def _unified(lines: Lines) -> Iterator[EditRequest]:
    """The edits of a unified diff."""
    section: _Section | None = None
    while not lines.done:
        line = lines.text
        if line.startswith("diff --git "):
            if section is not None:
                yield from section.requests()
            section = _Section(lines.number, names=git_names(line, lines.number))
            lines.skip()
        elif line.startswith("--- ") and lines.next.startswith("+++ "):
            if section is not None and (section.old is not None or section.names is None):
                yield from section.requests()
                section = None
            section = section or _Section(lines.number)
            section.old = name_of(lines.take()[4:], lines.number)
            section.new = name_of(lines.take()[4:], lines.number)
            section.hunks = tuple(unified_hunks(lines))
        elif section is not None:
            _extended(section, lines)
        elif line.startswith("@@ -"):
            raise mismatch(lines.number, "starts a hunk before a file is named")
        else:
            lines.skip()
    if section is not None:
        yield from section.requests()


def _extended(section: _Section, lines: Lines) -> None:
    """Read one line of git's own headers, or prose after the hunks."""
    number, line = lines.number, lines.take()
    before_hunks = section.old is None
    if line.startswith(("GIT binary patch", "Binary files ")):
        raise mismatch(number, "belongs to a binary patch, which is not supported")
    if before_hunks and line.startswith(("copy from ", "copy to ")):
        raise mismatch(number, "copies a file, which is not supported: create it instead")
    if before_hunks and line.startswith(_MODES):
        raise mismatch(number, "changes the mode of a file, which is not supported: remove it")
    if before_hunks and line.startswith(("new file mode ", "deleted file mode ")):
        if line.endswith(("120000", "160000")):
            raise mismatch(number, "belongs to a link or a submodule, which is not supported")
        if line.startswith("new") and line.endswith("755"):
            raise mismatch(
                number, "creates an executable file, which is not supported: write 100644, "
"and let the person set the mode"
            )  # fmt: skip
        section.created = line.startswith("new")
        section.deleted = not section.created
    elif before_hunks and line.startswith(("rename from ", "rename to ")):
        _, side, name = line.split(" ", 2)
        section.renamed[side] = name_of(name, number) or name
    elif line.startswith("@@ -"):
        raise mismatch(number, "starts a hunk before `---` and `+++` name its file")
