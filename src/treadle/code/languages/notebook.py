"""Jupyter notebooks by cell: `notebook.ipynb > cell 3`. Outputs and metadata are not indexed."""

import json
import re
from collections.abc import Iterator

from treadle.code.languages.outline import Outline, Part
from treadle.code.model import Kind

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_HEADING = re.compile(r"\s*#{1,6}[ \t]+(\S[^\n]{0,99})")
_SOURCES = frozenset({b'"source"', b'"input"'})
"""The keys of a cell's text; code cells of old notebooks have an input."""
_CELLS = b'"cells"'
_MAX_DEPTH = 100


def _cells(source: bytes) -> Iterator[Part]:
    """The source of each cell, in linear time; broken JSON ends the list."""
    for number, (start, end) in enumerate(_sources(source), start=1):
        heading = _HEADING.match(text_of(source[start:end])[:200])
        name = heading.group(1).strip() if heading else f"cell {number}"
        yield Part(name, start, end, start)


def _sources(source: bytes) -> Iterator[tuple[int, int]]:
    """The positions of the values of `cells[…].source`: strings, or lists of strings."""
    around: list[bytes] = []  # the key of each open object or list; empty in a list
    key = string = b""
    begun: tuple[int, int] | None = None
    for token in _TOKEN.finditer(source):
        sign = token.group()
        requested = begun is None and _of_cell(around, key)
        if sign == b":":
            key = string
            continue
        if sign in b"{[":
            if requested and sign == b"[":
                begun = token.start(), len(around)
            around.append(key)
        elif sign in b"}]" and around:
            around.pop()
            if begun is not None and len(around) <= begun[1]:
                yield begun[0], token.end()
                begun = None
        elif sign[:1] == b'"':
            string = sign
            if requested:
                yield token.span()
        if len(around) > _MAX_DEPTH:
            return
        key = b""


def _of_cell(around: list[bytes], key: bytes) -> bool:
    """Whether `key` is the source of a cell: directly in an object of the list of cells."""
    return key in _SOURCES and len(around) >= 2 and around[-2] == _CELLS


def text_of(raw: bytes) -> str:
    """The text of the strings in a JSON value."""
    return "".join(map(_decoded, _STRING.findall(raw)))


def _decoded(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text.strip('"')


NOTEBOOK = Outline("notebook", (".ipynb",), Kind.SECTION, _cells, text=text_of, with_rest=False)
