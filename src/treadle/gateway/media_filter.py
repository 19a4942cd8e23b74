"""Removes media from JSON and from event streams while they arrive, in bounded memory."""

import re

from treadle.gateway.media_notes import media_note

_LONGEST = 4_096
"""The maximum length of a JSON string that is always kept.

A longer string is media if its beginning has no characters except those of base64 and data URLs.
"""

_END = re.compile(rb'["\\]')
_ENCODED = re.compile(rb"[\w+/=:;,.\\-]*", re.ASCII)


class MediaFilter:
    """Replaces long base64 strings in a stream of JSON by notes with their size."""

    def __init__(self) -> None:
        self._inside = False
        self._escaped = False
        self._held = bytearray()
        """The start of a string whose kind is not known yet."""
        self._text = False
        """Whether the current string is known to be text."""
        self._dropped = 0
        """The number of characters of the current string, if it is known to be media."""

    def feed(self, data: bytes) -> bytes:
        """Add `data` to the stream, and return the bytes that may be recorded."""
        out = bytearray()
        at = 0
        while at < len(data):
            if not self._inside:
                quote = data.find(b'"', at)
                end = len(data) if quote < 0 else quote + 1
                out += data[at:end]
                self._inside, at = quote >= 0, end
            elif self._escaped:
                self._add(data[at : at + 1], out)
                self._escaped, at = False, at + 1
            else:
                at = self._string(data, at, out)
        return bytes(out)

    def _string(self, data: bytes, at: int, out: bytearray) -> int:
        """Read a part of a string without escapes, and return the position after it."""
        match = _END.search(data, at)
        if match is None:
            self._add(data[at:], out)
            return len(data)
        if match[0] == b"\\":
            self._add(data[at : match.end()], out)
            self._escaped = True
            return match.end()
        self._add(data[at : match.start()], out)
        out += self._held
        if self._dropped:
            out += media_note("", self._dropped * 3 // 4).encode()
        out += b'"'
        self._held.clear()
        self._inside, self._text, self._dropped = False, False, 0
        return match.end()

    def _add(self, part: bytes, out: bytearray) -> None:
        if self._text:
            out += part
        elif self._dropped:
            self._dropped += len(part)
        else:
            self._held += part
            if len(self._held) > _LONGEST:
                if _ENCODED.fullmatch(self._held):
                    self._dropped = len(self._held)
                else:
                    self._text = True
                    out += self._held
                self._held.clear()
