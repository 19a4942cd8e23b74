"""The last line of an overlay, which lists its main keys."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.widgets import Static

from treadle.tui.actions import Action
from treadle.tui.key_bindings import key_label

_SEPARATOR = "  "


class KeyLine(Static):
    """Lists as many of its actions as fit. The first ones are the most important ones."""

    DEFAULT_CSS = """
    KeyLine {
        height: 1;
        text-wrap: nowrap;
    }
    """

    def __init__(self, actions: Sequence[Action]) -> None:
        super().__init__()
        self._actions = tuple(action for action in actions if action.keys)

    def show(self, actions: Sequence[Action]) -> None:
        """List other actions."""
        self._actions = tuple(action for action in actions if action.keys)
        self._fit()

    def on_resize(self, _: events.Resize) -> None:
        """List more or fewer actions."""
        self._fit()

    def _fit(self) -> None:
        parts: list[Content] = []
        left = self.size.width
        for action in self._actions:
            part = Content.assemble(
                (self._key(action), "bold"), " ", (action.title.lower(), "$text-muted")
            )
            left -= part.cell_length + len(_SEPARATOR)
            if left < -len(_SEPARATOR):
                break
            parts.append(part)
        self.update(Content(_SEPARATOR).join(parts))

    def _key(self, action: Action) -> str:
        """The first key of the action in the key set of the person."""
        for _, binding, _, _ in self.screen.active_bindings.values():
            if binding.action == action.name:
                return key_label(binding.key)
        return key_label(action.keys[0])
