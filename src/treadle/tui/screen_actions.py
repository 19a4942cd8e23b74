"""Finds the actions of a screen and the widgets that run them."""

from collections.abc import Iterator

from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

from treadle.tui.actions import ACTIONS, Action, Where

_ACTIONS = {action.name: action for action in ACTIONS}


def places(screen: Screen[object]) -> frozenset[Where]:
    """Return the parts of the terminal whose actions the widgets of a screen bind to keys."""
    found = {Where.ANYWHERE}
    for node in _nodes(screen):
        found |= {_ACTIONS[name].where for name in _bound(type(node))}
    return frozenset(found)


def actions_of(screen: Screen[object]) -> list[Action]:
    """Return the actions of a screen, in the order of `ACTIONS`."""
    present = places(screen)
    return [action for action in ACTIONS if action.where in present]


def target(screen: Screen[object], name: str) -> DOMNode | None:
    """Return the widget or application that runs an action.

    The focused widget and its parents come first, then the screen and its other widgets, and then
    the application. Returns None if the action is not available at present.
    """
    for node in _nodes(screen):
        if has_action(node, name):
            return node if node.check_action(name, ()) else None
    return None


def has_action(node: DOMNode, name: str) -> bool:
    """Whether a widget has the method of an action."""
    return callable(getattr(node, f"action_{name}", None))


def _nodes(screen: Screen[object]) -> Iterator[DOMNode]:
    if screen.focused is not None:
        yield from (node for node in screen.focused.ancestors_with_self if node is not screen.app)
    yield screen
    yield from screen.walk_children()
    yield screen.app


def _bound(kind: type[DOMNode]) -> Iterator[str]:
    for base in kind.__mro__:
        for binding in base.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id in _ACTIONS:
                yield binding.id
