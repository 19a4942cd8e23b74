"""Texts with an outline: documents with headings, and configurations with top-level keys."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from treadle.code.model import Kind
from treadle.code.text import plain_text

SEPARATOR = " > "
"""The separator in a canonical path between the file and its headings or keys."""

MAX_HEAD = 400
"""The maximum number of bytes of a line that are searched for a heading or a key.

The time of the search grows with the square of the number of blanks.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text with its heading or key.

    `name` is the text of the heading or key, whose bytes are `start` to `head_end`. `end` is the
    end of the part. `level` is the level of the heading, from 1. `comments` is the start of the
    comment right above the part, or None if there is no such comment.
    """

    name: str
    start: int
    end: int
    head_end: int
    level: int = 1
    comments: int | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """A kind of text with an outline.

    `parts` yields the parts in order. A part with a deeper level is inside the part before it.
    `module` returns the value of `FileReferences.module` for a path and its bytes. `text` returns
    the text of a part from its bytes. `index_rest` states whether the text outside of all parts is
    indexed by lines.
    """

    name: str
    extensions: tuple[str, ...]
    kind: Kind
    parts: Callable[[bytes], Iterator[Part]]
    module: Callable[[str, bytes], str] = lambda _path, _data: ""
    text: Callable[[bytes], str] = plain_text
    index_rest: bool = True
