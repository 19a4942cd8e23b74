"""Texts with an outline: documents with headings, and configurations with top-level keys."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from treadle.code.model import Kind
from treadle.code.text import plain_text

SEPARATOR = " > "
"""The separator in a canonical path between the file and its headings or keys."""

MAX_HEAD = 400
"""The number of bytes of a line that are searched for a heading or a key.

The time of the patterns grows with the square of the number of blanks.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text: its heading or key, their bytes, and its level (from 1).

    `start` is the start of the heading or key. `comments` is the start of the comment right above
    it, or None.
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
    `module` returns the name by which code imports the described package, or an empty text. `text`
    returns the text of a part from its bytes. `index_rest` states that the rest of the text is
    indexed by lines.
    """

    name: str
    extensions: tuple[str, ...]
    kind: Kind
    parts: Callable[[bytes], Iterator[Part]]
    module: Callable[[str, bytes], str] = lambda _path, _data: ""
    text: Callable[[bytes], str] = plain_text
    index_rest: bool = True
