"""The editor in which a person writes a message."""

from dataclasses import dataclass, replace
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from treadle.tui.actions import Where
from treadle.tui.key_bindings import KeySet, bindings
from treadle.tui.prompt.chips import Chips, is_long, is_plain
from treadle.tui.prompt.completion_list import Choice, CompletionList
from treadle.tui.prompt.draft import Chip, CommandOutput, Draft, ImageFile, PastedText
from treadle.tui.prompt.entries import begins_command
from treadle.tui.prompt.history import History
from treadle.tui.prompt.images import pasted_image
from treadle.tui.prompt.key_sets import emacs, vim
from treadle.tui.prompt.key_sets.steps import Effect, Step
from treadle.tui.prompt.tokens import Token, token_at
from treadle.tui.text import foreign_line
from treadle.visible import printable

_PLACEHOLDERS = (
    "Ask about the code. @ attaches code, / runs a command, ! runs the shell, F1 lists the keys.",
    "Ask. @ attaches code, / runs a command, ! runs the shell, F1 lists keys.",
    "Ask. @ code, / commands, F1 keys",
    "Ask.",
)
"""Texts of an empty prompt, longest first. The first one that fits is shown."""


@dataclass(slots=True)
class _Search:
    """A search in the history. `position` is the found message. `before` is the earlier draft."""

    before: Draft
    query: str = ""
    position: int | None = None
    failed: bool = False


class Prompt(TextArea):
    """A text of many lines with chips.

    A chip stands for a long paste, attached code or the output of a command. The cursor is never
    inside a chip, and an edit that touches a chip removes all of it.
    """

    DEFAULT_CSS = """
    Prompt {
        height: auto;
        scrollbar-size-vertical: 1;
        border: round $border-blurred;
        padding: 0 1;
        background: $background;
        &:focus { border: round $primary; }
        &.-shell:focus { border: round $warning; }
        & .prompt--chip { color: $text-accent; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"prompt--chip"}
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.PROMPT)

    class Submitted(Message):
        """The person sent a message, or pressed Enter in an empty prompt."""

        def __init__(self, draft: Draft) -> None:
            super().__init__()
            self.draft = draft

    class TokenChanged(Message):
        """The cursor moved to another word that may be completed, or away from such a word."""

        def __init__(self, token: Token | None) -> None:
            super().__init__()
            self.token = token

    class EditorRequested(Message):
        """The person wants to write the message in an external editor."""

    class QueueWanted(Message):
        """The person wants to select a queued message."""

    class Steered(Message):
        """The person sent a message to the running turn."""

        def __init__(self, draft: Draft) -> None:
            super().__init__()
            self.draft = draft

    def __init__(self, completions: CompletionList, *, id: str | None = None) -> None:  # noqa: A002
        self.history_of_messages = History()
        self.has_queue = False
        """Whether messages are queued above the prompt."""
        self._completions = completions
        self._chips = Chips()
        self._token: Token | None = None
        self._search: _Search | None = None
        self._key_set = KeySet.DEFAULT
        self._vim = vim.VimState()
        self._emacs = emacs.EmacsState()
        super().__init__(soft_wrap=True, highlight_cursor_line=False, id=id)

    def use_keys(self, key_set: KeySet) -> None:
        """Use the default keys, or the keys of vim or emacs."""
        self._key_set = key_set
        self._show_mode()

    @property
    def draft(self) -> Draft:
        """The message that the person writes."""
        return self._chips.draft(self.text)

    def load(self, draft: Draft, *, at_end: bool = True) -> None:
        """Replace the text by a draft. The cursor moves to the end of the last line.

        Without `at_end`, it moves to the end of the first line.
        """
        self.replace(self._chips.text(draft), (0, 0), self.document.end)
        row = self.document.line_count - 1 if at_end else 0
        self.move_cursor((row, len(self.document.get_line(row))))

    def reset(self) -> None:
        """Empty the prompt."""
        self._chips.clear()
        self.text = ""
        self._vim = replace(self._vim, mode=vim.Mode.INSERT, count="", operator="", prefix="")
        self._show_mode()

    def insert_chip(self, chip: Chip, *, at_start: bool = False) -> None:
        """Add a chip at the cursor or at the start of the text, and a space after the chip."""
        text = self._chips.insertion(chip) + " "
        if at_start:
            self.insert(text, (0, 0))
        else:
            self.replace(text, *self.selection, maintain_selection_offset=False)

    def show_hint(self, hint: Content) -> None:
        """Show a line in the border until the next key."""
        self.border_subtitle = hint

    def paste(self, text: str) -> None:
        """Insert a pasted text. It never becomes a command.

        A long text becomes a chip. The path of an image becomes a chip for the image.
        """
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if not text:
            return
        if (image := pasted_image(text)) is not None:
            self.insert_chip(ImageFile(image))
            return
        is_first = min(self.selection) == (0, 0)
        if is_long(text) or not is_plain(text) or (is_first and begins_command(text)):
            text = self._chips.paste(text)
        self.replace(text, *self.selection, maintain_selection_offset=False)

    # The methods that run the actions in `treadle.tui.actions`.

    def action_send(self) -> None:
        """Send the message, or choose the selected completion if the word is incomplete."""
        typed = self._present_token
        chosen = self._complete()
        whole = typed is not None and chosen is not None and chosen.text == f"/{typed.text} "
        if chosen is not None and not (chosen.submits or whole):
            return
        self.post_message(self.Submitted(self._take()))

    def action_steer(self) -> None:
        """Send the message to the running turn, before its next model request."""
        if not self.draft.is_empty:
            self.post_message(self.Steered(self._take()))

    def action_line_break(self) -> None:
        """Break the line."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_complete(self) -> None:
        """Choose the selected completion. Without one, the key moves the focus."""
        if self._complete() is None:
            raise SkipAction

    def action_older_message(self) -> None:
        """Move the cursor up. In the first line, show the previous message."""
        if self._completions.is_open:
            self._completions.action_cursor_up()
        elif not self.navigator.is_first_wrapped_line(self.cursor_location):
            self.action_cursor_up()
        elif self.has_queue and self.draft.is_empty:
            self.post_message(self.QueueWanted())
        elif (older := self.history_of_messages.older(self.draft)) is not None:
            self.load(older, at_end=False)

    def action_newer_message(self) -> None:
        """Move the cursor down. In the last line, show the next message."""
        if self._completions.is_open:
            self._completions.action_cursor_down()
        elif not self.navigator.is_last_wrapped_line(self.cursor_location):
            self.action_cursor_down()
        elif (newer := self.history_of_messages.newer()) is not None:
            self.load(newer)

    def action_search_history(self) -> None:
        """Search the sent messages, or find the next older match."""
        if self._search is None:
            self._search = _Search(self.draft)
        else:
            self._find(self._search, self._search.position)
        self._show_search()

    def action_open_chip(self) -> None:
        """Replace the chip at the cursor by its text."""
        row, column = self.cursor_location
        for start, end, chip in self._chips.spans(self.document.get_line(row)):
            if start <= column <= end and isinstance(chip, PastedText | CommandOutput):
                if is_plain(chip.text):
                    self.replace(chip.text, (row, start), (row, end))
                else:
                    self.show_hint(Content("A prompt cannot show its control characters."))

    def action_edit_in_editor(self) -> None:
        """Open the text in the editor of the person."""
        self.post_message(self.EditorRequested())

    def action_copy(self) -> None:
        """Copy the selected text. A chip is copied as the text that is sent."""
        if self.selected_text:
            self.app.copy_to_clipboard(self._chips.draft(self.selected_text).message)

    def action_cut(self) -> None:
        """Cut the selected text."""
        self.action_copy()
        self._delete_via_keyboard(*self.selection)

    def action_paste(self) -> None:
        """Paste the text that was copied in this terminal."""
        self.paste(self.app.clipboard)

    # Textual calls the methods below.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Let PgUp and PgDn scroll the transcript while all lines of the prompt are visible."""
        return not action.startswith("cursor_page_") or self.max_scroll_y > 0

    def on_resize(self, _: events.Resize) -> None:
        """Choose a text for the empty prompt."""
        fitting = (each for each in _PLACEHOLDERS if len(each) < self.wrap_width)
        self.placeholder = next(fitting, "")

    async def _on_key(self, event: events.Key) -> None:
        """Run the action of a key at once, so that keys typed quickly keep their order."""
        self.border_subtitle = ""
        if self._search is not None and self._search_key(self._search, event):
            event.stop()
            event.prevent_default()
            return
        if event.key == "escape" and self._completions.is_open:
            event.stop()
            event.prevent_default()
            self._completions.close()
            return
        if self._press(event):
            event.stop()
            event.prevent_default()
            return
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            event.prevent_default()
            if await self.app.run_action(binding.action, self):
                event.stop()
                return

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if self._search is not None:
            self._end_search(self._search, keep=True)
        self.paste(event.text)

    def on_text_area_changed(self) -> None:
        """Find out whether the cursor is at a word that may be completed."""
        self.set_class(self.document.get_line(0).startswith("!"), "-shell")
        self._update_token()

    def on_text_area_selection_changed(self) -> None:
        """Find out whether the cursor is at a word that may be completed."""
        self._update_token()

    def edit(self, edit: Edit) -> EditResult:
        """Apply an edit. It is extended to whole chips."""
        start, end = self._whole_chips(edit.top, edit.bottom, is_insertion=edit.top == edit.bottom)
        if (start, end) != (edit.top, edit.bottom):
            edit = Edit(edit.text, start, end, edit.maintain_selection_offset)
        return super().edit(edit)

    def validate_selection(self, selection: Selection) -> Selection:
        """Move the ends of a selection out of chips, in the direction of the movement."""
        before = self.selection.end
        return Selection(
            self._outside(selection.start, before), self._outside(selection.end, before)
        )

    def get_line(self, line_index: int) -> Text:
        """Return a line with the labels of its chips."""
        line = self.document.get_line(line_index)
        spans = list(self._chips.spans(line))
        text = Text(_single_columns(self._chips.shown(line)), end="", no_wrap=True)
        for start, end, _ in spans:
            text.stylize(self.get_component_rich_style("prompt--chip"), start, end)
        return text

    # The methods below keep chips whole.

    def _outside(self, location: Location, before: Location) -> Location:
        row, column = location
        if row < self.document.line_count:
            for start, end, _ in self._chips.spans(self.document.get_line(row)):
                if start < column < end:
                    return (row, end if location > before else start)
        return location

    def _whole_chips(
        self, top: Location, bottom: Location, *, is_insertion: bool
    ) -> tuple[Location, Location]:
        """Extend a range so that it contains whole chips.

        An insertion inside a chip moves to the end of the chip.
        """
        for row in {top[0], bottom[0]}:
            if row >= self.document.line_count:
                continue
            for start, end, _ in self._chips.spans(self.document.get_line(row)):
                if (row, start) < top < (row, end):
                    top = (row, end) if is_insertion else (row, start)
                if (row, start) < bottom < (row, end):
                    bottom = (row, end)
        return top, bottom

    # The methods below complete words.

    @property
    def _present_token(self) -> Token | None:
        if not self.selection.is_empty or self._search is not None:
            return None
        row, column = self.cursor_location
        line = self.document.get_line(row)
        after_chip = max((end for _, end, _ in self._chips.spans(line) if end <= column), default=0)
        before = line[after_chip:column]
        if row == 0 and self._has_only_chips(line[:after_chip]):
            before = before.lstrip() if after_chip else before
            return token_at(before, is_start=True)
        return token_at(before, is_start=False)

    def _has_only_chips(self, text: str) -> bool:
        """Whether a text consists only of chips and spaces."""
        draft = self._chips.draft(text)
        return not any(isinstance(part, str) and part.strip() for part in draft.parts)

    def _update_token(self) -> None:
        token = self._present_token
        if token != self._token:
            self._token = token
            self._completions.close()
            self.post_message(self.TokenChanged(token))

    def _complete(self) -> Choice | None:
        """Insert the selected completion, and return it.

        Returns None if the list has no choice for the word at the cursor.
        """
        token = self._present_token
        chosen = self._completions.chosen(token)
        if chosen is None or token is None:
            return None
        self._completions.close()
        row, column = self.cursor_location
        text = chosen.text if chosen.chip is None else self._chips.insertion(chosen.chip) + " "
        self.replace(
            text, (row, column - len(token.text) - 1), (row, column),
            maintain_selection_offset=False,
        )  # fmt: skip
        return chosen

    def _take(self) -> Draft:
        """Remove the draft from the prompt, and remember it in the history."""
        draft = self.draft
        if not draft.is_empty:
            self.history_of_messages.add(draft)
            self.reset()
        return draft

    # The methods below use the keys of vim and emacs.

    def _press(self, event: events.Key) -> bool:
        """Handle a key in the way of vim or emacs. Returns False if they do not use the key."""
        if self._key_set is KeySet.DEFAULT:
            return False
        cursor = self._index(self.cursor_location)
        if self._key_set is KeySet.VIM:
            key = event.character if event.is_printable and event.character else event.key
            self._vim, step = vim.press(self._vim, self.text, cursor, key)
            self._show_mode()
        else:
            self._emacs, step = emacs.press(self._emacs, self.text, cursor, event.key)
        if step is not None:
            self._take_step(step)
        return step is not None

    def _take_step(self, step: Step) -> None:
        is_exact = True
        if (change := step.change) is not None:
            expected = change.apply(self.text)
            self.history.checkpoint()
            start, end = self._location(change.start), self._location(change.end)
            self.replace(change.text, start, end, maintain_selection_offset=False)
            is_exact = self.text == expected  # False if the change was extended to whole chips
        if is_exact:
            cursor = self._location(step.cursor)
            anchor = cursor if step.anchor is None else self._location(step.anchor)
            self.selection = Selection(anchor, cursor)
            self.record_cursor_width()
        for effect in step.effects:
            self._run_effect(effect)

    def _run_effect(self, effect: Effect) -> None:
        match effect:
            case Effect.UNDO:
                self.undo()
            case Effect.REDO:
                self.redo()
            case Effect.UP:
                self.action_older_message()
            case Effect.DOWN:
                self.action_newer_message()
            case Effect.SEARCH:
                self.action_search_history()

    def _index(self, location: Location) -> int:
        row, column = location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def _location(self, index: int) -> Location:
        before = self.text[:index]
        return before.count("\n"), len(before) - (before.rfind("\n") + 1)

    def _show_mode(self) -> None:
        """Show the mode of vim and the keys of an incomplete command."""
        if self._search is not None:
            return
        mode = f"{self._vim.mode} {self._vim.pending}".strip()
        self.border_title = Content(mode) if self._key_set is KeySet.VIM else ""

    # The methods below search the history.

    def _search_key(self, search: _Search, event: events.Key) -> bool:
        """Handle a key during a search. Returns False if the key also runs its usual action."""
        if event.key in {"escape", "ctrl+c", "ctrl+g"}:
            self._end_search(search, keep=False)
            return True
        if event.key in {"enter", "tab"}:
            self._end_search(search, keep=True)
            return True
        if event.key == "backspace":
            search.query = search.query[:-1]
        elif event.is_printable and event.character is not None:
            search.query += event.character
        elif event.key == "ctrl+r":
            return False
        else:
            self._end_search(search, keep=True)
            return False
        search.position = None
        self._find(search, None)
        self._show_search()
        return True

    def _find(self, search: _Search, before: int | None) -> None:
        found = self.history_of_messages.search(search.query, before) if search.query else None
        search.failed = found is None and bool(search.query)
        if found is not None:
            search.position = found
            self.load(self.history_of_messages[found], at_end=False)

    def _end_search(self, search: _Search, *, keep: bool) -> None:
        self._search = None
        if not keep:
            self.load(search.before)
        self._show_mode()
        self._update_token()

    def _show_search(self) -> None:
        if (search := self._search) is not None:
            failed = " (no match)" if search.failed else ""
            query = foreign_line(search.query, columns=40)
            self.border_title = Content.assemble("Search sent messages: ", query, failed)


def _single_columns(line: str) -> str:
    """Replace characters that the terminal would obey or hide. The length stays the same."""
    if printable(line) == line:
        return line
    return "".join(each if printable(each) == each else "\ufffd" for each in line)
