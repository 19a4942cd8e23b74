"""The actions of the conversation screen that need only its transcript: scroll, find and copy."""

from textual import work
from textual.screen import Screen

from treadle.tui.clipboard import copy_with_program
from treadle.tui.conversation.copies import code_text, command_text, message_text
from treadle.tui.conversation.find import Found, find, is_folded_match
from treadle.tui.conversation.items import FOLDABLE, PromptItem
from treadle.tui.text import foreign_line
from treadle.tui.transcript.find_bar import FindBar
from treadle.tui.transcript.transcript import Transcript

_SHOWN_COLUMNS = 40


class TranscriptActions(Screen[None]):
    """The base of the conversation screen. The screen has a `Transcript` and a `FindBar`."""

    _found = Found("", ())

    @property
    def transcript(self) -> Transcript:
        """The transcript of the screen."""
        return self.query_one(Transcript)

    def action_previous_prompt(self) -> None:
        """Select the prompt above."""
        self.transcript.focus()
        self.transcript.select_next(-1, PromptItem)

    def action_next_prompt(self) -> None:
        """Select the prompt below."""
        self.transcript.focus()
        self.transcript.select_next(1, PromptItem)

    def action_scroll_page_up(self) -> None:
        """Scroll the transcript up by one page."""
        self.transcript.scroll_page_up()

    def action_scroll_page_down(self) -> None:
        """Scroll the transcript down by one page."""
        self.transcript.scroll_page_down()

    def action_scroll_to_start(self) -> None:
        """Scroll to the start of the conversation."""
        self.transcript.scroll_home()

    def action_follow(self) -> None:
        """Scroll to the end of the conversation, and keep it visible."""
        self.transcript.follow()

    def action_find(self, text: str | None = None) -> None:
        """Open the find line."""
        self._found = Found("", ())
        self.query_one(FindBar).open(text)

    def action_find_next(self) -> None:
        """Go to the next match. After the last match, go to the first."""
        self._go(1)

    def action_find_previous(self) -> None:
        """Go to the previous match. After the first match, go to the last."""
        self._go(-1)

    def on_find_bar_changed(self, message: FindBar.Changed) -> None:
        """Find the newest match of the text."""
        before = self._found
        longer = bool(before.text) and before.text.casefold() in message.text.casefold()
        among = before.positions if longer else None  # only earlier matches can match a longer text
        self._found = find(self.transcript.state.items, message.text, among)
        self.transcript.search(message.text)
        self._select_match(self._found.next(None, -1))

    def on_find_bar_submitted(self) -> None:
        """Go to the match above, because the search starts at the newest one."""
        self._go(-1)

    def on_find_bar_closed(self) -> None:
        """Remove the marks of the matches. The selected match stays selected."""
        self.transcript.search("")
        self.transcript.focus()

    def action_copy_message(self) -> None:
        """Copy the selected message, or the last answer."""
        position = self._position()
        if position is not None:
            self._copy(message_text(self.transcript.state.items, position), "message")

    def action_copy_code(self) -> None:
        """Copy the selected code block, or the last one."""
        position = self._position()
        if position is not None:
            self._copy(code_text(self.transcript.state.items, position), "code block")

    def action_copy_command(self) -> None:
        """Copy the selected command, or the last one."""
        position = self._position()
        if position is not None:
            self._copy(command_text(self.transcript.state.items, position), "command")

    def _position(self) -> int | None:
        """The position of the selected item, or of the last item."""
        count = len(self.transcript.state.items)
        selected = self.transcript.selected
        return selected if selected is not None else count - 1 if count else None

    def _go(self, step: int) -> None:
        text = self._found.text
        if not text:
            self.action_find()
            return
        self._found = find(self.transcript.state.items, text)
        self._select_match(self._found.next(self.transcript.selected, step))

    def _select_match(self, position: int | None) -> None:
        transcript = self.transcript
        transcript.sync()
        if position is not None:
            item = transcript.state.items[position]
            if isinstance(item, FOLDABLE) and is_folded_match(item, self._found.text):
                transcript.state.toggle(item)
                transcript.sync()
            transcript.select(position)
        self.query_one(FindBar).show_count(self._found.number(position), len(self._found.positions))

    @work
    async def _copy(self, text: str | None, what: str) -> None:
        """Copy with the terminal and with a program of the system, and state what was copied."""
        if not text:
            self.app.notify(f"There is no {what} here to copy.", markup=False)
            return
        self.app.copy_to_clipboard(text)
        program = await copy_with_program(text)
        way = f"with {program} and the terminal" if program else "with the terminal (OSC 52)"
        lines = len(text.splitlines())
        size = f"{lines} lines" if lines > 1 else foreign_line(text, columns=_SHOWN_COLUMNS).plain
        self.app.notify(f"Copied the {what} {way}: {size}", markup=False)
