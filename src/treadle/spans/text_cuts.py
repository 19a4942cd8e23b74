r"""Positions at which a text may be cut: not within a visible character, and not within an escape.

Two kinds of escapes are known. Recorded contents often have escapes of JSON, such as `\n` and
`\u00e9`. The pair `\ud83d\ude00` is one escape. `traces.fencing` writes escapes such as `\u{202e}`.
"""

import re
import unicodedata

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]{1,6}\}|.)",
    re.DOTALL,
)
_LONGEST_ESCAPE = 12
_LONGEST_CHARACTER = 32
"""The maximum number of code points of a visible character. Longer characters may be cut."""
_JOINER = "\u200d"
_NEVER_FIRST = ("\ufe00", "\ufe0f"), ("\U0001f3fb", "\U0001f3ff"), ("\udc00", "\udfff")
"""Ranges that extend the preceding character: variation selectors, skin tones, low surrogates."""
_FLAGS = ("\U0001f1e6", "\U0001f1ff")


def cut_before(text: str, position: int) -> int:
    """Return the last position at or before `position` at which `text` may be cut."""
    return _around(text, position)[0]


def cut_behind(text: str, position: int) -> int:
    """Return the first position at or after `position` at which `text` may be cut."""
    return _around(text, position)[1]


def _around(text: str, position: int) -> tuple[int, int]:
    if not 0 < position < len(text):
        edge = max(0, min(position, len(text)))
        return edge, edge
    found = _escape_around(text, position)
    if found is not None:
        return found
    first = last = position
    while position - first < _LONGEST_CHARACTER and _inside(text, first):
        first -= 1
    while last - position < _LONGEST_CHARACTER and last < len(text) and _inside(text, last):
        last += 1
    return first, last


def _escape_around(text: str, position: int) -> tuple[int, int] | None:
    """Return the bounds of the escape around `position`, or None."""
    for start in range(max(0, position - _LONGEST_ESCAPE + 1), position):
        if text[start] == "\\" and not _escaped(text, start):
            found = _ESCAPE.match(text, start)
            if found is not None and found.end() > position:
                return start, found.end()
    return None


def _escaped(text: str, position: int) -> bool:
    """Return whether the backslash at `position` is itself escaped by a backslash."""
    before = position
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (position - before) % 2 == 1


def _inside(text: str, position: int) -> bool:
    """Return whether `position` is within a visible character."""
    if position == 0:
        return False
    before, here = text[position - 1], text[position]
    if here.isascii():
        return before == "\r" and here == "\n"
    if _JOINER in (before, here) or unicodedata.category(here)[0] == "M":
        return True
    if any(low <= here <= high for low, high in _NEVER_FIRST):
        return True
    return _flag(here) and _flags_before(text, position) % 2 == 1


def _flag(character: str) -> bool:
    return _FLAGS[0] <= character <= _FLAGS[1]


def _flags_before(text: str, position: int) -> int:
    count = 0
    while count < position and count < _LONGEST_CHARACTER and _flag(text[position - count - 1]):
        count += 1
    return count
