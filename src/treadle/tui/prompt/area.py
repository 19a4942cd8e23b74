"""The prompt with its completions and its queue.

The draft and the queue are saved in files, so that they survive a crash.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from treadle.errors import StoreError, TreadleError
from treadle.tui.actions import Action
from treadle.tui.prompt.completion_list import Choice, CompletionList
from treadle.tui.prompt.draft import Chip, Draft, Unsent, restored
from treadle.tui.prompt.entries import (
    ShellCommand,
    SlashCommand,
    UnknownCommand,
    begins_command,
    entry_of,
)
from treadle.tui.prompt.files import PromptFiles
from treadle.tui.prompt.prompt import Prompt
from treadle.tui.prompt.queue import MessageQueue, QueueView
from treadle.tui.prompt.tokens import Token
from treadle.tui.text import foreign_line

if TYPE_CHECKING:  # not imported at run time, so that the first screen starts sooner
    from treadle.llm.messages import AttachedText

SAVE_SECONDS = 0.5
"""The draft is saved when no key was pressed for this number of seconds."""

T = TypeVar("T")

Complete = Callable[[Token], Awaitable[Sequence[Choice]]]


class PromptArea(Vertical):
    """The lower part of the conversation screen.

    The area posts messages such as `Send`. The application does what they ask for.

    `complete` finds completions. `is_busy` states whether a turn runs. `files` is None if nothing
    is saved.
    """

    DEFAULT_CSS = """
    PromptArea { height: auto; }
    """

    class Send(Message):
        """Asks the application to send a message as a turn."""

        def __init__(self, draft: Draft) -> None:
            super().__init__()
            self.draft = draft

    class Steer(Message):
        """Asks the application to send a message to the running turn."""

        def __init__(self, draft: Draft) -> None:
            super().__init__()
            self.draft = draft

    class Run(Message):
        """Asks the application to run an action."""

        def __init__(self, action: Action, argument: str) -> None:
            super().__init__()
            self.action = action
            self.argument = argument

    class Shell(Message):
        """Asks the application to run a shell command."""

        def __init__(self, command: str) -> None:
            super().__init__()
            self.command = command

    class Failed(Message):
        """Asks the application to show an error."""

        def __init__(self, error: TreadleError) -> None:
            super().__init__()
            self.error = error

    def __init__(
        self, complete: Complete, is_busy: Callable[[], bool], files: PromptFiles | None
    ) -> None:
        super().__init__()
        self._complete = complete
        self._is_busy = is_busy
        self._files = files
        self._saving = asyncio.Lock()
        self._pause: Timer | None = None
        self.queue = MessageQueue()
        self._completions = CompletionList()
        self._view = QueueView(self.queue)
        self.prompt = Prompt(self._completions)

    def compose(self) -> ComposeResult:
        """Create the parts from top to bottom."""
        yield self._view
        yield self._completions
        yield self.prompt

    def on_mount(self) -> None:
        """Read the history and the drafts of an earlier terminal."""
        if self._files is not None:
            self._restore(self._files)

    def on_unmount(self) -> None:
        """Save the draft that was not sent."""
        if self._files is not None:
            with suppress(StoreError):  # a failure was reported when the draft changed
                self._files.save(self._unsent)
            self._files.release()

    def fit(self, rows: int) -> None:
        """Limit the heights of the parts on a terminal with `rows` rows.

        A style sheet cannot do this: Textual ignores limits in its unit `vh`, a percentage of the
        height of the terminal, inside a container whose height is `auto`.
        """
        self.prompt.styles.max_height = max(1, rows * 40 // 100)
        self._view.styles.max_height = self._completions.styles.max_height = rows * 33 // 100

    def turn_ended(self, *, normally: bool) -> None:
        """Send the next queued message if the turn ended normally. Otherwise, it stays queued."""
        if normally and not self._is_busy():
            self._send_next()
        self.sync()

    def give_back(self, draft: Draft) -> None:
        """Take back a message that could not be sent.

        It is put into the prompt if the prompt is empty, and otherwise at the start of the queue.
        """
        if self.prompt.draft.is_empty:
            self.prompt.load(draft)
        else:
            self.queue.add(draft, 0)
        self.sync()

    def restore(self, message: str, attached: "Sequence[AttachedText]") -> Draft:
        """Take back a message that was sent, as `give_back` does, and return its draft.

        If the history of sent messages has the message, all its chips are restored. Otherwise, only
        the chips of `attached` are restored.
        """
        draft = self.prompt.history_of_messages.sent_as(message) or restored(message, attached)
        self.give_back(draft)
        return draft

    def withdraw(self, draft: Draft) -> None:
        """Remove a draft that `restore` returned, unless the person changed it."""
        if self.prompt.draft.message == draft.message:
            self.prompt.reset()
        elif draft in self.queue:
            self.queue.take(list(self.queue).index(draft))
        self.sync()

    def offer(self, chip: Chip) -> None:
        """Add a chip at the start of the prompt, or at the cursor if the text begins a command.

        A chip in front of a shell command would turn the command into a message.
        """
        self.prompt.insert_chip(chip, at_start=not begins_command(self.prompt.text))

    def sync(self) -> None:
        """Show the queue, and save it soon."""
        self._view.sync(busy=self._is_busy())
        self.prompt.has_queue = bool(self.queue)
        self._save_soon()

    def focus_queue(self) -> bool:
        """Select a queued message. Returns False if there is none."""
        if self.queue:
            self._view.focus()
        return bool(self.queue)

    # The methods below handle the messages that the parts post.

    def on_prompt_submitted(self, message: Prompt.Submitted) -> None:
        """Send or queue a message, or run a command."""
        message.stop()
        draft = message.draft
        match entry_of(draft):
            case Draft() as to_send if to_send.is_empty:
                self._send_next()
            case Draft() as to_send if self._is_busy():
                self.queue.add(to_send)
            case Draft() as to_send:
                self.post_message(self.Send(to_send))
            case SlashCommand(action=action, argument=argument, chips=chips):
                for chip in chips:
                    self.prompt.insert_chip(chip)
                self.post_message(self.Run(action, argument))
            case UnknownCommand() as unknown:
                self.prompt.load(draft)
                self.prompt.show_hint(_unknown(unknown))
            case ShellCommand(command=command):
                self.post_message(self.Shell(command))
        if not draft.is_empty:
            self._remember(draft)
        self.sync()

    def on_prompt_token_changed(self, message: Prompt.TokenChanged) -> None:
        """Find completions for the word at the cursor."""
        message.stop()
        self._find_choices(message.token)

    def on_prompt_queue_wanted(self, message: Prompt.QueueWanted) -> None:
        """Select a queued message."""
        message.stop()
        self.focus_queue()

    def on_prompt_steered(self, message: Prompt.Steered) -> None:
        """Send the text of the prompt to the running turn."""
        message.stop()
        self._steer(message.draft)

    def on_queue_view_steer(self, message: QueueView.Steer) -> None:
        """Send a queued message to the running turn."""
        message.stop()
        if (draft := self.queue.take(message.position)) is not None:
            self._steer(draft)

    def on_queue_view_edit(self, message: QueueView.Edit) -> None:
        """Move a queued message to the prompt. The text that was in the prompt is queued."""
        message.stop()
        if not (present := self.prompt.draft).is_empty:
            self.queue.add(present)
        self.prompt.load(message.draft)
        self.prompt.focus()
        self.sync()

    def on_queue_view_changed(self, message: QueueView.Changed) -> None:
        """Show the changed queue."""
        message.stop()
        self.sync()

    def on_queue_view_left(self, message: QueueView.Left) -> None:
        """Return the focus to the prompt."""
        message.stop()
        self.prompt.focus()

    def on_text_area_changed(self, message: TextArea.Changed) -> None:
        """Save the draft soon."""
        message.stop()
        self._save_soon()

    def _send_next(self) -> None:
        if not self._is_busy() and (draft := self.queue.take()) is not None:
            self.post_message(self.Send(draft))

    def _steer(self, draft: Draft) -> None:
        if draft.attachments or draft.images:
            self.prompt.show_hint(
                Content("Attached code cannot join a running turn. The message is queued.")
            )
            self.queue.add(draft)
        else:
            self.post_message(self.Steer(draft))
        self.sync()

    @work(exclusive=True, group="completions")
    async def _find_choices(self, token: Token | None) -> None:
        choices = () if token is None else await self._complete(token)
        self._completions.open(token, choices)

    # The methods below use the files.

    @property
    def _unsent(self) -> Unsent:
        return Unsent(self.prompt.draft, tuple(self.queue))

    def _save_soon(self) -> None:
        if self._files is None:
            return
        if self._pause is None:
            self._pause = self.set_timer(SAVE_SECONDS, self._paused)
        else:
            self._pause.reset()

    def _paused(self) -> None:
        self._pause = None
        self._save()

    @work
    async def _save(self) -> None:
        async with self._saving:
            if self._files is not None:
                await self._in_thread(partial(self._files.save, self._unsent))

    @work
    async def _remember(self, draft: Draft) -> None:
        if self._files is not None:
            await self._in_thread(partial(self._files.add_to_history, draft))

    @work
    async def _restore(self, files: PromptFiles) -> None:
        history = await self._in_thread(files.history)
        left = await self._in_thread(files.take_left)
        self.prompt.history_of_messages.load(history or ())
        for unsent in left or ():
            for draft in unsent.queue:
                self.queue.add(draft)
            if unsent.prompt.is_empty:
                continue
            if self.prompt.draft.is_empty:
                self.prompt.load(unsent.prompt)
                self.prompt.show_hint(Content("This draft was not sent before."))
            else:
                self.prompt.history_of_messages.add(unsent.prompt)
        self.sync()

    async def _in_thread(self, function: Callable[[], T]) -> T | None:
        """Run a method of `PromptFiles` in a thread. After a failure, nothing is saved any more."""
        try:
            return await asyncio.to_thread(function)
        except StoreError as error:
            self._files = None
            self.post_message(self.Failed(error))
            return None


def _unknown(unknown: UnknownCommand) -> Content:
    name = foreign_line(f"/{unknown.name}", columns=30)
    nearest = " or ".join(f"/{each}" for each in unknown.nearest)
    hint = f" Do you mean {nearest}?" if nearest else " Type / to see all commands."
    return Content.assemble(name, " is not a command.", hint)
