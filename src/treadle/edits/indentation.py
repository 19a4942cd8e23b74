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
    """Converts the indentation of lines that a model wrote to the indentation of the file.

    `seen` maps the indentation of a matched line in the model's text to its indentation in the
    file. Other lines get the prefix `added` or lose the prefix `removed`. If the model and the file
    use tabs differently, the indentation is counted in columns, with `width` columns for a tab, and
    moved by `shift` columns. `tabs` states whether the file uses tabs.
    """

    seen: dict[bytes, bytes]
    added: bytes = b""
    removed: bytes = b""
    width: int = 0
    shift: int = 0
    tabs: bool = False

    def line(self, line: bytes) -> bytes:
        """The line with its new indentation.

        Raises EditError if the old indentation is too small.
        """
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
    """Find the shift from the model's indentation to the file's indentation that fits all `pairs`.

    A pair has the indentation of one line in the model's text and in the file. `unmatched` are
    other indentations of the model, which help to find the width of one level. With `bare`, the
    first line may have no indentation although the other lines have one. Returns None if no shift
    fits.
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
    """The greatest common divisor of the numbers of spaces, or 0 if there are no spaces."""
    return gcd(*(indent.count(b" ") for indent in indents))


def columns(indent: bytes, width: int) -> int:
    """The number of columns of an indentation in which a tab has `width` columns."""
    tabs = indent.count(b"\t")
    return tabs * width + len(indent) - tabs


def make_indentation(target: int, width: int, *, tabs: bool) -> bytes:
    """An indentation of `target` columns. With `tabs`, it has one tab for each `width` columns."""
    if not tabs:
        return b" " * target
    return b"\t" * (target // width) + b" " * (target % width)


INDENTED = "the code got the indentation of the item"
CONVERTED = "the code got the indentation style of the file"

_CONTINUING = (b")", b"]", b"}", b"{", b"end", b"where", b"->", b"=>", b":")
"""The beginnings of lines that close or continue an item.

Such a line has the indentation of the item's first line.
"""

_LEADING = (b"@", b"#", b"/", b"*", b"[", b"template")
"""The beginnings of lines that may come before the head of an item, such as decorators."""


def reindent_item(source: Source, start: int, end: int, code: bytes) -> tuple[bytes, str | None]:
    """Indent `code`, which has LF line ends, like the item from `start` to `end`.

    Returns the indented code, and a note if the indentation changed.

    A model may indent `code` as in the file, or leave out the indentation of the first line only.
    It may also indent all lines by a constant amount more or less than the file.
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
    """Indent the lines with tabs or spaces, as in the file.

    Returns the lines, and a note if they changed.
    """
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
    """The width of one indentation level in columns, the greatest common divisor of `counts`."""
    found = {count for count in counts if count}
    step = gcd(*found)
    if step == 8 and len(found) == 1:
        return 4  # assume two levels of four columns, not one level of eight
    return step if step in {2, 3, 4, 8} else 4


def _least(lines: Iterable[bytes]) -> bytes:
    """The smallest indentation of lines that do not close or continue an item."""
    indents = [indentation(line) for line in lines if not line.lstrip().startswith(_CONTINUING)]
    return min(indents, key=len, default=b"")


def _as_in_file(indent: bytes, old: list[bytes], rest: list[bytes], first: bytes) -> bool:
    """Whether the lines after an unindented first line are already indented as in the file.

    Three criteria are tried in turn. The first criterion compares the lines, as they are and with
    `indent` added, with the old lines of the item. The second criterion compares the smallest
    indentation with the smallest indentation in the old lines. The third criterion examines the
    first of the lines that has exactly the indentation `indent`. If the lines are indented as in
    the file, that line must close or continue the item.
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
