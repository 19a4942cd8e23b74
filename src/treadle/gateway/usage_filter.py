"""Takes out of a stream the one chunk with the usage that only the gateway asked for."""

import json
import re

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r)")
"""A whole line with its end."""

_LONGEST = 65_536
"""Bytes of a line that are held back; the usage of a call takes some hundred."""


class UsageFilter:
    """Fed with bytes as they come; gives them back without the lines of that chunk.

    Only a line that is not complete yet is held back: no client could read it before its end. A
    line that is too long for that chunk is passed on as it comes.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._dropped = False
        self._overlong = False

    def feed(self, chunk: bytes) -> bytes:
        """What of the stream may be passed on by now."""
        passed = b""
        if self._overlong:
            line = _LINE.match(chunk)
            end = line.end() if line else len(chunk)
            passed, chunk = chunk[:end], chunk[end:]
            self._overlong = line is None
        data = self._rest + chunk
        end = _last_end(data)
        self._rest = data[end:]
        whole = data[:end]
        if self._dropped or b'"usage"' in whole:
            whole = b"".join(line for line in _LINE.findall(whole) if self._stays(line))
        if len(self._rest) > _LONGEST:
            whole, self._rest = whole + self._rest, b""
            self._dropped, self._overlong = False, True
        return passed + whole

    def end(self) -> bytes:
        """What was held back when the stream ended."""
        rest, self._rest = self._rest, b""
        return rest if self._stays(rest) else b""

    def _stays(self, line: bytes) -> bool:
        if self._dropped and not line.strip():  # the empty line that ended it
            self._dropped = False
            return False
        self._dropped = _is_usage(line)
        return not self._dropped


def _last_end(data: bytes) -> int:
    """Where the last complete line ends; a return at the very end may be half of an end."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1))
    return end + 1


def _is_usage(line: bytes) -> bool:
    if not (line.startswith(b"data:") and b'"usage"' in line):
        return False
    try:
        chunk = json.loads(line[5:])
    except (ValueError, RecursionError):
        return False
    return isinstance(chunk, dict) and chunk.get("choices") == [] and bool(chunk.get("usage"))
