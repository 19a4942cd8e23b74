"""Splits the output of a program into plain lines, and keeps the first and last of them."""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

MAX_LINE_BYTES = 1 << 18
"""The maximum size of a line in bytes.

The rest of a longer line is dropped. Most lines with JSON diagnostics are smaller than a tenth of
this size.
"""

HEAD_LINES = 60
TAIL_LINES = 300
SHOWN_CHARACTERS = 600
"""The maximum number of characters of a line that are shown."""

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|[@-Z\\^_]?)"
)
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), 127))
"""A translation table that removes all control characters except the tab."""


def plain(line: str) -> str:
    """`line` without colours, control characters and text that a carriage return overwrites."""
    if line.isprintable():
        return line
    line = _ESCAPES.sub("", line).rstrip("\r")
    return line.rpartition("\r")[2].translate(_CONTROLS)


class LineSplitter:
    """Splits a stream of bytes into plain lines. Lines are cut to `MAX_LINE_BYTES`."""

    def __init__(self) -> None:
        self._incomplete = b""
        self._dropping = False

    def feed(self, data: bytes) -> Iterator[str]:
        """Add `data`, and yield the lines that are now complete."""
        first, *others = data.split(b"\n")
        self._append(first)
        for part in others:
            yield plain(self._incomplete.decode("utf-8", "replace"))
            self._incomplete, self._dropping = b"", False
            self._append(part)

    def end(self) -> Iterator[str]:
        """Yield the last line of the stream if it has no line end."""
        if self._incomplete:
            yield plain(self._incomplete.decode("utf-8", "replace"))
            self._incomplete = b""

    def _append(self, part: bytes) -> None:
        if not self._dropping:
            self._incomplete += part
        if len(self._incomplete) > MAX_LINE_BYTES:
            self._incomplete, self._dropping = self._incomplete[:MAX_LINE_BYTES], True


@dataclass(frozen=True, slots=True)
class Output:
    """The first and last lines of an output, without colours and line ends.

    `lines` is the number of all lines, including dropped lines. If lines in the middle were
    dropped, `head` has the first lines and `tail` has the last lines. Otherwise `head` is empty and
    `tail` has all lines.
    """

    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    lines: int = 0

    @property
    def text(self) -> str:
        """The lines, with a line that states how many were dropped."""
        dropped = self.lines - len(self.head) - len(self.tail)
        note = (f"… {dropped:,} lines are not kept …",) if dropped else ()
        return "\n".join((*self.head, *note, *self.tail))


class KeptOutput:
    """Keeps the first and the last lines of an output."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._lines = 0

    @property
    def lines(self) -> int:
        """The number of lines that were added."""
        return self._lines

    def add(self, line: str) -> None:
        """Add a line. It is cut to `SHOWN_CHARACTERS`."""
        if len(line) > SHOWN_CHARACTERS:
            line = f"{line[:SHOWN_CHARACTERS]}…"
        self._lines += 1
        (self._head if len(self._head) < HEAD_LINES else self._tail).append(line)

    def output(self) -> Output:
        """Return the kept lines, and the number of lines that were added."""
        head, tail = tuple(self._head), tuple(self._tail)
        if self._lines == len(head) + len(tail):
            return Output((), head + tail, self._lines)
        return Output(head, tail, self._lines)
