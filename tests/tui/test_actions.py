"""Each action has its method, its keys work, and the page lists them."""

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator

import pytest
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

import treadle.tui
from scripts.write_terminal_reference import PAGE, with_reference
from treadle.tui.actions import ACTIONS, Where
from treadle.tui.app import TerminalApp
from treadle.tui.key_bindings import KeySet, key_label, keys_of
from treadle.tui.screens.conversation import ConversationScreen

BY_NAME = {action.name: action for action in ACTIONS}


def classes() -> Iterator[type[DOMNode]]:
    """The widgets, screens and applications of the terminal."""
    for module in pkgutil.walk_packages(treadle.tui.__path__, "treadle.tui."):
        loaded = importlib.import_module(module.name)
        for value in vars(loaded).values():
            if isinstance(value, type) and value.__module__ == module.name:
                yield value


CLASSES = tuple(classes())


def methods(kind: type) -> set[str]:
    """The actions that a class defines itself. Methods that replace one of Textual do not count."""
    bases = [base for base in kind.__mro__ if base.__module__.startswith("textual.")]
    return {
        name.removeprefix("action_") for name in vars(kind)
        if name.startswith("action_")
        and not any(name in vars(base) or f"_{name}" in vars(base) for base in bases)
    }  # fmt: skip


def places(kind: type[DOMNode]) -> frozenset[Where]:
    """The parts of the terminal whose keys a class or its bases install."""
    return frozenset(
        BY_NAME[binding.id].where
        for base in kind.__mro__
        for binding in base.__dict__.get("BINDINGS", ())
        if isinstance(binding, Binding) and binding.id in BY_NAME
    )


def test_each_action_has_a_method_and_each_method_an_action() -> None:
    defined = set[str]().union(*(methods(kind) for kind in CLASSES))
    missing = {name for name in BY_NAME if not any(hasattr(k, f"action_{name}") for k in CLASSES)}
    assert missing == set()
    assert defined - set(BY_NAME) == set()


def test_names_and_commands_are_unique() -> None:
    names = Counter(action.name for action in ACTIONS)
    commands = Counter(action.slash for action in ACTIONS if action.slash)
    assert [name for name, count in (names + commands).items() if count > 2] == []
    assert max(names.values()) == max(commands.values()) == 1


def test_each_part_with_keys_is_installed() -> None:
    installed = frozenset[Where]().union(*map(places, CLASSES))
    assert {action.where for action in ACTIONS if action.keys} - installed == set()


@pytest.mark.parametrize("key_set", KeySet)
def test_no_key_is_bound_twice_where_both_work(key_set: KeySet) -> None:
    for kind in CLASSES:
        here = places(kind) | ({Where.ANYWHERE} if issubclass(kind, Screen) else frozenset[Where]())
        keys = Counter(
            key for action in ACTIONS if action.where in here for key in keys_of(action, key_set)
        )
        assert [key for key, count in keys.items() if count > 1] == [], kind.__name__


@pytest.mark.parametrize("key_set", KeySet)
def test_keys_that_work_anywhere_are_not_keys_of_a_part(key_set: KeySet) -> None:
    """They come first, so that the key of the part would never work."""
    anywhere = {
        key for action in ACTIONS if action.where is Where.ANYWHERE
        for key in keys_of(action, key_set) if key != "question_mark"
    }  # fmt: skip
    others = {
        (key, action.name) for action in ACTIONS if action.where is not Where.ANYWHERE
        for key in keys_of(action, key_set)
    }  # fmt: skip
    assert {name for key, name in others if key in anywhere} == set()


def test_no_key_set_removes_the_keys_of_an_action() -> None:
    """Textual's keymap cannot remove a key."""
    for action in ACTIONS:
        assert () not in {action.vim, action.emacs}, action.name


def test_conversation_installs_the_keys_of_its_parts() -> None:
    assert places(ConversationScreen) >= {Where.CONVERSATION}
    assert places(TerminalApp) >= {Where.ANYWHERE}


def test_page_lists_every_key_and_command() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_reference(page), "run `make docs`"
    for action in ACTIONS:
        if action.slash:
            assert f"`/{action.slash}" in page
        for key in action.keys:
            assert f"`{key_label(key)}`" in page
