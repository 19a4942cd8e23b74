"""The list of completions above the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import OptionList

from treadle.tui.prompt.draft import Chip
from treadle.tui.prompt.tokens import Token
from treadle.tui.text import foreign_line


@dataclass(frozen=True, slots=True)
class Choice:
    """One completion. Its chip or, without a chip, its text replaces the word at the cursor.

    `name`, `kind` and `detail` are the columns of its line.
    """

    name: str
    kind: str
    detail: str
    text: str = ""
    chip: Chip | None = None
    submits: bool = False
    """Whether Enter also sends the message. It is True for a command without an argument."""


class CompletionList(OptionList, can_focus=False):
    """Shows choices while it is open. The prompt keeps the focus."""

    DEFAULT_CSS = """
    CompletionList {
        display: none;
        height: auto;
        overflow-x: hidden;
        border: none;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        background: $surface;
        scrollbar-size-vertical: 1;
        &.-open { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._choices: Sequence[Choice] = ()
        self._token: Token | None = None

    @property
    def is_open(self) -> bool:
        """Whether the list has choices."""
        return bool(self._choices)

    def chosen(self, token: Token | None) -> Choice | None:
        """The selected choice, if the choices are for `token`."""
        if token is None or token != self._token or self.highlighted is None:
            return None
        return self._choices[self.highlighted] if self.highlighted < len(self._choices) else None

    def open(self, token: Token | None, choices: Sequence[Choice]) -> None:
        """Show the choices for a word. Without choices, the list closes."""
        self._token, self._choices = token, choices
        self.clear_options()
        names = max((len(choice.name) for choice in choices), default=0)
        room = max(20, self.app.size.width - 4)
        width = min(names, room // 2)
        self.add_options([_line(choice, width) for choice in choices])
        self.highlighted = 0 if choices else None
        self.set_class(bool(choices), "-open")

    def close(self) -> None:
        """Hide the list."""
        if self.is_open:
            self.open(None, ())


def _line(choice: Choice, width: int) -> Content:
    name = foreign_line(choice.name, "$text-primary", columns=width)
    space = " " * max(0, width - name.cell_length)
    detail = foreign_line(choice.detail, "$text-muted", columns=200)
    if not choice.kind:
        return Content.assemble(name, space, "  ", detail)
    kind = foreign_line(choice.kind, "$text-muted", columns=10)
    padding = " " * max(0, 10 - kind.cell_length)
    return Content.assemble(name, space, "  ", kind, padding, " ", detail)
