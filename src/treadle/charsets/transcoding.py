"""Converts text in another encoding to UTF-8, and back to the exact bytes of the file."""

from treadle.charsets.detection import charset_of
from treadle.charsets.model import Charset, is_text, round_trips

_RAW = 0xDC00
"""An invalid byte becomes a lone surrogate whose code point is this number plus the byte.

Such a surrogate never occurs in text, so it can be converted back to the same byte.
"""

_LONGEST = 4
"""The maximum number of bytes of a character."""


class ShiftStateError(ValueError):
    """A line does not begin in the initial state of its stateful encoding. `line` counts from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line} depends on the lines before it")
        self.line = line


class Transcoded:
    """A file in an encoding other than UTF-8, with its content converted to UTF-8 in `text`.

    `text` represents every byte of `data`, as a character or as a lone surrogate. Therefore
    `encode_part(text)` returns `data`. In a stateless encoding, any sequence of characters converts
    back to its bytes. Raises ShiftStateError if the lines of a stateful encoding depend on each
    other.
    """

    def __init__(self, data: bytes, charset: Charset) -> None:
        assert charset.codec is not None, "an unknown encoding has no text"
        self._codec = charset.codec
        self._stateful = charset.stateful
        lines = data.splitlines(keepends=True)
        if self._stateful:
            for number, line in enumerate(lines, 1):
                if not round_trips(line, self._codec):
                    raise ShiftStateError(number)
        if round_trips(data, self._codec):
            self.text = data.decode(self._codec).encode("utf-8", "surrogatepass")
        else:
            self.text = b"".join(map(self._line, lines))

    def encode_part(self, text: bytes) -> bytes:
        """Encode a part of `text` in the encoding of the file.

        The part consists of complete lines if the encoding is stateful. The caller has checked that
        new text can be encoded. Raises UnicodeError.
        """
        if self._stateful:
            lines = text.split(b"\n")
            return b"\n".join(line.decode().encode(self._codec) for line in lines)
        decoded = text.decode("utf-8", "surrogatepass")
        try:
            return decoded.encode(self._codec)
        except UnicodeEncodeError:
            return b"".join(map(self._bytes, decoded))

    def offset(self, at: int, data: bytes) -> int | None:
        """Return the offset in `text` of the byte at `at` in the file. `data` is its content.

        The offset is None inside a character. In a stateful encoding only the beginning of a line
        has an offset.
        """
        start = data.rfind(b"\n", 0, at) + 1
        before = len(self._part(data[:start]))
        if start == at:
            return before
        if at == len(data):
            return len(self.text)
        if self._stateful:
            return None
        position = start
        line = self._part(data[start : data.find(b"\n", at) + 1 or len(data)])
        for char in line.decode("utf-8", "surrogatepass"):
            if position >= at:
                break
            position += len(self._bytes(char))
            before += len(char.encode("utf-8", "surrogatepass"))
        return before if position == at else None

    def _part(self, data: bytes) -> bytes:
        if round_trips(data, self._codec):
            return data.decode(self._codec).encode("utf-8", "surrogatepass")
        return b"".join(map(self._line, data.splitlines(keepends=True)))

    def _bytes(self, char: str) -> bytes:
        code = ord(char)
        if _RAW <= code <= _RAW + 0xFF:
            return bytes([code - _RAW])
        return char.encode(self._codec)

    def _line(self, line: bytes) -> bytes:
        if round_trips(line, self._codec):
            return line.decode(self._codec).encode("utf-8", "surrogatepass")
        text: list[str] = []
        at = 0
        while at < len(line):
            part = self._character(line[at : at + _LONGEST])
            if round_trips(part, self._codec):
                text.append(part.decode(self._codec))
            else:
                text += (chr(_RAW + byte) for byte in part)
            at += len(part)
        return "".join(text).encode("utf-8", "surrogatepass")

    def _character(self, data: bytes) -> bytes:
        """Return the bytes of the first character of `data`, or the first byte if it is invalid."""
        for size in range(1, len(data) + 1):
            part = data[:size]
            if is_text(part, self._codec) and len(part.decode(self._codec)) == 1:
                return part
        return data[:1]


def as_utf8(path: str, data: bytes) -> bytes:
    """Return the text of the file at `path` as UTF-8, or `data` if its encoding is unknown."""
    if data.isascii() and b"\x1b$" not in data:
        return data
    charset = charset_of(path, data, lambda: None)
    if charset.stored is None:
        return data
    try:
        return Transcoded(data, charset).text
    except ShiftStateError:
        return data
