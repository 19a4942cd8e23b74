"""Shows foreign text so that nothing in it is hidden or changes the text around it.

Every output uses this module to decide which characters are hidden. The page has the same list in
`web/src/text/visible.ts`. A test compares both lists.
"""

import re

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
"""Ranges of a regular expression: control characters except tab and line feed."""

_UNSEEN = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Ranges of characters that programs usually show as nothing, so they can carry hidden text.

They are spaces without width, marks of the writing direction, fillers, tags and variation
selectors. Line separators and halves of surrogate pairs are included. The joiners of letters and
emoji, and the two variation selectors of emoji, are not included.
"""

_JOINERS = "\u200c\u200d"
"""Joiners, which change the shape of some scripts and emoji.

Only `with_control_pictures` and `in_braces` replace them.
"""

_HIDDEN = re.compile(f"[{_CONTROLS}{_UNSEEN}]")
_HIDDEN_IN_LINE = re.compile(f"[{_CONTROLS}\t\n{_UNSEEN}]")
_INEXACT_IN_LINE = re.compile(f"[{_CONTROLS}\n{_UNSEEN}{_JOINERS}]")
_INEXACT = re.compile(rf"[{_CONTROLS}{_UNSEEN}{_JOINERS}]|\\(?=u\{{)")
_BRACED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    """Escape each hidden character and each control character in `text`.

    Line ends and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(_escape, text.replace("\r\n", "\n"))


def in_line(text: str) -> str:
    """Return `printable(text)` on a single line, since a file name may contain line breaks."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_IN_LINE.sub(lambda found: _SHORT.get(found[0]) or _escape(found), text)


def in_json(text: str) -> str:
    """Write hidden characters and control characters of JSON text as JSON escapes.

    The value of the JSON does not change.
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return _HIDDEN.sub(lambda found: _units(found[0]), text)


def with_control_pictures(text: str) -> str:
    """Return `text` on a single line, with pictures such as ␛ for hidden characters and joiners."""
    return _INEXACT_IN_LINE.sub(lambda found: _picture(ord(found[0])), text)


def in_braces(text: str) -> str:
    r"""Escape hidden characters and joiners in the form `\u{202e}`. `from_braces` reverses it."""
    return _INEXACT.sub(lambda found: braced(found[0]), text)


def braced(character: str) -> str:
    """Escape one character in the form of `in_braces`."""
    return f"\\u{{{ord(character):x}}}"


def from_braces(text: str) -> str:
    """Restore the text that `in_braces` escaped."""
    return _BRACED.sub(lambda found: chr(int(found[1], 16)), text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0xA0:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x1_0000 else f"\\U{code:08x}"


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\u2039U+{code:04X}\u203a"


def _units(character: str) -> str:
    """Return the JSON escape of a character.

    JSON escapes each half of a surrogate pair separately.
    """
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))
