"""Text files of any size: their encoding, line endings, and positions of lines."""

import codecs
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO

BLOCK = 1 << 18
"""The number of bytes that are read at once."""

SNIFFED = 8_000
"""A NUL in this many bytes at the start of a file shows that it is binary, as in git."""

_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


class Encoding(StrEnum):
    """The encoding of a file, according to its bytes."""

    UTF_8 = "utf-8"
    UTF_8_BOM = "utf-8 with byte order mark"
    UTF_16 = "utf-16"
    UTF_32 = "utf-32"
    BINARY = "binary"
    OTHER = "not utf-8"
    """Text in some other encoding, or UTF-8 with damaged bytes."""


READABLE = frozenset({Encoding.UTF_8, Encoding.UTF_8_BOM, Encoding.OTHER})
"""Encodings whose lines can be shown."""


class LineEnds(StrEnum):
    """The line endings of a file."""

    LF = "lf"
    CRLF = "crlf"
    MIXED = "mixed"
    NONE = "none"


def sniff(head: bytes) -> Encoding:
    """The encoding according to the first bytes of a file. Later bytes may show `OTHER`."""
    for mark, encoding in (
        (codecs.BOM_UTF8, Encoding.UTF_8_BOM),
        (
            codecs.BOM_UTF32_LE,
            Encoding.UTF_32,
        ),  # before UTF-16, since its mark begins with the mark of UTF-16
        (codecs.BOM_UTF32_BE, Encoding.UTF_32),
        (codecs.BOM_UTF16_LE, Encoding.UTF_16),
        (codecs.BOM_UTF16_BE, Encoding.UTF_16),
    ):
        if head.startswith(mark):
            return encoding
    return Encoding.BINARY if b"\0" in head[:SNIFFED] else Encoding.UTF_8


def decode(data: bytes) -> str:
    """`data` as UTF-8 text of the same length: an invalid byte becomes "?"."""
    return _ESCAPED_BYTE.sub("?", data.decode("utf-8", "surrogateescape"))


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """The rest of `file` in blocks."""
    while block := file.read(BLOCK):
        yield block


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of reading a whole file. `lines` is None for a file without lines.

    `content_hash` is BLAKE2b-256 of the bytes, hexadecimal.
    """

    size: int
    encoding: Encoding
    lines: int | None
    line_ends: LineEnds | None
    content_hash: str


def survey(opened: BinaryIO) -> Survey:
    """Read a file once, in blocks, and close it. Raises OSError."""
    digest = hashlib.blake2b(digest_size=32)
    size = newlines = crlf = 0
    last = b""
    encoding = Encoding.UTF_8
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened as file:
        for block in blocks(file):
            if size == 0:
                encoding = sniff(block)
            digest.update(block)
            size += len(block)
            newlines += block.count(b"\n")
            crlf += block.count(b"\r\n") + (last == b"\r" and block.startswith(b"\n"))
            last = block[-1:]
            if encoding in READABLE and not _is_utf8(decoder, block):
                encoding = Encoding.OTHER
    if encoding in READABLE and not _is_utf8(decoder, b"", final=True):
        encoding = Encoding.OTHER
    if encoding not in READABLE:
        return Survey(size, encoding, None, None, digest.hexdigest())
    lines = newlines + (last not in {b"", b"\n"})
    return Survey(size, encoding, lines, _line_ends(newlines, crlf), digest.hexdigest())


def _is_utf8(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        decoder.reset()
        return False
    return True


def _line_ends(newlines: int, crlf: int) -> LineEnds:
    if newlines == 0:
        return LineEnds.NONE
    if crlf == 0:
        return LineEnds.LF
    return LineEnds.CRLF if crlf == newlines else LineEnds.MIXED


@dataclass(frozen=True, slots=True)
class Passage:
    """Some lines of a file: `data` begins at byte `start`, and may have been cut.

    `end` is the end of the requested lines; `start` is None if the file has fewer lines.
    `content_hash` is the hash of the whole file, as in `Survey`.
    """

    start: int | None
    end: int
    data: bytes
    encoding: Encoding
    total_lines: int
    total_bytes: int
    content_hash: str


def read_passage(opened: BinaryIO, first: int, last: int | None, limit: int) -> Passage:
    """Lines `first` to `last` (from 1, inclusive; None: to the end), cut to `limit` bytes.

    The file is read once in blocks, and then closed. A byte order mark is left out. Raises
    OSError.
    """
    digest = hashlib.blake2b(digest_size=32)
    newlines = size = 0
    encoding = Encoding.UTF_8
    start: int | None = None
    end: int | None = None
    final = b""
    with opened as file:
        for block in blocks(file):
            if size == 0:
                encoding = sniff(block)
                if first == 1:
                    start = len(codecs.BOM_UTF8) if encoding is Encoding.UTF_8_BOM else 0
            digest.update(block)
            here = block.count(b"\n")
            if start is None and newlines + here >= first - 1:
                start = size + _after_newline(block, first - 1 - newlines)
            if last is not None and end is None and newlines + here >= last:
                end = size + _after_newline(block, last - newlines)
            newlines += here
            size += len(block)
            final = block[-1:]
        if start is not None and start >= size and first > 1:
            start = None  # nothing follows the last line break
        end = size if end is None else end
        data = b""
        if start is not None and encoding in READABLE:
            file.seek(start)
            data = file.read(max(0, min(end - start, limit)))
    total_lines = newlines + (final not in {b"", b"\n"})
    return Passage(start, end, data, encoding, total_lines, size, digest.hexdigest())


def _after_newline(block: bytes, count: int) -> int:
    """The start of the line after newline number `count` of `block`."""
    position = 0
    for _ in range(count):
        position = block.index(b"\n", position) + 1
    return position
