"""One shift of indentation between what a model wrote and the file, tabs and spaces included."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd

from treadle.edits.model import EditError
from treadle.events.types import ErrorKind

_BLANKS = b" \t"
_WIDTHS = (4, 2, 8, 3)
"""Columns that a tab may stand for where the text itself does not tell."""


@dataclass(frozen=True, slots=True)
class Reindent:
    """Gives lines of a model the indentation that their neighbours have in the file.

    `seen` holds what each indentation of the text became where it was matched. Others get
    `added` in front or lose `removed`, or, where tabs stand against spaces, are counted in
    columns of `width` a tab and moved by `shift`.
    """

    seen: dict[bytes, bytes]
    added: bytes = b""
    removed: bytes = b""
    width: int = 0
    shift: int = 0
    tabs: bool = False

    def line(self, line: bytes) -> bytes:
        """The line with its new indentation. Raises EditError when it has too little of it."""
        content = line.lstrip(_BLANKS)
        if not content.strip():
            return content
        indent = line[: len(line) - len(content)]
        if indent in self.seen:
            return self.seen[indent] + content
        if self.width:
            target = columns(indent, self.width) + self.shift
            if target >= 0:
                return written(target, self.width, tabs=self.tabs) + content
        elif indent.startswith(self.removed):
            return self.added + indent[len(self.removed) :] + content
        raise EditError(
            ErrorKind.VALIDATION,
            f"The line {content.strip().decode()!r} is indented less than the matched text, so "
            "its indentation cannot be determined.",
            hint="Give the old and the new text with exactly the indentation of the file.",
        )


def indentation(line: bytes) -> bytes:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def styles(indents: Iterable[bytes]) -> tuple[bool, bool]:
    """Whether any has tabs, and whether any has spaces; one alone is that of a comment."""
    found = list(indents)
    return any(b"\t" in indent for indent in found), any(b"  " in indent for indent in found)


def shift_between(
    pairs: Sequence[tuple[bytes, bytes]], others: Iterable[bytes] = (), *, bare: bool = False
) -> Reindent | None:
    """The one shift that makes each indentation of `pairs` (model, file) that of the file.

    `others` are indentations of the model that were not matched; they tell how wide its steps
    are. With `bare` the first line may stand without its own, the others indented as they are.
    None when the shift is not uniform.
    """
    written_by_model = {*(model for model, _ in pairs), *others}
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
    """The same blanks more, or less, in front of all."""
    model, file = pairs[0]
    if len(file) >= len(model):
        added, removed = file[: len(file) - len(model)], b""
    else:
        added, removed = b"", model[: len(model) - len(file)]
    if all(removed + file == added + model for model, file in pairs):
        return Reindent(dict(pairs), added=added, removed=removed)
    return None


def _by_columns(pairs: Sequence[tuple[bytes, bytes]], width: int, *, tabs: bool) -> Reindent | None:
    """The same columns more or less, a tab being so many of them."""
    seen = dict(pairs)
    shifts = {columns(file, width) - columns(model, width) for model, file in pairs}
    if len(shifts) != 1 or any(seen[model] != file for model, file in pairs):
        return None
    return Reindent(seen, width=width, shift=shifts.pop(), tabs=tabs)


def _step(indents: Iterable[bytes]) -> int:
    """The step of which all indentations by spaces are multiples; 0 without any."""
    return gcd(*(indent.count(b" ") for indent in indents))


def columns(indent: bytes, width: int) -> int:
    """How wide an indentation is when a tab is `width` columns."""
    tabs = indent.count(b"\t")
    return tabs * width + len(indent) - tabs


def written(target: int, width: int, *, tabs: bool) -> bytes:
    """An indentation of `target` columns, with or without tabs."""
    if not tabs:
        return b" " * target
    return b"\t" * (target // width) + b" " * (target % width)
