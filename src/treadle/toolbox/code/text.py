"""Reads text files of any size in blocks, with their encoding, line endings and line positions."""

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
"""A file with a NUL byte among its first 8,000 bytes counts as binary, as in git."""

_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


class Encoding(StrEnum):
    """The encoding of a file, according to its bytes."""

    UTF_8 = "utf-8"
    UTF_8_BOM = "utf-8 with byte order mark"
    UTF_16 = "utf-16"
    UTF_32 = "utf-32"
    BINARY = "binary"
    OTHER = "not utf-8"
    """Text in another encoding, or UTF-8 text with invalid bytes."""


READABLE = frozenset({Encoding.UTF_8, Encoding.UTF_8_BOM, Encoding.OTHER})
"""The encodings of files whose lines can be shown."""


class LineEnds(StrEnum):
    """The line endings of a file."""

    LF = "lf"
    CRLF = "crlf"
    MIXED = "mixed"
    NONE = "none"


def sniff(head: bytes) -> Encoding:
    """Return the encoding that the first bytes of a file indicate.

    The whole file may still have the encoding `OTHER`.
    """
    for mark, encoding in (
        (codecs.BOM_UTF8, Encoding.UTF_8_BOM),
        (
            codecs.BOM_UTF32_LE,
            Encoding.UTF_32,
        ),  # checked before UTF-16, whose byte order mark is a prefix of this mark
        (codecs.BOM_UTF32_BE, Encoding.UTF_32),
        (codecs.BOM_UTF16_LE, Encoding.UTF_16),
        (codecs.BOM_UTF16_BE, Encoding.UTF_16),
    ):
        if head.startswith(mark):
            return encoding
    return Encoding.BINARY if b"\0" in head[:SNIFFED] else Encoding.UTF_8


def decode(data: bytes) -> str:
    """Decode `data` as UTF-8.

    Each invalid byte becomes "?", so the length in bytes stays the same.
    """
    return _ESCAPED_BYTE.sub("?", data.decode("utf-8", "surrogateescape"))


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the rest of `file` in blocks of at most `BLOCK` bytes."""
    while block := file.read(BLOCK):
        yield block


@dataclass(frozen=True, slots=True)
class Survey:
    """The properties of a whole file.

    `size` is in bytes. `lines` and `line_ends` are None if the encoding is not in `READABLE`.
    `content_hash` is the BLAKE2b-256 hash of the content in hexadecimal.
    """

    size: int
    encoding: Encoding
    lines: int | None
    line_ends: LineEnds | None
    content_hash: str


def survey(opened: BinaryIO) -> Survey:
    """Read a file once in blocks, close it, and return its properties. Raises OSError."""
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
    """A range of lines of a file.

    `data` has the bytes of the lines, and `start` is their offset in the file. `end` is the offset
    at which the requested lines end. If `data` was cut, it ends before `end`. `start` is None if
    the file ends before the first requested line. `content_hash` is the hash of the whole file, as
    in `Survey`.
    """

    start: int | None
    end: int
    data: bytes
    encoding: Encoding
    total_lines: int
    total_bytes: int
    content_hash: str


def read_passage(opened: BinaryIO, first: int, last: int | None, limit: int) -> Passage:
    """Read lines `first` to `last` of a file, cut to at most `limit` bytes.

    Lines count from 1, and `last` is inclusive. If `last` is None, the lines up to the end of the
    file are read. The function reads the file in blocks and closes it. A byte order mark is left
    out. Raises OSError.
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
            start = None  # no line follows the last line break
        end = size if end is None else end
        data = b""
        if start is not None and encoding in READABLE:
            file.seek(start)
            data = file.read(max(0, min(end - start, limit)))
    total_lines = newlines + (final not in {b"", b"\n"})
    return Passage(start, end, data, encoding, total_lines, size, digest.hexdigest())


def _after_newline(block: bytes, count: int) -> int:
    """Return the position in `block` after its newline number `count`, or 0 if `count` is 0."""
    position = 0
    for _ in range(count):
        position = block.index(b"\n", position) + 1
    return position
