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
from treadle.tui.prompt.key_sets.vim_motions import FIND, Motion, Origin, motion
from treadle.tui.prompt.key_sets.vim_text_objects import TextRange, text_object

_MAX_COUNT = 9_999
_MAX_UNDO = 100
_MAX_PUT = 100_000
"""The maximum number of characters that one put command with a count adds to the text."""
_OPERATORS = frozenset("dcy")
_VISUAL_OPERATORS = {"d": "d", "x": "d", "X": "d", "c": "c", "s": "c", "y": "y"}
_REPLACE = "r"
_REPEAT = "."
_ARGUMENTS = FIND | {_REPLACE}
"""The keys that need one more key, which may be any character."""
_HISTORY = {"j": Effect.DOWN, "k": Effect.UP}


class Mode(StrEnum):
    """A mode of vim."""

    INSERT = "insert"
    NORMAL = "normal"
    VISUAL = "visual"
    VISUAL_LINE = "visual line"


@dataclass(frozen=True, slots=True)
class Insertion:
    """The text of the prompt and the position of the cursor when insert mode began."""

    text: str
    cursor: int

    def inserted(self, text: str) -> str:
        """The part of `text` that was inserted at the cursor.

        It is empty if `text` also has other changes.
        """
        before, rest = self.text[: self.cursor], self.text[self.cursor :]
        whole = text.startswith(before) and text.endswith(rest) and len(text) > len(self.text)
        return text[self.cursor : len(text) - len(rest)] if whole else ""


@dataclass(frozen=True, slots=True)
class VimState:
    """The mode, the keys of an incomplete command, and the text that was deleted or copied last.

    `anchor` is where the selection began, and `head` is its other end, the cursor of vim. `keys`
    has the keys since the last complete command. `repeated` has the keys of the last command that
    changed the text, and `inserted` has the text that it inserted. `found` has the keys of the last
    search for a character in a line, such as "fx".
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
    keys: str = ""
    insertion: Insertion | None = None
    repeated: str = ""
    inserted: str = ""
    found: str = ""

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
    after, step = _press(state, text, cursor, key)
    return (after if step is None else _recorded(state, after, text, key, step)), step


def _recorded(before: VimState, after: VimState, text: str, key: str, step: Step) -> VimState:
    """Return `after` with the keys of the command, so that `.` can repeat a complete command."""
    if before.mode is Mode.INSERT:
        if before.insertion is None:
            return after
        inserted = before.insertion.inserted(text)
        return replace(after, keys="", insertion=None, repeated=before.keys, inserted=inserted)
    if step.effects or (key == _REPEAT and not before.pending):
        return replace(after, keys="", insertion=None)
    keys = before.keys + key
    changed = text if step.change is None else step.change.apply(text)
    if after.mode is Mode.INSERT:
        return replace(after, keys=keys, insertion=Insertion(changed, step.cursor))
    if step.change is not None:
        return replace(after, keys="", repeated=keys, inserted="")
    return replace(after, keys="" if after.mode is Mode.NORMAL and not after.pending else keys)


def _press(state: VimState, text: str, cursor: int, key: str) -> Result:
    at = max(0, min(cursor, len(text)))
    if state.mode in {Mode.VISUAL, Mode.VISUAL_LINE}:
        at = max(0, min(state.head, len(text)))
    if key == "escape":
        return _escape(state, text, at)
    if state.mode is Mode.INSERT:
        return state, None
    if len(key) != 1 and key != "ctrl+r":
        return _cleared(state, state.mode), None
    if state.prefix not in _ARGUMENTS and (key in "123456789" or (key == "0" and state.count)):
        state = replace(state, count=(state.count + key)[-4:], prefix="")
        return state, _present(state, text, at)
    if not state.prefix and _is_prefix(state, key):
        state = replace(state, prefix=key)
        return state, _present(state, text, at)
    if state.prefix in FIND:
        state = replace(state, found=state.prefix + key)
    run = _normal if state.mode is Mode.NORMAL else _visual
    return run(state, text, at, key)


def _is_prefix(state: VimState, key: str) -> bool:
    """Whether this key begins a command that needs another key."""
    if key in "ia":
        return bool(state.operator) or state.mode is not Mode.NORMAL
    return key == "g" or key in FIND or (key == _REPLACE and not state.operator)


def _escape(state: VimState, text: str, at: int) -> Result:
    """Return to normal mode, or drop an incomplete command."""
    if state.mode is Mode.INSERT:
        return _cleared(state, Mode.NORMAL), Step(max(line_start(text, at), at - 1))
    if state.mode is Mode.NORMAL and not state.pending:
        return state, None
    return _cleared(state, Mode.NORMAL), Step(_on_character(text, at))


def _normal(state: VimState, text: str, at: int, key: str) -> Result:
    keys = state.prefix + key
    if not state.operator and (result := _command(state, text, at, keys)) is not None:
        return result
    if state.operator == keys:
        return _operate(state, text, at, Motion(moved_lines(text, at, state.number - 1), True))
    if state.operator and (found := _object(state, text, at, keys)) is not None:
        return _operate_on_range(state, text, found.start, found.end)
    moved = _motion(state, text, at, keys)
    if moved is not None and state.operator:
        return _operate(state, text, at, moved)
    target = at if moved is None else moved.target
    return _cleared(state, Mode.NORMAL), Step(_on_character(text, target))


def _command(state: VimState, text: str, at: int, keys: str) -> Result | None:
    """The result of a command without a motion. None if the keys are not such a command."""
    if state.prefix == _REPLACE:
        end = min(at + state.number, line_end(text, at))
        return _replace(state, text, at, end, keys.removeprefix(_REPLACE))
    if keys in _OPERATORS:
        return replace(state, operator=keys, operator_count=state.count, count=""), Step(at)
    if keys in _HISTORY and not state.has_count:
        return _cleared(state, Mode.NORMAL), Step(at, effects=(_HISTORY[keys],))
    command = _COMMANDS.get(keys)
    return None if command is None else command(state, text, at)


def _motion(state: VimState, text: str, at: int, keys: str) -> Motion | None:
    return motion(_origin(state, text, at), keys)


def _object(state: VimState, text: str, at: int, keys: str) -> TextRange | None:
    return text_object(_origin(state, text, at), keys)


def _origin(state: VimState, text: str, at: int) -> Origin:
    return Origin(text, at, state.number, state.has_count, state.operator, state.found)


def _replace(state: VimState, text: str, start: int, end: int, character: str) -> Result:
    """Replace each character of a range except line breaks.

    In normal mode, nothing changes if the line has fewer characters than the count requires.
    """
    cleared = _cleared(state, Mode.NORMAL)
    if state.mode is Mode.NORMAL and end - start < state.number:
        return cleared, Step(_on_character(text, start))
    replaced = "".join("\n" if each == "\n" else character for each in text[start:end])
    cursor = end - 1 if state.mode is Mode.NORMAL else start
    return cleared, Step(max(0, cursor), Change(start, end, replaced))


def _repeat(state: VimState, text: str, at: int) -> Result:
    """Repeat the last command that changed the text. A count replaces that command's count."""
    keys = state.repeated
    if state.has_count:
        keys = str(state.number) + keys.lstrip("123456789")
    current, changed, cursor = _cleared(state, Mode.NORMAL), text, at
    for key in keys:
        current, step = _press(current, changed, cursor, key)
        if step is None:
            break
        changed = changed if step.change is None else step.change.apply(changed)
        cursor = step.cursor
    if current.mode is Mode.INSERT:
        changed = changed[:cursor] + state.inserted + changed[cursor:]
        cursor = max(line_start(changed, cursor), cursor + len(state.inserted) - 1)
    return _cleared(current, Mode.NORMAL), Step(
        _on_character(changed, cursor), _difference(text, changed)
    )


def _difference(text: str, changed: str) -> Change | None:
    """The shortest change that turns one text into another. None if they are equal."""
    if text == changed:
        return None
    shorter = min(len(text), len(changed))
    start = next((at for at in range(shorter) if text[at] != changed[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if text[-1 - at] != changed[-1 - at]), rest)
    return Change(start, len(text) - end, changed[start : len(changed) - end])


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
    keys = state.prefix + key
    if (result := _selection_command(state, text, at, keys)) is not None:
        return result
    cleared = replace(state, count="", prefix="")
    found = _object(state, text, at, keys)
    if found is not None and found.start < found.end:
        return _selecting(replace(cleared, anchor=found.start), text, found.end - 1)
    moved = _motion(state, text, at, keys)
    return _selecting(cleared, text, at if moved is None else moved.target)


def _selection_command(state: VimState, text: str, at: int, keys: str) -> Result | None:
    """The result of a command on the selection. None for other keys, such as motions."""
    first, last = sorted((max(0, min(state.anchor, len(text))), at))
    by_line = state.mode is Mode.VISUAL_LINE
    if state.prefix == _REPLACE:
        start, end = (
            (line_start(text, first), line_end(text, last)) if by_line else (first, last + 1)
        )
        return _replace(state, text, start, min(len(text), end), keys.removeprefix(_REPLACE))
    if (operator := _VISUAL_OPERATORS.get(keys)) is not None:
        operating = replace(state, operator=operator)
        if by_line:
            return _operate_on_lines(operating, text, first, first, last)
        return _operate_on_range(operating, text, first, last + 1)
    if keys == "o":
        return _selecting(replace(state, anchor=at), text, state.anchor)
    mode = {"v": Mode.VISUAL, "V": Mode.VISUAL_LINE}.get(keys)
    if mode is state.mode:
        return _cleared(state, Mode.NORMAL), Step(_on_character(text, at))
    return None if mode is None else _selecting(replace(state, mode=mode), text, at)


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
    return replace(
        state, mode=mode, count="", operator="", operator_count="", prefix="", anchor=0, head=0
    )


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
    _REPEAT: _repeat,
}
"""The commands of normal mode that need no motion."""
