"""The keys of vim: its modes, motions, operators and counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from treadle.tui.prompt.key_sets.steps import (
    Change,
    Effect,
    Step,
    first_word,
    line_end,
    line_start,
    moved_lines,
)
from treadle.tui.prompt.key_sets.vim_motions import Motion, Origin, motion

_MAX_COUNT = 9_999
_MAX_UNDO = 100
_MAX_PUT = 100_000
"""The maximum number of characters that one put command with a count adds to the text."""
_OPERATORS = frozenset("dcy")
_VISUAL_OPERATORS = {"d": "d", "x": "d", "X": "d", "c": "c", "s": "c", "y": "y"}
_HISTORY = {"j": Effect.DOWN, "k": Effect.UP}


class Mode(StrEnum):
    """A mode of vim."""

    INSERT = "insert"
    NORMAL = "normal"
    VISUAL = "visual"
    VISUAL_LINE = "visual line"


@dataclass(frozen=True, slots=True)
class VimState:
    """The mode, the keys of an incomplete command, and the text that was deleted or copied last.

    `anchor` is where the selection began, and `head` is its other end, the cursor of vim.
    """

    mode: Mode = Mode.INSERT
    count: str = ""
    operator: str = ""
    operator_count: str = ""
    prefix: str = ""
    register: str = ""
    by_line: bool = False
    """Whether the register has whole lines."""
    anchor: int = 0
    head: int = 0

    @property
    def pending(self) -> str:
        """The keys of the incomplete command."""
        return self.operator_count + self.operator + self.count + self.prefix

    @property
    def number(self) -> int:
        """The count of the command, 1 without a count."""
        first, second = int(self.operator_count or 1), int(self.count or 1)
        return min(first * second, _MAX_COUNT)

    @property
    def has_count(self) -> bool:
        """Whether a count was typed."""
        return bool(self.count or self.operator_count)


Result = tuple[VimState, Step | None]


def press(state: VimState, text: str, cursor: int, key: str) -> Result:
    """What a key does. The step is None if the key has no meaning in the current mode of vim.

    `key` is a character, or the name of a key in Textual's notation.
    """
    at = max(0, min(cursor, len(text)))
    if state.mode in {Mode.VISUAL, Mode.VISUAL_LINE}:
        at = max(0, min(state.head, len(text)))
    if key == "escape":
        return _escape(state, text, at)
    if state.mode is Mode.INSERT:
        return state, None
    if len(key) != 1 and key != "ctrl+r":
        return _cleared(state, state.mode), None
    if key in "123456789" or (key == "0" and state.count):
        state = replace(state, count=(state.count + key)[-4:], prefix="")
        return state, _present(state, text, at)
    if key == "g" and not state.prefix:
        state = replace(state, prefix="g")
        return state, _present(state, text, at)
    run = _normal if state.mode is Mode.NORMAL else _visual
    return run(state, text, at, key)


def _escape(state: VimState, text: str, at: int) -> Result:
    """Return to normal mode, or drop an incomplete command."""
    if state.mode is Mode.INSERT:
        return _cleared(state, Mode.NORMAL), Step(max(line_start(text, at), at - 1))
    if state.mode is Mode.NORMAL and not state.pending:
        return state, None
    return _cleared(state, Mode.NORMAL), Step(_on_character(text, at))


def _normal(state: VimState, text: str, at: int, key: str) -> Result:
    keys = state.prefix + key
    if state.operator == keys:
        return _operate(state, text, at, Motion(moved_lines(text, at, state.number - 1), True))
    if not state.operator:
        if keys in _OPERATORS:
            pending = replace(state, operator=key, operator_count=state.count, count="")
            return pending, Step(at)
        if keys in _HISTORY and not state.has_count:
            return _cleared(state, Mode.NORMAL), Step(at, effects=(_HISTORY[keys],))
        if (command := _COMMANDS.get(keys)) is not None:
            return command(state, text, at)
    moved = _motion(state, text, at, keys)
    if moved is not None and state.operator:
        return _operate(state, text, at, moved)
    target = at if moved is None else moved.target
    return _cleared(state, Mode.NORMAL), Step(_on_character(text, target))


def _motion(state: VimState, text: str, at: int, keys: str) -> Motion | None:
    return motion(Origin(text, at, state.number, state.has_count, state.operator), keys)


def _operate(state: VimState, text: str, at: int, moved: Motion) -> Result:
    first, last = sorted((at, moved.target))
    if moved.by_line:
        return _operate_on_lines(state, text, at, first, last)
    return _operate_on_range(state, text, first, last + moved.inclusive)


def _operate_on_range(state: VimState, text: str, start: int, end: int) -> Result:
    end = min(end, len(text))
    mode = Mode.INSERT if state.operator == "c" else Mode.NORMAL
    after = replace(_cleared(state, mode), register=text[start:end], by_line=False)
    if state.operator == "y":
        return after, Step(_on_character(text, start))
    change = Change(start, end)
    changed = change.apply(text)
    return after, Step(start if mode is Mode.INSERT else _on_character(changed, start), change)


def _operate_on_lines(state: VimState, text: str, at: int, first: int, last: int) -> Result:
    start, end = line_start(text, first), line_end(text, last)
    mode = Mode.INSERT if state.operator == "c" else Mode.NORMAL
    after = replace(_cleared(state, mode), register=text[start:end], by_line=True)
    if state.operator == "y":
        return after, Step(_on_character(text, min(at, first)))
    if state.operator == "c":
        return after, Step(start, Change(start, end))
    is_last = end == len(text)  # then the line break before the first line is deleted
    change = Change(max(0, start - 1), end) if is_last else Change(start, end + 1)
    changed = change.apply(text)
    return after, Step(
        _on_character(changed, first_word(changed, min(start, len(changed)))), change
    )


def _insert(state: VimState, text: str, at: int) -> Result:  # noqa: ARG001
    return _inserting(state, at)


def _append(state: VimState, text: str, at: int) -> Result:
    return _inserting(state, min(line_end(text, at), at + 1))


def _insert_first(state: VimState, text: str, at: int) -> Result:
    return _inserting(state, first_word(text, at))


def _append_last(state: VimState, text: str, at: int) -> Result:
    return _inserting(state, line_end(text, at))


def _open_below(state: VimState, text: str, at: int) -> Result:
    end = line_end(text, at)
    return _inserting(state, end + 1, Change(end, end, "\n"))


def _open_above(state: VimState, text: str, at: int) -> Result:
    start = line_start(text, at)
    return _inserting(state, start, Change(start, start, "\n"))


def _delete_right(state: VimState, text: str, at: int) -> Result:
    end = min(line_end(text, at), at + state.number)
    return _operate_on_range(replace(state, operator="d"), text, at, end)


def _delete_left(state: VimState, text: str, at: int) -> Result:
    start = max(line_start(text, at), at - state.number)
    return _operate_on_range(replace(state, operator="d"), text, start, at)


def _substitute(state: VimState, text: str, at: int) -> Result:
    end = min(line_end(text, at), at + state.number)
    return _operate_on_range(replace(state, operator="c"), text, at, end)


def _delete_rest(state: VimState, text: str, at: int) -> Result:
    end = line_end(text, moved_lines(text, at, state.number - 1))
    return _operate_on_range(replace(state, operator="d"), text, at, end)


def _change_rest(state: VimState, text: str, at: int) -> Result:
    end = line_end(text, moved_lines(text, at, state.number - 1))
    return _operate_on_range(replace(state, operator="c"), text, at, end)


def _change_lines(state: VimState, text: str, at: int) -> Result:
    last = moved_lines(text, at, state.number - 1)
    return _operate_on_lines(replace(state, operator="c"), text, at, at, last)


def _undo(state: VimState, text: str, at: int) -> Result:  # noqa: ARG001
    effects = (Effect.UNDO,) * min(state.number, _MAX_UNDO)
    return _cleared(state, Mode.NORMAL), Step(at, effects=effects)


def _redo(state: VimState, text: str, at: int) -> Result:  # noqa: ARG001
    effects = (Effect.REDO,) * min(state.number, _MAX_UNDO)
    return _cleared(state, Mode.NORMAL), Step(at, effects=effects)


def _search(state: VimState, text: str, at: int) -> Result:  # noqa: ARG001
    return _cleared(state, Mode.INSERT), Step(at, effects=(Effect.SEARCH,))


def _select(state: VimState, text: str, at: int) -> Result:
    return _selecting(replace(_cleared(state, Mode.VISUAL), anchor=at), text, at)


def _select_lines(state: VimState, text: str, at: int) -> Result:
    return _selecting(replace(_cleared(state, Mode.VISUAL_LINE), anchor=at), text, at)


def _put_after(state: VimState, text: str, at: int) -> Result:
    return _put(state, text, at, after=True)


def _put_before(state: VimState, text: str, at: int) -> Result:
    return _put(state, text, at, after=False)


def _put(state: VimState, text: str, at: int, *, after: bool) -> Result:
    put = state.register
    cleared = _cleared(state, Mode.NORMAL)
    if not put and not state.by_line:
        return cleared, Step(at)
    number = min(state.number, max(1, _MAX_PUT // max(1, len(put))))
    if state.by_line:
        lines = "\n".join([put] * number)
        if after:
            end = line_end(text, at)
            change = Change(end, end, f"\n{lines}")
            return cleared, Step(first_word(change.apply(text), end + 1), change)
        start = line_start(text, at)
        change = Change(start, start, f"{lines}\n")
        return cleared, Step(first_word(change.apply(text), start), change)
    position = min(at + 1, line_end(text, at)) if after else at
    change = Change(position, position, put * number)
    last = position + len(put) * number - 1
    return cleared, Step(_on_character(change.apply(text), last), change)


def _visual(state: VimState, text: str, at: int, key: str) -> Result:
    first, last = sorted((max(0, min(state.anchor, len(text))), at))
    if not state.prefix:
        if (operator := _VISUAL_OPERATORS.get(key)) is not None:
            operating = replace(state, operator=operator)
            if state.mode is Mode.VISUAL_LINE:
                return _operate_on_lines(operating, text, first, first, last)
            return _operate_on_range(operating, text, first, last + 1)
        if key == "o":
            return _selecting(replace(state, anchor=at), text, state.anchor)
        if key in "vV":
            mode = Mode.VISUAL if key == "v" else Mode.VISUAL_LINE
            if mode is state.mode:
                return _cleared(state, Mode.NORMAL), Step(_on_character(text, at))
            return _selecting(replace(state, mode=mode), text, at)
    moved = _motion(state, text, at, state.prefix + key)
    cleared = replace(state, count="", prefix="")
    return _selecting(cleared, text, at if moved is None else moved.target)


def _selecting(state: VimState, text: str, head: int) -> Result:
    """The selection from the anchor to `head`.

    In the mode for lines, the selection has whole lines.
    """
    head = max(0, min(head, len(text)))
    selecting = replace(state, head=head)
    return selecting, _present(selecting, text, head)


def _present(state: VimState, text: str, at: int) -> Step:
    """A step that shows the current cursor and selection, and changes no text."""
    if state.mode is Mode.NORMAL:
        return Step(at)
    anchor = max(0, min(state.anchor, len(text)))
    if state.mode is Mode.VISUAL:
        return Step(at, anchor=anchor + 1 if at < anchor < len(text) else anchor)
    if at < anchor:
        return Step(line_start(text, at), anchor=line_end(text, anchor))
    return Step(line_end(text, at), anchor=line_start(text, anchor))


def _inserting(state: VimState, cursor: int, change: Change | None = None) -> Result:
    return _cleared(state, Mode.INSERT), Step(cursor, change)


def _cleared(state: VimState, mode: Mode) -> VimState:
    return VimState(mode, register=state.register, by_line=state.by_line)


def _on_character(text: str, at: int) -> int:
    """Return `at`, or the position of the last character of its line if `at` is the line's end.

    In normal mode, the cursor is never after the last character of a line.
    """
    at = max(0, min(at, len(text)))
    return at if at < line_end(text, at) else max(line_start(text, at), at - 1)


_COMMANDS: Mapping[str, Callable[[VimState, str, int], Result]] = {
    "i": _insert,
    "a": _append,
    "I": _insert_first,
    "A": _append_last,
    "o": _open_below,
    "O": _open_above,
    "x": _delete_right,
    "X": _delete_left,
    "s": _substitute,
    "S": _change_lines,
    "D": _delete_rest,
    "C": _change_rest,
    "p": _put_after,
    "P": _put_before,
    "u": _undo,
    "ctrl+r": _redo,
    "/": _search,
    "v": _select,
    "V": _select_lines,
}
"""The commands of normal mode that need no motion."""
