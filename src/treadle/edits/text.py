"""Represents the content of a file as bytes and lines, with its line ends and byte order mark."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

from treadle.charsets import is_utf8
from treadle.edits.model import EditError, Hunk
from treadle.events.types import ErrorKind

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8. It is never shown to a model and never part of an edit."""

WHITE_SPACE = b" \t\n"
"""The bytes that count as white space in a text whose line ends are all LF."""

REPLACEMENT = "\ufffd"
"""The character that decoders write for bytes that are not UTF-8.

An edit must not write this character to a file with such bytes.
"""

MAX_CONTEXT_LINES = 3
MAX_CONTEXT_BYTES = 2_000
"""The limits of the context lines before a hunk, and of the context lines after it."""

_WIDE = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


class Source:
    """The original content of a file, against which edits are matched.

    A line ends with LF, as in search and grep, or with CR in a file without LF. `plain` is the
    content with every line end (CRLF, LF, CR) replaced by LF. The text of a model is compared with
    `plain`.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.text_start = len(BOM) if data.startswith(BOM) else 0
        """The offset at which the text begins, after a byte order mark."""
        self._last_line_query = (0, 1)  # the last offset passed to `line_of`, and its line

    def check(self) -> None:
        """Raise EditError unless the content is text in UTF-8 or another superset of ASCII."""
        for mark, encoding in _WIDE:
            if self.data.startswith(mark):
                raise EditError(
                    ErrorKind.VALIDATION,
                    f"{self.path} is {encoding} text, and only UTF-8 can be edited.",
                    path=self.path,
                    hint="Ask the person to convert it to UTF-8 first.",
                )
        if b"\0" in self.data:
            raise EditError(
                ErrorKind.VALIDATION,
                (
                    f"{self.path} has NUL bytes: it is a binary file or UTF-16, which cannot be "
                    "edited."
                ),
                path=self.path,
                hint="Only text files in UTF-8 can be edited.",
            )

    @cached_property
    def line_break(self) -> bytes:
        """The byte that ends a line.

        It is CR in a file with CR and without LF, and otherwise LF.
        """
        return b"\r" if b"\n" not in self.data and b"\r" in self.data else b"\n"

    @cached_property
    def _has_cr(self) -> bool:
        return b"\r" in self.data

    @cached_property
    def readable(self) -> bool:
        """Whether all bytes are valid UTF-8."""
        return is_utf8(self.data)

    @cached_property
    def plain(self) -> bytes:
        """The content, including a byte order mark, with every line end replaced by LF."""
        return with_plain_ends(self.data)

    @cached_property
    def _crlf_positions(self) -> list[int]:
        """Offsets in `plain` of the line ends that are CRLF in the file."""
        if b"\r\n" not in self.data:
            return []
        found = re.finditer(rb"\r\n", self.data)
        return [match.start() - count for count, match in enumerate(found)]

    def origin(self, offset: int) -> int:
        """The offset in the file of the byte at `offset` of `plain`."""
        return offset + bisect_left(self._crlf_positions, offset)

    @cached_property
    def _plain_starts(self) -> list[int]:
        """The offset of each line of `plain`. The last element is the length of `plain`."""
        lengths = map((1).__add__, map(len, self.plain[self.text_start :].split(b"\n")))
        starts = list(accumulate(lengths, initial=self.text_start))
        starts[-1] = len(self.plain)
        return starts

    @cached_property
    def _stripped(self) -> list[bytes]:
        return [line.strip(WHITE_SPACE) for line in self.plain[self.text_start :].split(b"\n")]

    def plain_range(self, first: int, last: int) -> tuple[int, int]:
        """The offsets in `plain` at which the lines `first` and `last` begin.

        Lines count from 0.
        """
        return self._plain_starts[first], self._plain_starts[last]

    def plain_lines(self, first: int, last: int) -> list[bytes]:
        """Lines `first` to `last - 1` of `plain`, counted from 0, each with its line end."""
        starts = self._plain_starts[first : last + 1]
        return [self.plain[start:end] for start, end in pairwise(starts)]

    @property
    def plain_count(self) -> int:
        """The number of lines of `plain`, including an empty last line after a final line end."""
        return len(self._plain_starts) - 1

    def positions_of_lines(self, stripped: Sequence[bytes]) -> Iterator[int]:
        """Yield the numbers of the lines in `plain`, from 0, at which the lines `stripped` begin.

        White space at the start and the end of each line is ignored.
        """
        key = next((number for number, line in enumerate(stripped) if line), 0)
        line = -1
        while True:
            try:
                line = self._stripped.index(stripped[key], line + 1)
            except ValueError:
                return
            first = line - key
            if first >= 0 and self._stripped[first : first + len(stripped)] == stripped:
                yield first

    @cached_property
    def indents_by_tabs(self) -> bool:
        """Whether more lines begin with a tab than with two spaces."""
        return self.data.count(b"\n\t") > self.data.count(b"\n  ")

    def plain_line_at(self, offset: int) -> int:
        """The line of `plain`, from 0, that contains the byte at `offset` of the file."""
        return with_plain_ends(self.data[self.text_start : offset]).count(b"\n")

    @cached_property
    def prevailing_end(self) -> bytes:
        """The most frequent line end, or LF in a file without line ends."""
        crlf = self.data.count(b"\r\n")
        counts = (
            (self.data.count(b"\n") - crlf, b"\n"),
            (crlf, b"\r\n"),
            (self.data.count(b"\r") - crlf, b"\r"),
        )
        return max(counts, key=lambda counted: counted[0])[1]

    def end_near(self, offset: int) -> bytes:
        """The last line end before `offset`.

        If no line ends before `offset`, this is the most frequent line end of the file.
        """
        last = self.data.rfind(b"\n", 0, offset)
        if self._has_cr:
            last = max(last, self.data.rfind(b"\r", 0, offset))
        if last < 0:
            return self.prevailing_end
        return line_end(self.data[max(0, last - 1) : last + 1]) or b"\n"

    def line_of(self, offset: int) -> int:
        """The line, from 1, that contains the byte at `offset`."""
        known, line = self._last_line_query if self._last_line_query[0] <= offset else (0, 1)
        line += self.data.count(self.line_break, known, offset)
        self._last_line_query = (offset, line)
        return line

    def line_start(self, offset: int) -> int:
        """The start of the line that contains `offset`.

        The result is never before the start of the text.
        """
        return max(self.text_start, self.data.rfind(self.line_break, 0, offset) + 1)

    def line_stop(self, offset: int) -> int:
        """The offset after the line that contains `offset`, including its line end."""
        return self.data.find(self.line_break, offset) + 1 or len(self.data)

    def starts_line(self, offset: int) -> bool:
        """Whether a line begins at `offset`."""
        return self.line_start(offset) == offset

    def splits_character(self, offset: int) -> bool:
        """Whether `offset` is inside a character or a CRLF."""
        data = self.data
        if not 0 < offset < len(data):
            return False
        if data[offset - 1 : offset + 1] == b"\r\n":
            return True
        if data[offset] & 0xC0 != 0x80:
            return False
        for start in range(offset - 1, max(-1, offset - 4), -1):
            if data[start] & 0xC0 == 0xC0:
                length = 2 if data[start] < 0xE0 else 3 if data[start] < 0xF0 else 4
                return start + length > offset and is_utf8(data[start : start + length])
        return False

    def lines_text(self, starts: Sequence[int]) -> str:
        """The line numbers of the offsets as a phrase, such as `lines 3, 17 and 40`."""
        numbers = list(dict.fromkeys(str(self.line_of(start)) for start in starts[:50]))
        if len(numbers) == 1:
            return f"line {numbers[0]}"
        if len(numbers) > 10 or len(starts) > 50:
            return f"lines {', '.join(numbers[:10])} and more"
        return f"lines {', '.join(numbers[:-1])} and {numbers[-1]}"


def with_plain_ends(data: bytes) -> bytes:
    """`data` with every line end (CRLF or CR) replaced by LF."""
    if b"\r" not in data:
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def line_end(line: bytes) -> bytes:
    """The line end of a line. It is CRLF, LF, CR or empty."""
    for end in (b"\r\n", b"\n", b"\r"):
        if line.endswith(end):
            return end
    return b""


def split_lines(data: bytes, line_break: bytes = b"\n") -> list[bytes]:
    """The lines of `data` with their ends."""
    lines = [line + line_break for line in data.split(line_break)]
    lines[-1] = lines[-1][: -len(line_break)]
    return lines if lines[-1] else lines[:-1]


def line_break_of(hunks: Sequence[Hunk]) -> bytes:
    """The byte that ends a line in the text of `hunks`.

    It is CR if the text contains CR and no LF, and otherwise LF.
    """
    shown = b"".join(part for h in hunks for part in (h.before, h.old, h.new, h.after))
    return b"\r" if b"\r" in shown and b"\n" not in shown else b"\n"


def encode_utf8(text: str, description: str) -> bytes:
    """Encode a model's text as UTF-8. Raises EditError for a lone surrogate and for NUL."""
    if "\0" in text:
        raise EditError(
            ErrorKind.VALIDATION,
            (
                f"{description} has a NUL at character {text.index(chr(0))}, which is not allowed "
                "in a text file."
            ),
            hint="Write the intended character, or the escape that the language has for it.",
        )
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise EditError(
            ErrorKind.VALIDATION,
            (
                f"{description} has an unpaired surrogate at character {error.start}, which is not "
                "valid text."
            ),
            hint="Write the character itself, or both halves of its escape.",
        ) from error


def context_before(
    data: bytes, start: int, line_break: bytes = b"\n", text_start: int = 0
) -> bytes:
    """The complete lines before `start`, up to the limits of the context of a hunk."""
    minimum = max(text_start, start - MAX_CONTEXT_BYTES)
    begin = start
    for _ in range(MAX_CONTEXT_LINES):
        if begin <= text_start:
            break
        found = max(text_start, data.rfind(line_break, text_start, begin - 1) + 1)
        if found < minimum:
            break
        begin = found
    return data[begin:start]


def context_after(data: bytes, end: int, line_break: bytes = b"\n") -> bytes:
    """The complete lines from `end` on, up to the limits of the context of a hunk."""
    stop = end
    for _ in range(MAX_CONTEXT_LINES):
        found = data.find(line_break, stop) + 1 or len(data)
        if found > end + MAX_CONTEXT_BYTES:
            break
        stop = found
    return data[end:stop]
