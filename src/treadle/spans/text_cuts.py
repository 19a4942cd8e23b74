r"""Where a text may be cut: never inside of a character as people see it, nor of an escape.

Escapes are those of JSON (`\n`, `\u00e9`, `\ud83d\ude00` as one), which recorded contents are full
of, and those of `fencing` (`\u{202e}`).
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
"""Code points after which one that goes on is cut all the same."""
_JOINER = "\u200d"
_NEVER_FIRST = ("\ufe00", "\ufe0f"), ("\U0001f3fb", "\U0001f3ff"), ("\udc00", "\udfff")
"""Variations, colours of skin, second halves of surrogates."""
_FLAGS = ("\U0001f1e6", "\U0001f1ff")


def cut_before(text: str, place: int) -> int:
    """The last place up to `place` where `text` may be cut."""
    return _around(text, place)[0]


def cut_behind(text: str, place: int) -> int:
    """The first place from `place` on where `text` may be cut."""
    return _around(text, place)[1]


def _around(text: str, place: int) -> tuple[int, int]:
    if not 0 < place < len(text):
        edge = max(0, min(place, len(text)))
        return edge, edge
    found = _escape_around(text, place)
    if found is not None:
        return found
    first = last = place
    while place - first < _LONGEST_CHARACTER and _inside(text, first):
        first -= 1
    while last - place < _LONGEST_CHARACTER and last < len(text) and _inside(text, last):
        last += 1
    return first, last


def _escape_around(text: str, place: int) -> tuple[int, int] | None:
    """The bounds of the escape that `place` is inside of."""
    for start in range(max(0, place - _LONGEST_ESCAPE + 1), place):
        if text[start] == "\\" and not _escaped(text, start):
            found = _ESCAPE.match(text, start)
            if found is not None and found.end() > place:
                return start, found.end()
    return None


def _escaped(text: str, place: int) -> bool:
    """Whether another backslash precedes the one at `place`."""
    before = place
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (place - before) % 2 == 1


def _inside(text: str, place: int) -> bool:
    """Whether a character goes on at `place`."""
    if place == 0:
        return False
    before, here = text[place - 1], text[place]
    if here.isascii():
        return before == "\r" and here == "\n"
    if _JOINER in (before, here) or unicodedata.category(here)[0] == "M":
        return True
    if any(low <= here <= high for low, high in _NEVER_FIRST):
        return True
    return _flag(here) and _flags_before(text, place) % 2 == 1


def _flag(character: str) -> bool:
    return _FLAGS[0] <= character <= _FLAGS[1]


def _flags_before(text: str, place: int) -> int:
    count = 0
    while count < place and count < _LONGEST_CHARACTER and _flag(text[place - count - 1]):
        count += 1
    return count
