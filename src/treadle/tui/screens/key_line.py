"""The last line of an overlay, which lists its main keys."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.widgets import Static

from treadle.tui.actions import Action
from treadle.tui.key_bindings import key_label

_SEPARATOR = "  "


class KeyLine(Static):
    """Lists as many of its actions as fit.

    The last action is always listed. The others are added in their order.
    """

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
        parts = [self._part(action) for action in self._actions]
        left = self.size.width - sum(part.cell_length for part in parts[-1:])
        shown: list[Content] = []
        for part in parts[:-1]:
            if left < part.cell_length + len(_SEPARATOR):
                continue  # a shorter one may fit
            left -= part.cell_length + len(_SEPARATOR)
            shown.append(part)
        self.update(Content(_SEPARATOR).join([*shown, *parts[-1:]]))

    def _part(self, action: Action) -> Content:
        title = Content.styled(action.title.lower(), "$text-muted")
        return Content.assemble((self._key(action), "bold"), " ", title)

    def _key(self, action: Action) -> str:
        """The first key of the action in the key set of the person."""
        for _, binding, _, _ in self.screen.active_bindings.values():
            if binding.action == action.name:
                return key_label(binding.key)
        return key_label(action.keys[0])
