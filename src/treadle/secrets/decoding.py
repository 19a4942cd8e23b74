r"""Text as it reads once escapes are undone, and text that is written in base64.

A secret is one however it is written: behind `%20`, with `\u003d` for its equals sign, between the
colours of a terminal, in an attachment.
"""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

_NAMED = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">", "equals": "=", "colon": ":",
          "nbsp": " ", "sol": "/", "commat": "@"}  # fmt: skip
_ESCAPE = re.compile(
    # The regex engine skips to these characters fast; what follows looks back at which it is.
    r"[\x1b%\\&=+](?:"
    r"(?P<ansi>(?:(?<=\x1b)|(?<=\\)\\{0,3}(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]{0,16}[A-Za-z])"
    # A space in the query of an address, encoded once or twice.
    r"|(?P<plus>(?<=%25[0-7][0-9A-Fa-f]%)2[bB]|(?<=%)2[bB](?=(?:%2[bB]){0,16}%25)"
    r"|(?<=%[0-7][0-9A-Fa-f]\+)\+{0,15}|(?<=\+)(?=\+{0,16}%[0-7][0-9A-Fa-f]))"
    r"|(?<=%)(?:25){0,3}(?P<percent>[2-7][0-9A-Fa-f]|0[9aAdD])"
    r"|(?<=\\)\\{0,3}(?:u00(?P<unicode>[2-7][0-9a-fA-F])|x(?P<byte>[2-7][0-9a-fA-F]))"
    rf"|(?<=&)(?:#(?P<decimal>\d{{2,3}})|#[xX](?P<hex>[2-7][0-9A-Fa-f])|(?P<named>{'|'.join(_NAMED)}));"
    r"|(?<==)(?:(?P<printable>3D|2[0-9A-F]|0[9AD]|5F|7[B-E])|(?P<soft>(?<=[^\n]{70}=)\r?\n)))"
)
SCREEN = (
    r"(?:=3D|%[2-7][0-9A-Fa-f]|\\u00[2-7][0-9a-fA-F]|\\x[2-7][0-9a-fA-F]|&#?[A-Za-z0-9]{2,6};"
    r"|\x1b\[|\\(?:u001[bB]|x1[bB]|033|e)\[)"
)
"""An escape, for RE2."""

_RUN = re.compile(
    r"(?:(?<![A-Za-z0-9+/_-])|(?<=\\[nrt]))[A-Za-z0-9+/_-]{40,}+(?:(?:\r?\n|(?:\\r)?\\n)[A-Za-z0-9+/_-]{1,}+){0,100000}+={0,2}"
)
_BREAKS = re.compile(r"\s|\\[rn]")
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\n\r\x1b"
BASE64_SCREEN = (
    r"(?:^|[^A-Za-z0-9+/_-]|\\[nrt])"
    r"(?:[CDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){10}"
)
"""Base64 of thirty characters of ASCII, for RE2: the high bits of all bytes are 0."""


@dataclass(frozen=True, slots=True)
class View:
    """A text with its escapes undone, and where each of its characters is in the text."""

    text: str
    origin: str
    places: list[int]
    """Where, here, the parts begin that are as they are in the origin."""
    origins: list[int]
    """Where the same parts begin in the origin."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where what goes from `start` to `end` here is in the origin, escapes being whole."""
        return self._place(start), self._place(end)

    def place_of(self, origin: int) -> int:
        """Where, here, a place of the origin is."""
        part = bisect_right(self.origins, origin) - 1
        return min(self.places[part] + origin - self.origins[part], len(self.text))

    def _place(self, place: int) -> int:
        part = bisect_right(self.places, place) - 1
        return self.origins[part] + place - self.places[part]


def has_escapes(text: str, start: int, end: int) -> bool:
    """Whether an escape stands there."""
    return _ESCAPE.search(text, start, end) is not None


def unescaped(text: str) -> View:
    """`text` with its escapes undone."""
    pieces: list[str] = []
    places, origins = [0], [0]
    at = length = 0
    for match in _ESCAPE.finditer(text):
        piece = text[at : match.start()]
        length += len(piece)
        pieces.append(piece)
        at = match.end()
        if match["ansi"] is None and match["soft"] is None:
            places.append(length)
            origins.append(match.start())
            pieces.append(_character(match))
            length += 1
        places.append(length)
        origins.append(at)
    pieces.append(text[at:])
    return View("".join(pieces), text, places, origins)


def _character(match: re.Match[str]) -> str:
    if match["plus"] is not None:
        return " "
    if match["named"]:
        return _NAMED[match["named"]]
    if match["decimal"]:
        return chr(int(match["decimal"]))
    digits = (
        match["percent"] or match["unicode"] or match["byte"] or match["hex"] or match["printable"]
    )
    return chr(int(digits, 16))


def in_base64(text: str, clean: Callable[[str], str]) -> str:
    """`text` with each text in base64 as `clean` leaves it, in base64 again."""

    def replace(match: re.Match[str]) -> str:
        written = match[0]
        inside = _decoded(written)
        if inside is None:
            return written
        cleaned = clean(inside)
        if cleaned == inside:
            return written
        encoded = base64.b64encode(cleaned.encode("utf-8", "surrogateescape")).decode("ascii")
        if "-" in written or "_" in written:
            encoded = encoded.translate(str.maketrans("+/", "-_"))
        return encoded if written.endswith("=") else encoded.rstrip("=")

    return _RUN.sub(replace, text)


def _decoded(written: str) -> str | None:
    """The text that is written in base64; None where it is something else."""
    digits = written.translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        head = base64.b64decode(digits[:40])
        if head.translate(None, _PRINTABLE):
            return None
        digits = _BREAKS.sub("", digits) if "\n" in digits or "\\" in digits else digits
        data = base64.b64decode(digits[: len(digits) // 4 * 4 + 4] + "=" * (-len(digits) % 4))
    except (binascii.Error, ValueError):
        return None
    return data.decode("utf-8", "surrogateescape")
