"""Splits Jupyter notebooks into cells, with paths like `notebook.ipynb > cell 3`.

Outputs and metadata are not indexed.
"""

import json
import re
from collections.abc import Iterator

from treadle.code.languages.outline import Outline, Part
from treadle.code.model import Kind

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_HEADING = re.compile(r"\s*#{1,6}[ \t]+(\S[^\n]{0,99})")
_SOURCES = frozenset({b'"source"', b'"input"'})
"""The keys of a cell that contain its text. Old notebooks use `input` for code cells."""
_CELLS = b'"cells"'
_MAX_DEPTH = 100


def _cells(source: bytes) -> Iterator[Part]:
    """Yield the source of each cell, in linear time. The list may end early in invalid JSON."""
    for number, (start, end) in enumerate(_sources(source), start=1):
        heading = _HEADING.match(text_of(source[start:end])[:200])
        name = heading.group(1).strip() if heading else f"cell {number}"
        yield Part(name, start, end, start)


def _sources(source: bytes) -> Iterator[tuple[int, int]]:
    """Yield the positions of the values of `cells[…].source`: strings, or lists of strings."""
    open_keys: list[bytes] = []  # keys of the open objects and lists; b"" for an element of a list
    key = string = b""
    open_source: tuple[int, int] | None = None
    for token in _TOKEN.finditer(source):
        token_text = token.group()
        is_source = open_source is None and _is_cell_source(open_keys, key)
        if token_text == b":":
            key = string
            continue
        if token_text in b"{[":
            if is_source and token_text == b"[":
                open_source = token.start(), len(open_keys)
            open_keys.append(key)
        elif token_text in b"}]" and open_keys:
            open_keys.pop()
            if open_source is not None and len(open_keys) <= open_source[1]:
                yield open_source[0], token.end()
                open_source = None
        elif token_text[:1] == b'"':
            string = token_text
            if is_source:
                yield token.span()
        if len(open_keys) > _MAX_DEPTH:
            return
        key = b""


def _is_cell_source(open_keys: list[bytes], key: bytes) -> bool:
    """Whether the value of `key` is the source of a cell.

    `open_keys` has the keys of the enclosing objects and lists.
    """
    return key in _SOURCES and len(open_keys) >= 2 and open_keys[-2] == _CELLS


def text_of(raw: bytes) -> str:
    """Return the text of the strings in a JSON value."""
    return "".join(map(_decoded, _STRING.findall(raw)))


def _decoded(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text.strip('"')


NOTEBOOK = Outline("notebook", (".ipynb",), Kind.SECTION, _cells, text=text_of, index_rest=False)
