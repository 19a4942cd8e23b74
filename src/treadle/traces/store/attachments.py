"""Finds base64 in text: images, sound and files in messages."""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

SHORTEST = 1024
"""Base64 of at least this many characters is stored as an attachment."""

_BLOCK = SHORTEST // 2
_RUN = re.compile(rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{{SHORTEST},}}={{0,2}}")
_PREFIX = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w.+-]+=[\w.+-]+)*;base64,$")
_PREFIX_LENGTH = 200
_SAMPLE = 4096

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"PK\x03\x04", "application/zip"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A run of base64: its position in the text, and its decoded bytes."""

    start: int
    end: int
    media_type: str | None
    data: bytes


def may_hold_base64(text: str) -> bool:
    """Whether `text` may contain a long run of base64. The check is quick. False is always right.

    The text is checked in blocks of half the shortest length, so every long run contains a block.
    Other text rarely has a block with neither spaces nor quotation marks.
    """
    return any(
        text.find(" ", start, start + _BLOCK) < 0 and text.find('"', start, start + _BLOCK) < 0
        for start in range(0, len(text) - _BLOCK + 1, _BLOCK)
    )


def attachments(text: str) -> Iterator[Attachment]:
    """The long runs of base64 in `text`, in order. Encoding their bytes restores the same text."""
    if not may_hold_base64(text):
        return
    for match in _RUN.finditer(text):
        found = _decoded(match.group())
        if found is None:
            continue
        data, length = found
        start = match.start()
        prefix = _PREFIX.search(text[max(0, start - _PREFIX_LENGTH) : start])
        media_type = prefix.group(1) if prefix else _sniff(data)
        yield Attachment(start, start + length, media_type, data)


def is_random(run: str) -> bool:
    """Whether a run mixes digits and letters of both cases, unlike words and separator lines."""
    sample = run[:_SAMPLE]
    return (
        any(map(str.isdigit, sample))
        and any(map(str.isupper, sample))
        and any(map(str.islower, sample))
    )


def _decoded(run: str) -> tuple[bytes, int] | None:
    """The decoded bytes, and the number of decoded characters. Further characters stay text."""
    if not is_random(run):
        return None
    whole = len(run) // 4 * 4
    for length in (whole, whole - 4):
        try:
            data = base64.b64decode(run[:length], validate=True)
        except binascii.Error:
            continue
        if base64.b64encode(data).decode() == run[:length]:
            return data, length
    return None


def _sniff(data: bytes) -> str | None:
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12])
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)
