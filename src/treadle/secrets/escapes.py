r"""Decodes escapes and base64 in text, so that the redactor finds secrets in any notation.

A secret may follow `%20`, have `\u003d` as its equals sign, be between the color codes of a
terminal, or be in a base64 attachment.
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
    # The regex engine skips to these characters fast. Lookbehinds distinguish the kinds of escapes.
    r"[\x1b%\\&=+](?:"
    r"(?P<ansi>(?:(?<=\x1b)|(?<=\\)\\{0,3}(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]{0,16}[A-Za-z])"
    # This group matches a space in the query of a URL, encoded once or twice.
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
"""An RE2 pattern for an escape."""

_RUN = re.compile(
    r"(?:(?<![A-Za-z0-9+/_-])|(?<=\\[nrt]))[A-Za-z0-9+/_-]{40,}+(?:(?:\r?\n|(?:\\r)?\\n)[A-Za-z0-9+/_-]{1,}+){0,100000}+={0,2}"
)
_BREAKS = re.compile(r"\s|\\[rn]")
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\n\r\x1b"
BASE64_SCREEN = (
    r"(?:^|[^A-Za-z0-9+/_-]|\\[nrt])"
    r"(?:[CDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){10}"
)
"""An RE2 pattern for base64 of thirty ASCII characters.

The high bit of each such byte is 0. This restricts the first three characters of each group of
four.
"""


@dataclass(frozen=True, slots=True)
class UnescapedText:
    """An unescaped text, and the positions of its characters in the original text."""

    text: str
    positions: list[int]
    """The positions in `text` at which unchanged parts begin."""
    origins: list[int]
    """The positions of the same parts in the original text."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original from which a range of `text` was decoded.

        The range contains whole escapes.
        """
        return self._origin_of(start), self._origin_of(end)

    def position_of(self, origin: int) -> int:
        """Return the position in `text` that corresponds to a position in the original."""
        part = bisect_right(self.origins, origin) - 1
        return min(self.positions[part] + origin - self.origins[part], len(self.text))

    def _origin_of(self, position: int) -> int:
        part = bisect_right(self.positions, position) - 1
        return self.origins[part] + position - self.positions[part]


def has_escapes(text: str, start: int, end: int) -> bool:
    """Whether the range contains an escape."""
    return _ESCAPE.search(text, start, end) is not None


def unescaped(text: str) -> UnescapedText:
    """Return `text` with decoded escapes."""
    parts: list[str] = []
    positions, origins = [0], [0]
    at = length = 0
    for match in _ESCAPE.finditer(text):
        part = text[at : match.start()]
        length += len(part)
        parts.append(part)
        at = match.end()
        if match["ansi"] is None and match["soft"] is None:
            positions.append(length)
            origins.append(match.start())
            parts.append(_character(match))
            length += 1
        positions.append(length)
        origins.append(at)
    parts.append(text[at:])
    return UnescapedText("".join(parts), positions, origins)


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
    """Apply `clean` to each base64 text in `text` after decoding, and encode the result."""

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
    """Return the decoded text, or None if `written` is not base64 of text."""
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
