# ruff: noqa: E501  (patterns are read as a whole)
"""One quick look at text that tells whether it can hold a secret at all, and where.

The patterns here let through at least what the detectors find; tests check it. They are run by RE2
on bytes, all of them in one pass. The detectors themselves, which look around a match, take many
times as long.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from treadle.secrets.assignments import KEYWORDS
from treadle.secrets.decoding import BASE64_SCREEN
from treadle.secrets.decoding import SCREEN as ESCAPE
from treadle.secrets.shapes import DETECTORS
from treadle.secrets.vendors import FAMILIES, HEX

if TYPE_CHECKING:
    import re2  # type: ignore[import-untyped]  # it brings no types

_SPACE = r"[\t-\r\x1c-\x20\x80-\xff]"
r"""What `\s` matches in text, byte by byte: a space beyond ASCII takes two or three of them."""
_QUOTED = r"[^\s\"'`\\]"
_BARE = r"[A-Za-z0-9+/_.~!@#$%^*?:&-]"
_MARKED = r"[0-9!@#$%^&*+~?=|;,\x80-\xff]"
"""A secret has a digit or one of these in it."""


def _value(plain: str, marked: str = _MARKED) -> str:
    """At least six characters, and one of `marked` among them."""
    six = "|".join(f"{plain}{{{ahead}}}{marked}{plain}{{{5 - ahead}}}" for ahead in range(6))
    return rf"(?:{six}|{plain}{{6,40}}{marked})"


_IN_QUOTES = rf"(?:@|[rRbBuUL]{{1,2}}#{{0,2}})?\\{{0,7}}[\"'`](?:\"\"|''|`)?{_value(_QUOTED)}"
_UNQUOTED = _value(_BARE, r"[0-9!@#$%^*~+?&]")
_ANY = rf"(?:{_IN_QUOTES}|(?:\[\[)?{_UNQUOTED})"

_HEXES = frozenset({HEX, r"[a-f0-9]"})
_WORD_BEGINS = r"(?:^|[^A-Za-z0-9-]|\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9A-Fa-f]{2}|[0-9]m)"


def _prefixes(*, hexadecimal: bool) -> str:
    return "|".join(
        re.escape(prefix).replace("\\-", "-").replace("\\ ", " ")
        for family in FAMILIES
        if (family.body in _HEXES) is hexadecimal
        for prefix in family.prefixes
    )


_KEYWORDS = KEYWORDS.replace("ñ", r"\xc3\xb1")
_NAME = rf"(?:{_KEYWORDS})[A-Za-z0-9_-]{{0,24}}"
_OPENS = rf"(?:[\"'`*\\\])}}]|{_SPACE}){{0,32}}"
_ASSIGNED = (
    # Each join of `assignments`, with what may stand around it.
    (
        rf"{_NAME}{_OPENS}(?::{_SPACE}{{0,3}}[A-Za-z\[\]|&'* ]{{0,40}}=|:=|=>|[:=>]|\|{{1,2}}=?|\?\?=?|\?:)"
        rf"(?:{_SPACE}{{0,24}}|{_SPACE}[|>][+-]?{_SPACE}{{1,40}}|{_SPACE}?[A-Za-z.:]{{4,16}}\((?:default=)?){_ANY}"
    ),
    rf"{_NAME}{_SPACE}[aA]s{_SPACE}[sS]tring{_SPACE}={_SPACE}{_IN_QUOTES}",
    rf"{_NAME}\"(?:\r?\n|\\r\\n){{2}}{_ANY}",
    rf"{_NAME}{_OPENS}[,({{]{_SPACE}{{0,24}}{_IN_QUOTES}",
    (
        rf"{_NAME}[\"'\\]{{0,8}}(?:,|:{_SPACE}{{0,4}}\{{|{_SPACE}[a-z-]{{2,20}}=\"[^\n]{{0,120}})?(?:{_SPACE}|\\{{1,4}}[nrt]){{0,60}}[\"'\\<>]{{0,10}}(?:Parameter)?[vV]alue[\"'\\]{{0,8}}"
        rf"{_SPACE}{{0,12}}[:=>]{_SPACE}{{0,24}}{_ANY}"
    ),
    (
        rf"{_NAME}[`\"'*\\\])}}]{{0,8}}(?:{_SPACE}for{_SPACE}[^\s]{{1,80}})?{_SPACE}"
        rf"(?:(?:is|was|=|ist|:)(?::|{_SPACE}{{1,3}}=)?|or|to|--body|--value)(?:{_SPACE}|=){{1,12}}{_ANY}"
    ),
    rf"--?(?:[A-Za-z]+-){{0,4}}{_NAME}[\"']?{_SPACE}{{1,8}}{_ANY}",
    rf"(?:ENV|ARG|setx|SETX|setenv|set -[a-zA-Z]{{1,4}}|SET|config set){_SPACE}{{1,8}}[A-Za-z0-9_]{{0,40}}{_NAME}{_SPACE}{{1,8}}{_UNQUOTED}",
    rf"(?:password|passwd|token|secret|passphrase|passwort|Passphrase|Password|PASSWORD|PASSWD){_SPACE}{{1,8}}{_UNQUOTED}",
    rf"{_NAME}[\"']?{_SPACE}{{1,8}}{_IN_QUOTES}",
    rf"{_NAME}{_SPACE}{{1,8}}[A-Za-z0-9+_.~-]{{20}}",
    rf"{_NAME}</[a-zA-Z]{{2,10}}>{_SPACE}{{0,60}}<[a-zA-Z]{{2,10}}>{_UNQUOTED}",
    rf"variable{_SPACE}{{1,4}}\\{{0,3}}\"[A-Za-z0-9_-]{{0,40}}{_NAME}",
    rf"{_NAME}\\{{0,2}}[\nn]  [^\n]{{1,160}}, input_value=",
    rf"(?:requirepass|masterauth|IDENTIFIED BY|identified by){_SPACE}{{1,8}}{_ANY}",
)

_PATTERNS = (
    rf"{_WORD_BEGINS}(?:{_prefixes(hexadecimal=False)})[A-Za-z0-9_/+.=%@:~$-]{{10}}",
    rf"{_WORD_BEGINS}(?:{_prefixes(hexadecimal=True)})[A-Fa-f0-9]{{16}}",
    *(screen.replace("SPACE", _SPACE) for detector in DETECTORS for screen in detector.screen),
    rf"(?:bearer|Bearer|BEARER|token|Token|TOKEN){_SPACE}{{1,12}}[A-Za-z0-9._~+/-]{{16}}",
    rf"(?:basic|Basic|BASIC){_SPACE}{{1,12}}[A-Za-z0-9+/]{{8}}",
    # Letters that Python takes for an i when case does not matter are beyond ASCII.
    rf"(?i:author)[^:=,]{{6,40}}[:=,](?:[\"'\\]|{_SPACE}){{0,30}}(?i:bearer|token)",
    *_ASSIGNED,
    # What is a secret only once escapes are undone, or base64.
    rf"(?:{_KEYWORDS})[A-Za-z0-9_-]{{0,24}}[^A-Za-z0-9\n]{{0,16}}[A-Za-z0-9]{{0,16}}{ESCAPE}",
    (
        rf"(?:{_prefixes(hexadecimal=False)}|{_prefixes(hexadecimal=True)})[A-Za-z0-9_.-]{{0,40}}"
        r"(?:\x1b\[|\\(?:u001[bB]|x1[bB]|033|e)\[)"
    ),
    r"[A-Za-z0-9+/_.-]{8}(?:\x1b|\\(?:u001[bB]|x1[bB]|033|e))\[[0-9;]*m[A-Za-z0-9+/_.-]{8}",
    rf"(?:earer|EARER|asic|ASIC|uthorization|ookie)[^A-Za-z0-9\n]{{0,8}}{ESCAPE}",
    r"%3[aA]%2[fF]%2[fF]",
    BASE64_SCREEN,
)


_OVERLAP = 300
_LEAD = 96
"""Bytes before a suspicion in which its secret may begin."""
_WINDOW = 700
"""Characters behind a suspicion in which a secret may begin."""


@cache
def _compiled(pattern: str) -> "re2._Regexp[bytes]":
    import re2  # here, since most commands never see a text that is kept

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = 64 << 20
    return re2.compile(pattern.encode("ascii"), options)


_ALL = "|".join(_PATTERNS)


def first_suspect(data: bytes, start: int = 0) -> tuple[int, int] | None:
    """Where in UTF-8 text, from `start` on, something stands that may be a secret; None: nowhere.

    What stands before `start` is not looked at, not even as the end of a word.
    """
    found = _compiled(_ALL).search(data, start)
    return None if found is None else found.span()


def holds_base64(text: str) -> bool:
    """Whether a text seems to be written in base64 somewhere in it."""
    return _compiled(BASE64_SCREEN).search(text.encode("utf-8", "surrogatepass")) is not None


def suspected(text: str) -> list[tuple[int, int]]:
    """The parts of a text in which secrets may begin, in order and apart from each other."""
    data = text.encode("utf-8", "surrogatepass")
    windows: list[tuple[int, int]] = []
    at = 0
    while (found := first_suspect(data, at)) is not None:
        start, end = max(0, found[0] - _LEAD), min(len(data), found[1] + _WINDOW)
        if windows and start <= windows[-1][1]:
            windows[-1] = windows[-1][0], max(end, windows[-1][1])
        else:
            windows.append((start, end))
        at = max(found[1], found[0] + 1, end)
        if at < len(data):  # the word there may have begun before
            at = max(found[1], at - _OVERLAP)
    if len(data) == len(text):
        return windows
    return [
        (len(data[:start].decode("utf-8", "ignore")), len(data[:end].decode("utf-8", "ignore")))
        for start, end in windows
    ]
