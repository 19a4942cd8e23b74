"""The command palette: finds an action by its name and runs it."""

from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import ClassVar

from textual.content import Content
from textual.fuzzy import FuzzySearch

from treadle.tui.actions import Action
from treadle.tui.key_bindings import KeySet, key_labels, keys_of
from treadle.tui.screens.picker import Picker
from treadle.tui.screens.row_list import Row, RowList, fields

_KEY_COLUMNS, _SLASH_COLUMNS = 12, 14


class Palette(Picker[Action, str]):
    """Lists `actions`, best match first. The result is the name of the chosen action."""

    TITLE_TEXT = "Command palette"
    ENTER = "Run"
    FILTER = "Type the name of an action"
    HAS_PREVIEW: ClassVar[bool] = False
    NO_MATCH = "No action has such a name."

    def __init__(self, actions: Sequence[Action], key_set: KeySet) -> None:
        super().__init__()
        self._actions = actions
        self._key_set = key_set
        self._search = FuzzySearch()

    async def find_rows(self, query: str) -> Sequence[Row[Action]]:
        """The actions that match the query, best first.

        An action matches if its title or slash command has the characters of the query in this
        order.
        """
        ranked = []
        for action in self._actions:
            score, offsets = self._search.match(query, action.title) if query else (1.0, ())
            slash, _ = self._search.match(query, action.slash or "") if query else (0.0, ())
            if score or slash:
                ranked.append((max(score, slash), action, offsets))
        if query:
            ranked.sort(key=itemgetter(0), reverse=True)
        return [
            Row(action.name, action, partial(self._draw, action, offsets))
            for _, action, offsets in ranked
        ]

    async def choose_row(self, value: Action) -> None:
        """Run the action after the palette has closed."""
        self.finish(value.name)

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        """Explain the highlighted action."""
        message.stop()
        if self.highlighted is not None:
            self.show_message(Content(self.highlighted.help))

    def _draw(self, action: Action, offsets: Sequence[int], columns: int) -> Content:
        title = Content(action.title)
        for offset in offsets:
            title = title.stylize("bold $text-accent", offset, offset + 1)
        keys = key_labels(keys_of(action, self._key_set)[:1])
        slash = f"/{action.slash}" if action.slash else ""
        return fields(
            columns,
            title,
            (Content.styled(keys, "$text-muted"), _KEY_COLUMNS),
            (Content.styled(slash, "$text-muted"), _SLASH_COLUMNS),
        )
