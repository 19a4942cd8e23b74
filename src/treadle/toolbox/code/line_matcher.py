"""Finds lines that match a pattern, in time linear in the size of the files.

The engine is RE2. Python's own `re` may need exponential time for a pattern that a model wrote, and
a thread that runs `re` cannot be stopped.
"""

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from treadle.events.types import ErrorKind
from treadle.private_files import why_private_content
from treadle.toolbox.code.text import BLOCK, READABLE, SNIFFED, decode, sniff
from treadle.tools.contract import ToolError

LONGEST_LINE = 1 << 20
"""A line of this many bytes or more is searched in several blocks."""

LARGEST_PROGRAM = 20_000
"""The maximum number of RE2 instructions in a compiled pattern.

A typical pattern has fewer than 100 instructions.
"""

STEP = 30_000_000
"""The maximum product of bytes and instructions in one call of RE2.

A call cannot be interrupted, so it must be short. A call at this limit takes less than a second in
RE2's slowest mode. In that mode, a product of 1.3 billion took 39 s.
"""

SHOWN = 240
"""The maximum number of bytes of a line in a result.

A longer line is cut around its first match.
"""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that matches the pattern.

    `line` counts from 1. A long `text` is cut around the match.
    """

    line: int
    text: str


class Matcher:
    """A compiled pattern that finds matching lines."""

    def __init__(self, pattern: str, *, literal: bool, ignore_case: bool) -> None:
        """Compile the pattern.

        Raises ToolError of kind `validation` if RE2 does not accept the pattern, and of kind
        `limit` if the compiled pattern is too large.
        """
        import re2  # type: ignore[import-untyped]  # it ships no types

        options = re2.Options()
        options.log_errors = False
        options.never_nl = True  # a match never spans lines
        options.case_sensitive = not ignore_case
        text = re2.escape(pattern) if literal else pattern
        try:
            self._regex: Any = re2.compile(f"(?m){text}".encode(), options)
        except re2.error as error:
            reason = error.args[0]
            raise ToolError(
                ErrorKind.VALIDATION,
                f"The pattern is not valid: {reason.decode(errors='replace')}.",
                field="pattern",
                expected="a regular expression in RE2 syntax (no look-around, no back-references)",
                received=pattern[:200],
                hint="Set literal to true to search for it as plain text.",
            ) from error
        if self._regex.programsize > LARGEST_PROGRAM:
            raise ToolError(
                ErrorKind.LIMIT,
                "The pattern is too large after its repetitions are expanded.",
                field="pattern",
                received=pattern[:200],
                hint="Use fewer or smaller counted repetitions, such as `{1,100}`.",
            )
        self._longest_line = min(LONGEST_LINE, STEP // self._regex.programsize)

    def lines(
        self, file: BinaryIO, stopped: Callable[[], bool], *, consented: bool = False
    ) -> Iterator[Hit]:
        """Yield the matching lines of a file in order, or nothing if the file is not text.

        A file that contains secrets is skipped, unless `consented` states that the call may read
        the file. The file is read in blocks. The search ends if `stopped()`, which is called before
        each block, returns true. Raises OSError.
        """
        number, reported = 1, 0
        for text in _texts(file, self._longest_line, consented=consented):
            if stopped():
                return
            for hit in self._in_text(text, number):
                if hit.line > reported:
                    reported = hit.line
                    yield hit
            number += text.count(b"\n")

    def _in_text(self, text: bytes, number: int) -> Iterator[Hit]:
        text = text.replace(b"\r\n", b"\n")  # otherwise "$" would not match before "\r\n"
        position = 0
        while position < len(text):
            match = self._regex.search(text, position)
            if match is None or match.start() == len(text):
                return
            number += text.count(b"\n", position, match.start())
            start = text.rfind(b"\n", 0, match.start()) + 1
            end = text.find(b"\n", match.start())
            end = len(text) if end < 0 else end
            yield Hit(number, _around(text[start:end], match.start() - start))
            number += 1
            position = end + 1


def _texts(file: BinaryIO, longest_line: int, *, consented: bool) -> Iterator[bytes]:
    """Yield the bytes of a text file in blocks of whole lines. A very long line is split."""
    rest = b""
    head = file.read(SNIFFED)
    if sniff(head) not in READABLE or (not consented and why_private_content(head)):
        return
    file.seek(0)
    size = min(BLOCK, longest_line)
    block = file.read(size).removeprefix(codecs.BOM_UTF8)
    while block:
        block = rest + block
        cut = block.rfind(b"\n") + 1
        if not cut and len(block) >= longest_line:
            cut = len(block)
        if cut:
            yield block[:cut]
        rest = block[cut:]
        block = file.read(size)
    if rest:
        yield rest


def first_lines(file: BinaryIO, last: int) -> Iterator[str]:
    """Yield the first `last` lines of a text file. A long line is cut. Raises OSError."""
    for number in range(1, last + 1):
        head = line = file.readline(LONGEST_LINE)
        if not line:
            return
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        if number == 1:
            head = head.removeprefix(codecs.BOM_UTF8)
        yield _around(head.rstrip(b"\r\n"), 0)


def _around(line: bytes, position: int) -> str:
    """Return `line` as text. A long line is cut to the part around byte `position`."""
    if len(line) <= SHOWN:
        return decode(line)
    start = max(0, min(position - SHOWN // 4, len(line) - SHOWN))
    excerpt = line[start : start + SHOWN].decode("utf-8", "ignore")
    return f"{'…' if start else ''}{excerpt}{'…' if start + SHOWN < len(line) else ''}"
