"""Blocks of real code and their edited versions, computed without the measured code."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `first` to `last` (half open, from 0) of `lines`, and their new version.

    `new` has each new line and the index in the block of the old line that it equals, None for an
    added line. Lines have no line ends.
    """

    lines: tuple[str, ...]
    first: int
    last: int
    new: tuple[tuple[str, int | None], ...]

    @property
    def old(self) -> tuple[str, ...]:
        return self.lines[self.first : self.last]


def indent_of(line: str) -> str:
    """The white space that it begins with."""
    match = _INDENT.match(line)
    return match[0] if match else ""


def is_once(lines: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the lines, ignoring white space at their sides, are in the file exactly once."""
    bare = [line.strip() for line in lines]
    wanted = [line.strip() for line in part]
    starts = [at for at, line in enumerate(bare) if line == wanted[0]]
    return sum(bare[at : at + len(wanted)] == wanted for at in starts) == 1


def pick(lines: Sequence[str], chance: random.Random, *, at_end: bool = False) -> Block | None:
    """A block of two to ten lines that is not empty, mutated; None if no draw succeeds."""
    if len(lines) < 40:
        return None
    for _ in range(20):
        size = chance.randint(2, 10)
        first = len(lines) - size if at_end else chance.randrange(12, len(lines) - size - 12)
        last = first + size
        old = lines[first:last]
        words = sum(bool(_NAME.search(line)) for line in old)
        if words >= 2 and old[0].strip() and old[-1].strip() and is_once(lines, old):
            return Block(tuple(lines), first, last, mutated(old, chance, step_of(lines)))
    return None


def step_of(lines: Sequence[str]) -> str:
    """One step of indentation of a file."""
    return "\t" if any(line.startswith("\t") for line in lines) else "    "


def mutated(
    old: Sequence[str], chance: random.Random, step: str
) -> tuple[tuple[str, int | None], ...]:
    """One to three lines changed, inserted or deleted, so that something differs."""
    while True:
        new: list[tuple[str, int | None]] = [(line, place) for place, line in enumerate(old)]
        for _ in range(chance.randint(1, 3)):
            _mutate(new, chance, step)
        if [line for line, _ in new] != list(old) and any(line.strip() for line, _ in new):
            return tuple(new)


def _mutate(new: list[tuple[str, int | None]], chance: random.Random, step: str) -> None:
    places = [place for place, (line, _) in enumerate(new) if line.strip()]
    if not places:
        return
    place = chance.choice(places)
    line, _ = new[place]
    kind = chance.choice(("rename", "rename", "insert", "nest", "delete"))
    names = list(_NAME.finditer(line))
    if kind == "rename" and names:
        name = chance.choice(names)
        new[place] = (f"{line[: name.end()]}_{chance.randrange(99)}{line[name.end() :]}", None)
    elif kind == "delete" and len(places) > 2:
        del new[place]
    else:
        indent = indent_of(line)
        added = [f"{indent}checked_{chance.randrange(999)}(value)"]
        if kind == "nest":
            added = [f"{indent}when (ready_{chance.randrange(999)})", f"{indent}{step}go(value)"]
        new[place + 1 : place + 1] = [(text, None) for text in added]
