"""The output of a program as lines of plain text, of which the beginning and the end are kept."""

import re
from collections import deque
from collections.abc import Iterator

from treadle.checks.model import Output

MAX_LINE_BYTES = 1 << 18
"""Of one line; the rest of it is dropped. Messages for programs seldom take a tenth of it."""

HEAD_LINES = 60
TAIL_LINES = 300
SHOWN_CHARACTERS = 600
"""Of a line that is kept to be shown."""

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, movements
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|[@-Z\\^_]?)"
)
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), 127))
"""All but the tab."""


def plain(line: str) -> str:
    """`line` as it looks in the end: without colours, and without what was written over."""
    if line.isprintable():
        return line
    line = _ESCAPES.sub("", line).rstrip("\r")
    return line.rpartition("\r")[2].translate(_CONTROLS)


class Splitter:
    """Cuts a stream of bytes into plain lines, in memory that does not depend on their length."""

    def __init__(self) -> None:
        self._begun = b""
        self._dropping = False

    def feed(self, data: bytes) -> Iterator[str]:
        """The lines that end in `data`."""
        first, *others = data.split(b"\n")
        self._begin(first)
        for part in others:
            yield plain(self._begun.decode("utf-8", "replace"))
            self._begun, self._dropping = b"", False
            self._begin(part)

    def end(self) -> Iterator[str]:
        """The last line, if it did not end."""
        if self._begun:
            yield plain(self._begun.decode("utf-8", "replace"))
            self._begun = b""

    def _begin(self, part: bytes) -> None:
        if not self._dropping:
            self._begun += part
        if len(self._begun) > MAX_LINE_BYTES:
            self._begun, self._dropping = self._begun[:MAX_LINE_BYTES], True


class Keeper:
    """Keeps the first and the last lines of an output."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._lines = 0

    @property
    def lines(self) -> int:
        """How many came so far."""
        return self._lines

    def add(self, line: str) -> None:
        """Take in a line, cut to what is shown."""
        if len(line) > SHOWN_CHARACTERS:
            line = f"{line[:SHOWN_CHARACTERS]}…"
        self._lines += 1
        (self._head if len(self._head) < HEAD_LINES else self._tail).append(line)

    def output(self) -> Output:
        """What was kept."""
        head, tail = tuple(self._head), tuple(self._tail)
        if self._lines == len(head) + len(tail):
            return Output((), head + tail, self._lines)
        return Output(head, tail, self._lines)
