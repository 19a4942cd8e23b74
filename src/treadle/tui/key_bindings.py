"""Builds Textual's key bindings from the registry of actions, and names keys for a person."""

from collections.abc import Iterable
from enum import StrEnum

from textual.binding import Binding, BindingType, Keymap
from textual.keys import key_to_character

from treadle.tui.actions import ACTIONS, Action, Where, actions_in


class KeySet(StrEnum):
    """A set of keys that a person can choose."""

    DEFAULT = "default"
    VIM = "vim"
    EMACS = "emacs"


def keys_of(action: Action, key_set: KeySet = KeySet.DEFAULT) -> tuple[str, ...]:
    """Return the keys of an action in a key set, in Textual's notation."""
    replaced = {KeySet.VIM: action.vim, KeySet.EMACS: action.emacs}.get(key_set)
    return action.keys if replaced is None else replaced


def bindings(*places: Where, priority: bool = False) -> list[BindingType]:
    """Return bindings for the default keys of these parts of the terminal.

    The id of a binding is the name of its action. With `priority`, the focused widget does not
    receive the keys. Keys that produce a character are an exception, so that a person can type them
    into a text field.

    While an overlay is shown, Textual does not pass keys of characters on to the application.
    Therefore the bindings of an overlay include these keys of the actions that work anywhere.
    """
    found = [
        Binding(
            key, action.name, action.title, show=False, id=action.name,
            priority=priority and key_to_character(key) is None,
        )
        for action in actions_in(*places)
        for key in action.keys
    ]  # fmt: skip
    if Where.OVERLAY in places:
        for action in actions_in(Where.ANYWHERE):
            keys = [key for key in action.keys if key_to_character(key) is not None]
            found += [
                Binding(key, f"app.{action.name}", action.title, show=False, id=action.name)
                for key in keys
            ]
    return list[BindingType](found)


def keymap(key_set: KeySet) -> Keymap:
    """Map the ids of bindings to the keys that replace the default keys in a key set."""
    return {
        action.name: ",".join(keys_of(action, key_set))
        for action in ACTIONS
        if keys_of(action, key_set) != action.keys
    }


_NAMES = {
    "escape": "Esc",
    "enter": "Enter",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "delete": "Del",
    "backspace": "Backspace",
    "space": "Space",
    "question_mark": "?",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}


def key_label(key: str) -> str:
    """The name of a key for a person, such as `Ctrl+R` for `ctrl+r`."""
    *modifiers, last = key.split("+")
    name = _NAMES.get(last, last)
    if modifiers:
        name = name.upper() if len(name) == 1 else name.capitalize()
    elif len(name) > 1 and last not in _NAMES:
        name = name.capitalize()
    return "+".join([*(modifier.capitalize() for modifier in modifiers), name])


def key_labels(keys: Iterable[str]) -> str:
    """The names of the keys of an action, separated by commas."""
    return ", ".join(map(key_label, keys))
