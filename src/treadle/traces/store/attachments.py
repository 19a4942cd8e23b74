"""Finds base64 in text: images, sound and files in messages."""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass

SHORTEST = 1024
"""The minimum length, in characters, of base64 that is stored as an attachment."""

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
    """A sequence of base64 in a text, with its position and its decoded bytes."""

    start: int
    end: int
    media_type: str | None
    data: bytes


def may_hold_base64(text: str) -> bool:
    """Return whether `text` may contain a long sequence of base64. If False, it contains none.

    The check is quick. It reads blocks of half the minimum length, so every long sequence contains
    a block. Other text rarely has a block without spaces and quotation marks.

    """
    return any(
        text.find(" ", start, start + _BLOCK) < 0 and text.find('"', start, start + _BLOCK) < 0
        for start in range(0, len(text) - _BLOCK + 1, _BLOCK)
    )


def attachments(text: str) -> Iterator[Attachment]:
    """Yield the long sequences of base64 in `text`, in order.

    Encoding the bytes of a sequence restores its text.
    """
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
    """Return whether a sequence of characters mixes digits and letters of both cases.

    Words and separator lines do not mix them.
    """
    sample = run[:_SAMPLE]
    return (
        any(map(str.isdigit, sample))
        and any(map(str.isupper, sample))
        and any(map(str.islower, sample))
    )


def _decoded(run: str) -> tuple[bytes, int] | None:
    """Return the decoded bytes, and the number of decoded characters.

    The result is None if the sequence is not base64. Characters that are not decoded stay text.
    """
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
