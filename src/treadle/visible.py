"""Foreign text shown so that nothing in it is hidden or acts on what is around it."""

import re

CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
"""Ranges of a regular expression: control characters but tab and line feed."""

UNSEEN = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Ranges too: what Unicode says may be ignored when text is shown (spaces without width, marks of
direction, fillers, tags and variations that can carry hidden text), separators of lines, and halves
of pairs. The joiners of letters and emoji, and the two variations of emoji, are not among them."""

JOINERS = "\u200c\u200d"
"""They shape some scripts and emoji. Where exact text matters, they are shown as well."""

_HIDDEN = re.compile(f"[{CONTROLS}{UNSEEN}]")
_HIDDEN_IN_LINE = re.compile(f"[{CONTROLS}\t\n{UNSEEN}]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    """`text` with each hidden or steering character as an escape; line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(_escape, text.replace("\r\n", "\n"))


def in_line(text: str) -> str:
    """`printable` on a single line: a name of a file may hold line breaks."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_IN_LINE.sub(lambda found: _SHORT.get(found[0]) or _escape(found), text)


def in_json(text: str) -> str:
    """JSON `text` with the same characters as escapes of JSON: the same value."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _HIDDEN.sub(lambda found: _units(found[0]), text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0xA0:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x1_0000 else f"\\U{code:08x}"


def _units(character: str) -> str:
    """JSON escapes the halves of a pair one by one."""
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))
