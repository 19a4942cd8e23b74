"""The motions of vim."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from treadle.tui.prompt.key_sets.steps import (
    first_word,
    line_end,
    line_of,
    line_start,
    moved_lines,
    next_word,
    previous_word,
    word_end,
)


@dataclass(frozen=True, slots=True)
class Motion:
    """The target of a motion. With `by_line`, an operator applies to whole lines.

    An inclusive motion includes the character at its target.
    """

    target: int
    by_line: bool = False
    inclusive: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a motion begins, its count, and the operator that waits for the motion.

    `found` has the keys of the last search for a character in a line, such as "fx".
    """

    text: str
    at: int
    number: int = 1
    has_count: bool = False
    operator: str = ""
    found: str = ""


FIND = frozenset("fFtT")
"""The keys that search the line of the cursor. The next key is the character to find."""


def motion(origin: Origin, keys: str) -> Motion | None:
    """The motion of some keys, such as "w" or "fx". None if they are not a motion."""
    if keys[0] in FIND and len(keys) > 1:
        return _find(origin, keys)
    if keys in (";", ","):
        found = origin.found if keys == ";" else origin.found.swapcase()[:1] + origin.found[1:]
        return _find(origin, found, again=True) if found else None
    move = _MOTIONS.get(keys)
    return None if move is None else move(origin)


def _find(origin: Origin, keys: str, *, again: bool = False) -> Motion | None:
    """The motion to a character of the line.

    `t` and `T` stop one position before the character. With `again`, they therefore skip a match
    next to the cursor, since the cursor would not move otherwise.
    """
    text, kind, character = origin.text, keys[0], keys[1]
    step = 1 if kind.islower() else -1
    till = step if kind in "tT" else 0
    at = origin.at + till * again
    for _ in range(min(origin.number, len(text))):
        at = (
            text.find(character, at + 1, line_end(text, origin.at))
            if step > 0
            else text.rfind(character, line_start(text, origin.at), max(0, at))
        )
        if at < 0:
            return None
    return Motion(at - till, inclusive=step > 0)


def _repeated(step: Callable[[str, int], int], origin: Origin) -> int:
    at = origin.at
    for _ in range(min(origin.number, len(origin.text))):
        at = step(origin.text, at)
    return at


def _left(origin: Origin) -> Motion:
    return Motion(max(line_start(origin.text, origin.at), origin.at - origin.number))


def _right(origin: Origin) -> Motion:
    return Motion(min(line_end(origin.text, origin.at), origin.at + origin.number))


def _down(origin: Origin) -> Motion:
    return Motion(moved_lines(origin.text, origin.at, origin.number), by_line=True)


def _up(origin: Origin) -> Motion:
    return Motion(moved_lines(origin.text, origin.at, -origin.number), by_line=True)


def _word(origin: Origin) -> Motion:
    """Move to the next word.

    If an operator waits and the next word is the first of its line, the motion ends at the end of
    an earlier line. So the operator leaves the line break in place. With the operator `c`, a motion
    that begins in a word ends at the end of a word.
    """
    text, at = origin.text, origin.at
    if origin.operator == "c" and at < len(text) and not text[at].isspace():
        return Motion(_repeated(word_end, origin))
    target = _repeated(next_word, origin)
    if origin.operator:
        last = text.rfind("\n", at, target)
        if last >= 0 and not text[last:target].strip():
            target = max(at, len(text[:last].rstrip("\n")))
    return Motion(target)


def _back(origin: Origin) -> Motion:
    return Motion(_repeated(previous_word, origin))


def _end(origin: Origin) -> Motion:
    at = _repeated(lambda text, at: max(at, word_end(text, min(at + 1, len(text))) - 1), origin)
    return Motion(at, inclusive=True)


def _start_of_line(origin: Origin) -> Motion:
    return Motion(line_start(origin.text, origin.at))


def _first_of_line(origin: Origin) -> Motion:
    return Motion(first_word(origin.text, origin.at))


def _end_of_line(origin: Origin) -> Motion:
    return Motion(line_end(origin.text, moved_lines(origin.text, origin.at, origin.number - 1)))


def _first_line(origin: Origin) -> Motion:
    return Motion(first_word(origin.text, line_of(origin.text, origin.number - 1)), by_line=True)


def _last_line(origin: Origin) -> Motion:
    number = origin.number - 1 if origin.has_count else origin.text.count("\n")
    return Motion(first_word(origin.text, line_of(origin.text, number)), by_line=True)


_MOTIONS: Mapping[str, Callable[[Origin], Motion]] = {
    "h": _left,
    "l": _right,
    " ": _right,
    "j": _down,
    "k": _up,
    "w": _word,
    "b": _back,
    "e": _end,
    "0": _start_of_line,
    "^": _first_of_line,
    "$": _end_of_line,
    "gg": _first_line,
    "G": _last_line,
}
