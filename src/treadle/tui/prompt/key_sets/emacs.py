"""The keys of emacs and readline."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from treadle.tui.prompt.key_sets.steps import (
    Change,
    Effect,
    Step,
    line_end,
    line_start,
    previous_word,
    word_end,
)


@dataclass(frozen=True, slots=True)
class EmacsState:
    """The text that was killed (cut) last. The texts of consecutive kills are joined."""

    killed: str = ""
    kills: bool = False
    """Whether the last key killed text."""


def press(state: EmacsState, text: str, cursor: int, key: str) -> tuple[EmacsState, Step | None]:
    """What a key does. The step is None if emacs does not use the key.

    `key` has Textual's notation.
    """
    at = max(0, min(cursor, len(text)))
    if (kill := _KILLS.get(key)) is not None:
        killed = kill(text, at)
        return _kill(state, text, killed, forward=killed.start == at)
    return EmacsState(state.killed), _step(state, text, at, key)


def _step(state: EmacsState, text: str, at: int, key: str) -> Step | None:
    """What a key does, if it does not kill text."""
    if (move := _MOTIONS.get(key)) is not None:
        return Step(move(text, at))
    if (effect := _EFFECTS.get(key)) is not None:
        return Step(at, effects=(effect,))
    if key == "ctrl+y":
        return Step(at + len(state.killed), Change(at, at, state.killed))
    if key == "ctrl+d":
        return Step(at, Change(at, min(at + 1, len(text))))
    if (convert := _CASES.get(key)) is not None:
        end = word_end(text, at)
        changed = convert(text[at:end])
        return Step(at + len(changed), Change(at, end, changed))
    return None


def _kill_line(text: str, at: int) -> Change:
    """The change that deletes the rest of the line, or the line break if nothing else is left."""
    end = line_end(text, at)
    return Change(at, min(end + 1, len(text)) if end == at else end)


def _kill_word_before(text: str, at: int) -> Change:
    """The change that deletes the word before the cursor. A word begins after a space."""
    start = len(text[:at].rstrip())
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    return Change(start, at)


_MOTIONS: Mapping[str, Callable[[str, int], int]] = {
    "ctrl+a": line_start,
    "ctrl+e": line_end,
    "ctrl+f": lambda text, at: min(at + 1, len(text)),
    "ctrl+b": lambda _, at: max(0, at - 1),
    "alt+f": word_end,
    "alt+b": previous_word,
    "alt+less_than_sign": lambda *_: 0,
    "alt+greater_than_sign": lambda text, _: len(text),
}
_KILLS: Mapping[str, Callable[[str, int], Change]] = {
    "ctrl+k": _kill_line,
    "ctrl+u": lambda text, at: Change(line_start(text, at), at),
    "ctrl+w": _kill_word_before,
    "alt+d": lambda text, at: Change(at, word_end(text, at)),
    "alt+backspace": lambda text, at: Change(previous_word(text, at), at),
}
_CASES: Mapping[str, Callable[[str], str]] = {
    "alt+u": str.upper,
    "alt+l": str.lower,
    "alt+c": str.title,
}
_EFFECTS: Mapping[str, Effect] = {
    "ctrl+n": Effect.DOWN,
    "ctrl+p": Effect.UP,
    "ctrl+underscore": Effect.UNDO,
}


def _kill(
    state: EmacsState, text: str, change: Change, *, forward: bool
) -> tuple[EmacsState, Step]:
    killed = text[change.start : change.end]
    if state.kills:
        killed = state.killed + killed if forward else killed + state.killed
    return EmacsState(killed or state.killed, kills=True), Step(change.start, change)
