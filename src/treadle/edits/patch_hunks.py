"""The hunks of patches, of either form, with wrong numbers and counts tolerated."""

import re
from collections.abc import Iterator

from treadle.edits.model import EditError
from treadle.edits.requests import PatchHunk
from treadle.events.types import ErrorKind

_HEADER = re.compile(r"@@+ *-(\d+)(?:,(\d+))? +\+(\d+)(?:,(\d+))? *@@")
_LOOSE_HEADER = re.compile(r"@@(?: *(?:\.\.\.|…))?(?: *@@.*)? *$")
_MARKS = (" ", "-", "+")
_NO_NEWLINE = "\\ "
_END_OF_FILE = "*** End of File"


class Lines:
    """The lines of a patch, read one after the other."""

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
        """Of the line that comes next, from 1."""
        return self._at + 1

    @property
    def text(self) -> str:
        """The line that comes next."""
        return self.texts[self._at]

    @property
    def next(self) -> str:
        """The line behind it, or nothing."""
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
        """The line so many behind the one that comes next; None behind the last."""
        place = self._at + count
        return self.texts[place] if place < len(self.texts) else None


def mismatch(number: int, what: str) -> EditError:
    """The error for a line of a patch that cannot be read."""
    return EditError(
        ErrorKind.PARSING,
        f"Line {number} of the patch {what}.",
        hint="Write a unified diff, or a patch between `*** Begin Patch` and `*** End Patch`.",
    )


def unified_hunks(lines: Lines) -> Iterator[PatchHunk]:
    """The hunks behind `---` and `+++`."""
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
    """The lines that the counts cover, None if the counts are wrong."""
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
    """Whether no line of a hunk comes next."""
    if line is None or not line.startswith(_MARKS) or line.rstrip() == "--":
        return True
    return line.startswith("--- ") and following is not None and following.startswith("+++ ")


def _until_boundary(lines: Lines) -> list[str]:
    """The lines up to the next hunk or file; empty ones at their end are not of the hunk."""
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
    """The hunks behind `*** Update File:`."""
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
        line += 1  # a hunk that only adds names the line before it
    return PatchHunk(
        tuple(found), line, anchors, at_end,
        no_newline_old=bool(unended & {" ", "-"}), no_newline_new=bool(unended & {" ", "+"}),
    )  # fmt: skip
