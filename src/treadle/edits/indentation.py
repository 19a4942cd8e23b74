"""Adapts the indentation of a model's text to the indentation of the file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd

from treadle.edits.model import EditError
from treadle.edits.text import WHITE_SPACE, Source, with_plain_ends
from treadle.events.types import ErrorKind

_BLANKS = b" \t"
_WIDTHS = (4, 2, 8, 3)
"""Tab widths to try, in columns, if the text does not determine the width."""


@dataclass(frozen=True, slots=True)
class Reindent:
    """Gives lines of a model the indentation that their neighbours have in the file.

    `seen` maps each indentation of a matched line to the indentation of that line in the file.
    Other lines get the prefix `added` or lose the prefix `removed`. If the model and the file use
    tabs differently, the indentation is counted in columns, with `width` columns for a tab, and
    moved by `shift` columns.
    """

    seen: dict[bytes, bytes]
    added: bytes = b""
    removed: bytes = b""
    width: int = 0
    shift: int = 0
    tabs: bool = False

    def line(self, line: bytes) -> bytes:
        """The line with its new indentation. Raises EditError if it is indented too little."""
        content = line.lstrip(_BLANKS)
        if not content.strip():
            return content
        indent = line[: len(line) - len(content)]
        if indent in self.seen:
            return self.seen[indent] + content
        if self.width:
            target = columns(indent, self.width) + self.shift
            if target >= 0:
                return make_indentation(target, self.width, tabs=self.tabs) + content
        elif indent.startswith(self.removed):
            return self.added + indent[len(self.removed) :] + content
        raise EditError(
            ErrorKind.VALIDATION,
            f"The line {content.strip().decode()!r} is indented less than the matched text, so "
            "its indentation cannot be determined.",
            hint="Give the old and the new text with exactly the indentation of the file.",
        )


def indentation(line: bytes) -> bytes:
    """The spaces and tabs at the beginning of a line."""
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def styles(indents: Iterable[bytes]) -> tuple[bool, bool]:
    """Whether any indentation has tabs, and whether any indentation has two or more spaces."""
    found = list(indents)
    return any(b"\t" in indent for indent in found), any(b"  " in indent for indent in found)


def shift_between(
    pairs: Sequence[tuple[bytes, bytes]], unmatched: Iterable[bytes] = (), *, bare: bool = False
) -> Reindent | None:
    """The shift from the model's indentation to the file's indentation that fits all `pairs`.

    `unmatched` are other indentations of the model, which help to find its step. `bare` allows a
    first line without indentation before other lines with indentation. Returns None when the shift
    is not uniform.
    """
    written_by_model = {*(model for model, _ in pairs), *unmatched}
    tabs_in_file, spaces_in_file = styles(file for _, file in pairs)
    tabs_in_model, spaces_in_model = styles(written_by_model)
    if not ((tabs_in_file and spaces_in_model) or (spaces_in_file and tabs_in_model)):
        return _by_prefix(pairs)
    steps = [file for _, file in pairs] if tabs_in_model else written_by_model
    step = _step(steps)
    for width in (step, *_WIDTHS) if step > 1 else _WIDTHS:
        found = _by_columns(pairs, width, tabs=tabs_in_file)
        if found is None and bare and not pairs[0][0] and all(model for model, _ in pairs[1:]):
            found = _by_columns(pairs[1:], width, tabs=tabs_in_file)
            found = found and replace(found, seen={**found.seen, b"": pairs[0][1]})
        if found is not None:
            return found
    return None


def _by_prefix(pairs: Sequence[tuple[bytes, bytes]]) -> Reindent | None:
    """The shift that adds or removes the same prefix in all pairs, or None."""
    model, file = pairs[0]
    if len(file) >= len(model):
        added, removed = file[: len(file) - len(model)], b""
    else:
        added, removed = b"", model[: len(model) - len(file)]
    if all(removed + file == added + model for model, file in pairs):
        return Reindent(dict(pairs), added=added, removed=removed)
    return None


def _by_columns(pairs: Sequence[tuple[bytes, bytes]], width: int, *, tabs: bool) -> Reindent | None:
    """The shift by the same number of columns in all pairs, or None."""
    seen = dict(pairs)
    shifts = {columns(file, width) - columns(model, width) for model, file in pairs}
    if len(shifts) != 1 or any(seen[model] != file for model, file in pairs):
        return None
    return Reindent(seen, width=width, shift=shifts.pop(), tabs=tabs)


def _step(indents: Iterable[bytes]) -> int:
    """The greatest common step of indentations with spaces, or 0 if there are none."""
    return gcd(*(indent.count(b" ") for indent in indents))


def columns(indent: bytes, width: int) -> int:
    """The number of columns of an indentation."""
    tabs = indent.count(b"\t")
    return tabs * width + len(indent) - tabs


def make_indentation(target: int, width: int, *, tabs: bool) -> bytes:
    """An indentation of `target` columns, with or without tabs."""
    if not tabs:
        return b" " * target
    return b"\t" * (target // width) + b" " * (target % width)


INDENTED = "the code got the indentation of the item"
CONVERTED = "the code got the indentation style of the file"

_CONTINUING = (b")", b"]", b"}", b"{", b"end", b"where", b"->", b"=>", b":")
"""Lines with these beginnings close or continue an item, and are indented like its first line."""

_LEADING = (b"@", b"#", b"/", b"*", b"[", b"template")
"""Lines with these beginnings may come before the head of an item, such as a decorator."""


def reindent_item(source: Source, start: int, end: int, code: bytes) -> tuple[bytes, str | None]:
    """Indent `code`, which has LF line ends, like the item from `start` to `end`.

    Returns the indented code, and a note if the indentation changed.

    The code may be indented as in the file. Its first line may lack indentation. All its lines may
    differ from the file by a constant indentation.
    """
    indent = source.data[source.line_start(start) : start]
    lines = code.lstrip(b"\n").split(b"\n")
    if indent.strip(WHITE_SPACE):
        return code, None  # other text precedes the item in its line
    old = with_plain_ends(source.data[start:end]).split(b"\n")[1:]
    lines, note = _in_style(source, [indent, *map(indentation, old)], lines)
    first = indentation(lines[0])
    if first and first != indent:
        lines = [indent + line[len(first) :] if line.startswith(first) else line for line in lines]
        note = INDENTED
    elif not first and indent and not _as_in_file(indent, old, lines[1:], lines[0]):
        lines = [
            lines[0],
            *[indent + line if line.strip(WHITE_SPACE) else line for line in lines[1:]],
        ]
        note = INDENTED
    return b"\n".join([lines[0].lstrip(b" \t"), *lines[1:]]), note


def _in_style(
    source: Source, in_file: Sequence[bytes], lines: list[bytes]
) -> tuple[list[bytes], str | None]:
    """Indent the lines with tabs or spaces, as in the file, and add a note if they changed."""
    in_code = [indentation(line) for line in lines if line.strip(WHITE_SPACE)]
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
        return make_indentation(columns(indent, width), width, tabs=tabs) + line[len(indent) :]

    return [convert(line) if line.strip(WHITE_SPACE) else line for line in lines], CONVERTED


def _width(counts: Iterable[int]) -> int:
    """The number of columns of one indentation step, the greatest common divisor of the counts."""
    found = {count for count in counts if count}
    step = gcd(*found)
    if step == 8 and len(found) == 1:
        return 4  # assume two steps of four columns, not one step of eight
    return step if step in {2, 3, 4, 8} else 4


def _least(lines: Iterable[bytes]) -> bytes:
    """The smallest indentation of lines that do not close or continue an item."""
    indents = [indentation(line) for line in lines if not line.lstrip().startswith(_CONTINUING)]
    return min(indents, key=len, default=b"")


def _as_in_file(indent: bytes, old: list[bytes], rest: list[bytes], first: bytes) -> bool:
    """Whether the lines after an unindented first line are already indented like the file.

    Three criteria are tried in turn. The first is the lines that the item already has. The second
    is the smallest indentation of the item. The third is the next line at `indent`: only a line
    that closes or continues the item can be there.
    """
    known = {line for line in old if line.strip(WHITE_SPACE)}
    rest = [line for line in rest if line.strip(WHITE_SPACE)]
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
