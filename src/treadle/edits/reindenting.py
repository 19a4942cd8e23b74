"""The code of a whole item, indented as the item is in its file."""

from collections.abc import Iterable, Sequence
from math import gcd

from treadle.edits.indentation import columns, indentation, styles, written
from treadle.edits.text import WHITE, Source, with_plain_ends

INDENTED = "the code got the indentation of the item"
CONVERTED = "the code got the indentation style of the file"

_CONTINUING = (b")", b"]", b"}", b"{", b"end", b"where", b"->", b"=>", b":")
"""What the lines of an item that are indented as its first one begin with."""

_LEADING = (b"@", b"#", b"/", b"*", b"[", b"template")
"""What a first line begins with that stands before the head of the item."""


def as_item(source: Source, start: int, end: int, code: bytes) -> tuple[bytes, str | None]:
    """`code`, with LF, in place of the item from `start` to `end`; and what was changed in it.

    Its lines may be indented as those of the file, with or without the indentation of the first
    one, or all by less or more.
    """
    indent = source.data[source.line_start(start) : start]
    lines = code.lstrip(b"\n").split(b"\n")
    if indent.strip(WHITE):
        return code, None  # something else stands before it in its line
    old = with_plain_ends(source.data[start:end]).split(b"\n")[1:]
    lines, note = _in_style(source, [indent, *map(indentation, old)], lines)
    first = indentation(lines[0])
    if first and first != indent:
        lines = [indent + line[len(first) :] if line.startswith(first) else line for line in lines]
        note = INDENTED
    elif not first and indent and not _as_in_file(indent, old, lines[1:], lines[0]):
        lines = [lines[0], *[indent + line if line.strip(WHITE) else line for line in lines[1:]]]
        note = INDENTED
    return b"\n".join([lines[0].lstrip(b" \t"), *lines[1:]]), note


def _in_style(
    source: Source, in_file: Sequence[bytes], lines: list[bytes]
) -> tuple[list[bytes], str | None]:
    """The lines with tabs or spaces as the file has them."""
    in_code = [indentation(line) for line in lines if line.strip(WHITE)]
    tabs, spaces = styles(in_file)
    tabs_in_code, spaces_in_code = styles(in_code)
    if not tabs and not spaces:
        tabs = source.indents_by_tabs
        spaces = not tabs
    if tabs and not spaces and spaces_in_code:
        width = _width(each.count(b" ") for each in in_code)
    elif spaces and not tabs and tabs_in_code:
        width = _width(map(len, in_file))
    else:
        return lines, None

    def convert(line: bytes) -> bytes:
        indent = indentation(line)
        return written(columns(indent, width), width, tabs=tabs) + line[len(indent) :]

    return [convert(line) if line.strip(WHITE) else line for line in lines], CONVERTED


def _width(counts: Iterable[int]) -> int:
    """The columns of a step, of which all counts are multiples."""
    found = {count for count in counts if count}
    step = gcd(*found)
    if step == 8 and len(found) == 1:
        return 4  # two steps of the usual width rather than one of eight
    return step if step in {2, 3, 4, 8} else 4


def _least(lines: Iterable[bytes]) -> bytes:
    """The indentation of the line with the least of it that does not close or go on with one."""
    indents = [indentation(line) for line in lines if not line.lstrip().startswith(_CONTINUING)]
    return min(indents, key=len, default=b"")


def _as_in_file(indent: bytes, old: list[bytes], rest: list[bytes], first: bytes) -> bool:
    """Whether the lines behind an unindented first one are indented as in the file already.

    Lines that the item has already tell, or how much its lines are indented at least. Else those
    that are indented as the first one do: only such as close it or go on with it can be.
    """
    known = {line for line in old if line.strip(WHITE)}
    rest = [line for line in rest if line.strip(WHITE)]
    as_they_are = sum(line in known for line in rest)
    shifted = sum(indent + line in known for line in rest)
    if as_they_are != shifted:
        return as_they_are > shifted
    least, least_of_old = (_least(side) for side in (rest, known))
    if known and least_of_old in {least, indent + least}:
        return least == least_of_old
    if not all(line.startswith(indent) for line in rest):
        return False
    level = next((line[len(indent) :] for line in rest if indentation(line) == indent), None)
    return level is None or level.startswith(_CONTINUING) or first.startswith(_LEADING)
