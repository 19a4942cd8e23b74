"""Texts with an outline of their own: documents by heading, configurations by top-level key."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from treadle.code.model import Kind
from treadle.code.text import plain_text

SEPARATOR = " > "
"""Between the file, and the headings or the key, of a canonical path."""

MAX_HEAD = 400
"""Bytes of a line that are looked at for a heading or a key; patterns are quadratic in blanks."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text: its heading or key, the bytes of both, and how deep it is (from 1).

    `comments` is where the comment right above begins, None without one; `start` is the heading.
    """

    name: str
    start: int
    end: int
    head_end: int
    level: int = 1
    comments: int | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """A kind of text. `parts` are in order; a deeper one lies inside of the one before it.

    `module` gives the name by which code imports what the file describes, empty if none. `text`
    gives the text of a part from its bytes. `with_rest`: what no part holds is indexed by lines.
    """

    name: str
    extensions: tuple[str, ...]
    kind: Kind
    parts: Callable[[bytes], Iterator[Part]]
    module: Callable[[str, bytes], str] = lambda _path, _data: ""
    text: Callable[[bytes], str] = plain_text
    with_rest: bool = True
