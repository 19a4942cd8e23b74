"""Texts with an outline of their own: documents by heading, configurations by top-level key."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from treadle.code.model import Kind
from treadle.code.text import plain_text

SEPARATOR = " > "
"""The separator in a canonical path between the file, the headings, or the key."""

MAX_HEAD = 400
"""Bytes of a line that are searched for a heading or a key; patterns are quadratic in blanks."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text: its heading or key, the bytes of both, and its level (from 1).

    `comments` is the start of the comment right above, or None; `start` is the heading.
    """

    name: str
    start: int
    end: int
    head_end: int
    level: int = 1
    comments: int | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """A kind of text. `parts` are in order; a deeper part is inside the one before it.

    `module` returns the name by which code imports the described package, or an empty text. `text`
    returns the text of a part from its bytes. `index_rest`: the rest is indexed by lines.
    """

    name: str
    extensions: tuple[str, ...]
    kind: Kind
    parts: Callable[[bytes], Iterator[Part]]
    module: Callable[[str, bytes], str] = lambda _path, _data: ""
    text: Callable[[bytes], str] = plain_text
    index_rest: bool = True
