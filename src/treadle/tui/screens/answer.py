"""Asks the person to answer a question for approval. Each answer states what it allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from treadle.app.permissions import Choice
from treadle.events.types import ApprovalRequested, ApprovalScope
from treadle.tui.actions import Where, actions_in
from treadle.tui.approvals.panel import preview
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.key_line import KeyLine
from treadle.tui.screens.overlay import Overlay
from treadle.tui.screens.words import WordsScreen
from treadle.tui.text import foreign, foreign_line

_TITLES = {
    ApprovalScope.ONCE: ("y", "Once"),
    ApprovalScope.SESSION: ("s", "For this session"),
    ApprovalScope.ALWAYS: ("a", "Always in this repository"),
    ApprovalScope.DENIED: ("n", "Deny"),
}
_BORDER_COLUMNS = 8
"""The number of columns that borders, paddings and the scroll bar take around the choices."""
WHY_NOT = Content("Why not? The model reads your words. Leave the line empty to give no reason.")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a person, with words for the model."""

    scope: ApprovalScope
    words: str | None = None


class AnswerScreen(Overlay[Answer | None]):
    """Returns the answer to a question, or None if the person leaves the question open.

    `note` states what the answer applies to, if the question does not state it.
    """

    DEFAULT_CSS = """
    AnswerScreen {
        align: center bottom;
        & > Vertical {
            width: 100%; height: auto; max-height: 90%; padding: 0 1;
            border: round $warning; background: $surface;
        }
        #question { height: auto; max-height: 6; }
        #arguments { height: auto; max-height: 35vh; margin: 0; }
        #arguments > Static { height: auto; }
        OptionList {
            height: auto; max-height: 60vh; border: none; padding: 0; background: $surface;
        }
        OptionList:focus { border: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(Where.ANSWER),
        *bindings(Where.OVERLAY, priority=True),
    ]

    def __init__(
        self, question: ApprovalRequested, choices: Sequence[Choice], *, note: Content | None = None
    ) -> None:
        super().__init__()
        self.question = question
        self._choices = choices
        self._note = note

    def compose(self) -> ComposeResult:
        """Create the parts of the screen."""
        with Vertical():
            yield Static(self._head(), id="question")
            if self._note is None and self.question.preview:
                with VerticalScroll(id="arguments"):
                    yield Static(Content("\n").join(preview(self.question)))
            columns = self.app.size.width - _BORDER_COLUMNS
            yield OptionList(*(_option(each, columns) for each in self._choices))
            yield KeyLine([*actions_in(Where.ANSWER), *actions_in(Where.OVERLAY)])

    def on_mount(self) -> None:
        """Move the focus to the choices."""
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Give the chosen answer."""
        message.stop()
        self._give(self._choices[message.option_index].scope)

    def settle(self, approval_id: UUID, outcome: str) -> None:
        """Close the screen if its question was answered elsewhere. `outcome` states the answer."""
        if self.question.approval_id == approval_id and self.is_current:
            self.app.notify(f"The question was answered: {outcome}.", markup=False)
            _ = self.dismiss(None)

    def _head(self) -> Content:
        question = self.question
        subjects = [each for each in question.subjects if each not in question.summary]
        return Content("\n").join(
            [
                Content.assemble(("? ", "$text-warning bold"), foreign(question.summary, "bold")),
                foreign(question.reason, "$text-muted"),
                *(foreign_line(each) for each in subjects),
                *([self._note] if self._note is not None else []),
            ]
        )

    def _give(self, scope: ApprovalScope) -> None:
        if not any(each.scope is scope and each.available for each in self._choices):
            self.app.bell()
        elif scope is ApprovalScope.DENIED:
            self._deny()
        else:
            _ = self.dismiss(Answer(scope))

    @work
    async def _deny(self) -> None:
        words = await self.app.push_screen_wait(WordsScreen(WHY_NOT))
        if words is not None:
            _ = self.dismiss(Answer(ApprovalScope.DENIED, words or None))

    # The methods that run the actions in `treadle.tui.actions`.

    def action_close(self) -> None:
        """Leave the question open."""
        _ = self.dismiss(None)

    def action_allow_once(self) -> None:
        """Allow this call."""
        self._give(ApprovalScope.ONCE)

    def action_allow_session(self) -> None:
        """Allow calls like this one in this session."""
        self._give(ApprovalScope.SESSION)

    def action_allow_always(self) -> None:
        """Allow calls like this one in this repository, in later sessions too."""
        self._give(ApprovalScope.ALWAYS)

    def action_deny(self) -> None:
        """Deny the call."""
        self._give(ApprovalScope.DENIED)


def _option(choice: Choice, columns: int) -> Option:
    key, title = _TITLES[choice.scope]
    style = "bold" if choice.available else "$text-disabled"
    indent = " " * (len(key) + 2)
    lines = foreign_line(choice.sentence, "$text-muted").wrap(max(10, columns - len(indent)))
    text = Content.assemble(
        (f"{key}  ", "$text-primary bold"),
        (title, style),
        *(Content.assemble(f"\n{indent}", line) for line in lines),
    )
    return Option(text, disabled=not choice.available)
