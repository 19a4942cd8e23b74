# ruff: noqa: E501  (a pattern on one line is easier to read)
"""The first scan of text. It finds the parts with possible secrets, and the detectors to run.

RE2 matches the patterns on bytes in one pass. They match at least everything that the detectors
find, and tests check this. The automaton must stay small, since building a state takes RE2 a
hundred times as long as reading a byte. A count such as `{0,24}` within another count multiplies
the states. Therefore the patterns here repeat with `*` where the detectors count.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from treadle.secrets.detector import Detector
from treadle.secrets.escapes import BASE64_SCREEN
from treadle.secrets.escapes import SCREEN as ESCAPE
from treadle.secrets.names import KEYWORDS, STRONG_WORDS, WEAK_KEYWORDS
from treadle.secrets.randomness import MIXED_CASE
from treadle.secrets.shapes import DETECTORS
from treadle.secrets.tables import (
    CSV_SCREEN,
    FIRST_LINE_ENDS,
    FIRST_SCREEN,
    LAST_COLUMN,
    NAMED_SCREENS,
)
from treadle.secrets.vendors import FAMILIES, Family, dashed_families

if TYPE_CHECKING:
    import re2  # type: ignore[import-untyped]  # it brings no types

_SPACE = r"[\t-\r\x1c-\x20\x80-\xff]"
r"""The bytes of characters that `\s` matches. A space outside of ASCII has two or three bytes."""
_QUOTED = r"[^\s\"'`\\]"
_BARE = r"[A-Za-z0-9+/_.~!@#$%^*?:&-]"
_MARKED = r"[0-9!@#$%^&*+~?=|;,\x80-\xff]"
"""A secret contains a digit or one of these characters."""


def _value(plain: str, marked: str, least: int) -> str:
    """Return a pattern for at least `least` characters, with one of `marked` among them."""
    early = "|".join(
        f"{plain}{{{ahead}}}{marked}{plain}{{{least - 1 - ahead}}}" for ahead in range(least)
    )
    return rf"(?:{early}|{plain}{{{least}}}{plain}*{marked})"


_OPEN = r"(?:@|[rRbBuULN]{1,2}#*)?\\*[\"'`]+"
_STRONG_QUOTED = rf"{_OPEN}{_value(_QUOTED, _MARKED, 6)}"
_STRONG_BARE = _value(_BARE, r"[0-9!@#$%^*~+?&]", 6)
_STRONG_LETTERS = rf"(?:{_OPEN})?[A-Za-z]*{MIXED_CASE.pattern}"
_STRONG = rf"(?:{_STRONG_QUOTED}|(?:\[\[)?{_STRONG_BARE}|{_STRONG_LETTERS})"
_WEAK_QUOTED = rf"{_OPEN}{_value(_QUOTED, '[0-9]', 16)}"
_WEAK_BARE = _value(_BARE, "[0-9]", 16)
_WEAK_VALUE = rf"(?:{_WEAK_QUOTED}|(?:\[\[)?{_WEAK_BARE}|{_STRONG_LETTERS})"

_OPTIONAL_WORDS = r"(?:(?:is|was|are|=|ist|lautet|:|es|est|jest|er|\xc3[\xa9\xa8\xa4]r?|will be|should be|has been)(?: (?:now|still|currently|jetzt|(?:set|reset|changed|updated|rotated)(?: to)?))?|-|\xe2\x80[\x93\x94])"
_CLOSES = rf"(?:[\"'`*\\\])}}]|{_SPACE})*"


def _assigned(name: str, value: str, quoted: str, bare: str) -> tuple[str, ...]:
    """Return patterns for a name and its value, one for each syntax that `assignments` detects.

    `assignments` is the module that detects secrets by the names before them.
    """
    return (
        # An operator joins name and value. A type may precede the value, and a function may
        # surround it.
        (
            rf"{name}(?:\(\))?{_CLOSES}(?::[A-Za-z\[\]|&'* ]*=|[:?+]=|<<<|=>|->|\xe2\x86\x92|\xef\xbc\x9a|={{2,3}}|[:=>]|\|+=?|\?\?=?|\?:)(?:{_SPACE}|[|>+\[/#*;-]|\\+[nrt])*"
            rf"(?:(?:new{_SPACE})?[A-Za-z.:]+\((?:default=)?)?{value}"
        ),
        rf"{name}{_CLOSES}[,({{]{_SPACE}*{quoted}",
        # Name and value are two fields.
        (
            rf"{name}[\"'\\]*(?:,|:{_SPACE}*\{{|{_SPACE}[a-z:-]+=\"[^\n]*)?(?:{_SPACE}|\\+[nrt])*[\"'\\<>]*(?:[a-z]+:|Parameter)?[vV]alue[\"'\\]*"
            rf"{_SPACE}*[:=>]{_SPACE}*{value}"
        ),
        # Words or only spaces are between name and value.
        (
            rf"{name}[`\"'*\\\])}}]*(?:{_SPACE}for{_SPACE}[^\s]+)?{_SPACE}+"
            rf"(?:(?:{_OPTIONAL_WORDS}:?(?:{_SPACE}+=)?|or|to|--body|--value|[aA]s{_SPACE}[sS]tring{_SPACE}=)(?:{_SPACE}|=)+)?{value}"
        ),
        rf"{name}(?:{_SPACE}(?:[\[<(]|\xc2\xab)|\xe6\x98\xaf|\xe4\xb8\xba|\xe3\x81\xaf){_STRONG_BARE}",
        rf"{name}\"(?:\r?\n|\\r\\n){{2}}{value}",
        rf"{name}</[a-zA-Z]+>{_SPACE}*<[a-zA-Z]+>{bare}",
    )


_TAIL = r"[A-Za-z0-9_-]*"
_KEYWORDS = "".join(
    character if character.isascii() else "".join(f"\\x{byte:02x}" for byte in character.encode())
    for character in KEYWORDS.replace("\\", r"\\").replace("?", r"\?")
)
_KEYWORDS = _KEYWORDS.replace("|_pw|_PW|Pw|pw|PW", r"|(?:_pw|_PW|Pw|\b(?:pw|PW))(?:\b|[0-9_])")
_WEAK = WEAK_KEYWORDS.replace("?", r"\?")
_WEAK_NAME = rf"(?:{_WEAK}){_TAIL}"
_STRONG_KEYWORDS = "|".join(word for word in _KEYWORDS.split("|") if word not in _WEAK.split("|"))
_STRONG_NAME = rf"(?:{_STRONG_KEYWORDS}|(?i:{'|'.join(STRONG_WORDS)})[_. -]?(?:{_WEAK})){_TAIL}"
_WORD_BEGINS = r"(?:^|[^A-Za-z0-9-]|\\[nrtbf]|\\u[0-9a-fA-F]{4}|%(?:25)*[0-9A-Fa-f]{2}|[0-9]m)"


def _vendors(least: int) -> str:
    """Return a pattern for a prefix of a vendor and at least `least` characters after it."""
    keys, dashed = (_keys(least, families) for families in (FAMILIES, dashed_families()))
    return f"{_WORD_BEGINS}(?:{keys})|-(?:{dashed})"


def _keys(least: int, families: Iterable[Family]) -> str:
    by_body: dict[str, list[str]] = {}
    for family in families:
        body = f"(?:{family.body}|%){{{min(least, family.least)}}}"
        by_body.setdefault(body, []).extend(map(re.escape, family.prefixes))
    return "|".join(f"(?:{'|'.join(prefixes)}){body}" for body, prefixes in by_body.items())


_COLOUR = r"(?:\x1b|\\(?:u001[bB]|x1[bB]|033|e))\["
_SHARED = (
    *(screen.replace("SPACE", _SPACE) for detector in DETECTORS for screen in detector.screen),
    rf"variable{_SPACE}+\\*\"[A-Za-z0-9_-]*(?:{_KEYWORDS})",
    r"input_value=[\"']",
    rf"(?:earer|EARER|asic|ASIC|uthorization|ookie)[^A-Za-z0-9\n]*{ESCAPE}",
    r"%3[aA]%2[fF]%2[fF]",
)
_BETWEEN = rf"(?:[\"'`*\\\])}}\[({{<>|:=,&?+-]|\|[+-]?{_SPACE}+(?://|[#;])|\xc2\xab|\xe2\x80[\x93\x94]|\xe6\x98\xaf|\xe4\xb8\xba|\xe3\x81\xaf|{_SPACE})*"
_WORDS = (
    r"(?:(?:[a-z]+:|Parameter)?[vV]alue|is|was|are|ist|lautet|es|est|to|or|body|[sS]tring|str|Final|Optional|None|bytes|[aA]s|default|Some|char|new|jest|will be|should be|has been|now|still|currently|jetzt|(?:re)?set|changed|updated|rotated"
    rf"|[nrt]|/?[a-zA-Z]+>|[A-Za-z.:]+\(|[a-z:-]+=\"[^\"\s]*\"|for{_SPACE}[^\s]+)"
)
_FIRST = "|".join(
    (
        _vendors(6),
        rf"(?:{_KEYWORDS}){_TAIL}{_BETWEEN}(?:{_WORDS}{_BETWEEN})*(?:{_STRONG}|[A-Za-z0-9]*{ESCAPE})",
        rf"{_COLOUR}[0-9;]*m[A-Za-z0-9]",
        BASE64_SCREEN.replace("{10}", "{4}"),
        rf"(?:{_KEYWORDS}){_TAIL}{FIRST_LINE_ENDS}",
        FIRST_SCREEN,
        *_SHARED,
    )
)
"""The pattern for the whole text. It reads every byte, so its automaton must be small."""
_SECOND = "|".join(
    (
        _vendors(12),
        *_assigned(_STRONG_NAME, _STRONG, _STRONG_QUOTED, _STRONG_BARE),
        *_assigned(_WEAK_NAME, _WEAK_VALUE, _WEAK_QUOTED, _WEAK_BARE),
        rf"--?(?:[A-Za-z]+-)*{_WEAK_NAME}[\"']?(?:{_SPACE}|=)+{_STRONG}",
        # Text that is a secret only after its escapes are decoded.
        rf"(?:{_KEYWORDS}){_TAIL}[^A-Za-z0-9\n]*[A-Za-z0-9]*[^A-Za-z0-9\n]*{ESCAPE}",
        rf"{_COLOUR}[0-9;]*m[A-Za-z0-9+/_.~-]{{16}}",
        rf"[A-Za-z0-9]{_COLOUR}[0-9;]*m[A-Za-z0-9]",
        BASE64_SCREEN,
        rf"{_STRONG_NAME}(?:{'|'.join((CSV_SCREEN, *NAMED_SCREENS))})",
        rf"{LAST_COLUMN[0]}{_STRONG_NAME}{LAST_COLUMN[1]}",
        *_SHARED,
    )
)
"""The pattern for the text around a match of the first pattern. It decides if detectors run."""

_NAME, _VALUE = 96, 160
"""The search for the second pattern begins `_NAME` bytes before a match of the first pattern.

If it finds nothing, the next search for the first pattern begins `_VALUE` bytes before its end.
"""
_AROUND = 480
"""The number of bytes after a match of the first pattern that the second pattern reads."""
_OVERLAP = 300
_LEAD = 256
"""A window begins this many bytes before a match, since a secret may begin there."""
_WINDOW = 700
"""A window ends this many bytes after a match."""
_REACH = 640
"""The number of characters after a window that are also searched for a cue (see `Detector`)."""
_CONTINUATION = bytes(range(0x80, 0xC0))
"""The bytes that continue a character in UTF-8."""


def _options() -> "re2.Options":
    import re2  # imported late, since most commands redact no text

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.log_errors = False
    options.max_mem = (
        256 << 20
    )  # with 64 MB, RE2 drops states on varied code: 1 MB takes 58 ms instead of 5 ms
    return options


@cache
def _compiled(pattern: str) -> "re2._Regexp[bytes]":
    import re2

    return re2.compile(pattern.encode("ascii"), _options())


@cache
def _cues() -> "re2.Set":
    import re2

    cues = re2.Set.SearchSet(_options())
    for detector in DETECTORS:
        cues.Add(detector.cue.replace("SPACE", _SPACE).encode("utf-8"))
    cues.Compile()
    return cues


def first_suspect(data: bytes, start: int = 0) -> tuple[int, int] | None:
    """Return the first range of UTF-8 text after `start` that may contain a secret, or None.

    Text before `start` is never read, so the first word of the range may be the end of a longer
    word.
    """
    first, second = _compiled(_FIRST), _compiled(_SECOND)
    at = start
    while (found := first.search(data, at)) is not None:
        begin, end = max(start, found.start() - _NAME), found.end() + _AROUND
        if (sure := second.search(data[begin:end])) is not None:
            return begin + sure.start(), begin + sure.end()
        at = max(found.start() + 1, found.end() - 1, end - _VALUE)
    return None


def holds_base64(text: str, windows: Iterable[tuple[int, int]]) -> bool:
    """Whether a window of the text seems to contain base64."""
    pattern = _compiled(BASE64_SCREEN)
    return any(pattern.search(_encoded(text[start : end + 64])) for start, end in windows)


def detectors_for(
    text: str, windows: Sequence[tuple[int, int]]
) -> list[tuple[Detector, list[tuple[int, int]]]]:
    """Return the detectors to run, in order, and the windows that each detector must search."""
    cues = _cues()
    parts: dict[int, list[tuple[int, int]]] = {}
    for start, end in windows:
        for index in cues.Match(_encoded(text[start : end + _REACH])) or ():
            parts.setdefault(index, []).append((start, end))
    return [(DETECTORS[index], parts[index]) for index in sorted(parts)]


def suspected(text: str) -> list[tuple[int, int]]:
    """Return the windows of a text: the parts in which secrets may begin, ordered and disjoint."""
    data = _encoded(text)
    windows: list[tuple[int, int]] = []
    at = 0
    while (found := first_suspect(data, at)) is not None:
        start, end = max(0, found[0] - _LEAD), min(len(data), found[1] + _WINDOW)
        if windows and start <= windows[-1][1]:
            windows[-1] = windows[-1][0], max(end, windows[-1][1])
        else:
            windows.append((start, end))
        at = max(found[1], found[0] + 1, end)
        if at < len(data):  # the word at `at` may begin earlier
            at = max(found[1], at - _OVERLAP)
    if len(data) == len(text):
        return windows
    return [(_characters(data[: start + 1]) - 1, _characters(data[:end])) for start, end in windows]


def _characters(data: bytes) -> int:
    """Count the characters that begin in UTF-8 bytes. A lone surrogate is one character."""
    return len(data.translate(None, _CONTINUATION))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
