"""The actions of the application about messages, turns and shell commands."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work
from textual.app import App, SuspendNotSupported
from textual.content import Content

from treadle.app.choices import Choices
from treadle.clock import Clock
from treadle.display.editor import edit
from treadle.errors import TreadleError, UsageError
from treadle.tui.conversation.items import CallItem, CallState
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.prompt.area import PromptArea
from treadle.tui.prompt.choices import find_choices
from treadle.tui.prompt.completion_list import Choice
from treadle.tui.prompt.draft import CommandOutput, Draft
from treadle.tui.prompt.prompt import Prompt
from treadle.tui.prompt.tokens import Token
from treadle.tui.status import Status
from treadle.tui.workbench import Workbench

if TYPE_CHECKING:  # the first screen starts before this module is loaded
    from treadle.processes.output import KeptOutput
    from treadle.session.attachments import Attachment

REWIND_SECONDS = 1.0
"""The longest time between two Escape keys that open the rewind."""
_SYNC_SECONDS = 0.1
"""The shortest time between two refreshes of the output of a shell command."""
_LIVE_LINES = 15
"""The number of output lines of a shell command that are shown while it runs."""
_AT_ONCE_SECONDS = 1.0
"""If an editor ends sooner than this and the text did not change, the person gets a hint.

The editor is probably a graphical one that ended before the person closed its window.
"""


class TurnActions(App[None]):
    """A base class of the application.

    The application sets the attributes, and opens the workbench.
    """

    state: TranscriptState
    area: PromptArea
    status: Status
    _workbench: asyncio.Future[Workbench]
    _choices: Choices
    _clock: Clock
    _sending = 0
    """The number of messages that the workbench has not accepted yet."""
    _ends_at_start = False
    """Whether the turn that is about to start has to be cancelled at once."""
    _escaped: float | None = None
    """The time of the last Escape key that found nothing to end."""
    _command: "asyncio.Task[None] | None" = None
    """The task of the running shell command."""

    async def opened(self) -> Workbench:
        """Wait until the repository is open."""
        raise NotImplementedError

    def plan_sync(self) -> None:
        """Refresh the transcript soon."""
        raise NotImplementedError

    def report(self, error: TreadleError) -> None:
        """Show an error as a line of the transcript."""
        raise NotImplementedError

    async def run_named(self, name: str, argument: str | None = None) -> bool:
        """Run the action `name`."""
        raise NotImplementedError

    def is_busy(self) -> bool:
        """Whether a turn runs or starts."""
        return bool(self._sending or self.state.running)

    async def find_choices(self, token: Token) -> Sequence[Choice]:
        """Return the completions of a word.

        Before the repository is open, only slash commands can be completed.
        """
        try:
            return await find_choices(
                self._workbench.result() if self._workbench.done() else None, token
            )
        except TreadleError:
            return ()  # without completions, the person can still type

    # Messages of the prompt.

    def on_prompt_area_send(self, message: PromptArea.Send) -> None:
        """Send a message."""
        self._sending += 1
        self._send(message.draft)

    def on_prompt_area_steer(self, message: PromptArea.Steer) -> None:
        """Send a message to the running turn. If no turn runs, the message starts a turn."""
        if self.state.running:
            self._steer(message.draft)
        else:
            self.area.post_message(PromptArea.Send(message.draft))

    async def on_prompt_area_run(self, message: PromptArea.Run) -> None:
        """Run the action of a slash command."""
        if not await self.run_named(message.action.name, message.argument or None):
            self.notify(f"/{message.action.slash} is not available here.", markup=False)

    def on_prompt_area_shell(self, message: PromptArea.Shell) -> None:
        """Run a shell command."""
        if self._command is not None:
            self.area.give_back(Draft((f"!{message.command}",)))
            self.area.prompt.show_hint(Content("A command runs. Esc stops it."))
            return
        self._command = asyncio.create_task(self._run_command(message.command), name="shell")
        self._command.add_done_callback(self._command_ended)

    def on_prompt_area_failed(self, message: PromptArea.Failed) -> None:
        """Show an error of the files that save the sent messages and the drafts."""
        self.report(message.error)

    def on_prompt_editor_requested(self, _: Prompt.EditorRequested) -> None:
        """Open the prompt in the editor of the person."""
        self._edit_prompt()

    async def action_end_turn(self) -> None:
        """End the running shell command or turn.

        If neither runs, go back to the prompt. In an empty prompt, two Escape keys in a row open
        the rewind.
        """
        if self._command is not None:
            self._command.cancel()
        elif self._workbench.done() and self.state.running:
            self._escaped = None
            await self._workbench.result().cancel(self.state.running[0])
        elif self._sending:
            self._ends_at_start = True
        elif self.focused is not self.area.prompt:
            self.area.prompt.focus()
        elif self.area.prompt.draft.is_empty:
            now = self._clock.monotonic()
            if self._escaped is not None and now - self._escaped <= REWIND_SECONDS:
                self._escaped = None
                await self.run_named("rewind")
            else:
                self._escaped = now
                self.area.prompt.show_hint(Content("Esc again: rewind"))

    @work
    async def _send(self, draft: Draft) -> None:
        prompt = self.state.add_pending(draft.message)
        if not self._workbench.done():
            self.state.explain_pending("opening the repository")
        self.plan_sync()
        try:
            workbench = await self.opened()
            started = await workbench.send(
                draft.message,
                conversation=self.state.conversation_id,
                choices=self._choices,
                attachments=await asyncio.to_thread(_attachments, draft),
                mode=self.status.mode if self.state.conversation_id is None else None,
            )
            self.state.conversation_id = started.conversation_id
            self.state.add_prompt(started.request_id, draft.message)
            if self._ends_at_start:
                await workbench.cancel(started.request_id)
        except TreadleError as error:
            self.state.remove_pending(prompt)
            self.report(error)
            self.area.give_back(draft)
        finally:
            self._sending -= 1
            self._ends_at_start = False
        self.area.sync()
        self.plan_sync()

    @work
    async def _steer(self, draft: Draft) -> None:
        try:
            steered = await self._workbench.result().steer(self.state.running[0], draft.message)
        except TreadleError as error:
            self.report(error)
            steered = False
        if not steered:
            self.area.queue.add(draft, 0)
            self.area.turn_ended(normally=True)  # the turn may have ended meanwhile

    # The editor.

    @work
    async def _edit_prompt(self) -> None:
        prompt = self.area.prompt
        draft = prompt.draft
        started = self._clock.monotonic()
        try:
            with self.batch_update(), ExitStack() as stack:
                with suppress(SuspendNotSupported):  # a graphical editor needs no suspension
                    stack.enter_context(self.suspend())
                edited = await edit(f"{draft.message}\n".encode("utf-8", "replace"), suffix=".md")
        except (TreadleError, OSError) as error:
            self.report(error if isinstance(error, TreadleError) else UsageError(str(error)))
            return
        text = edited.decode("utf-8", "replace").removesuffix("\n")
        if text != draft.message:
            prompt.load(draft.with_message(text))
        elif self._clock.monotonic() - started < _AT_ONCE_SECONDS:
            prompt.show_hint(
                Content("The editor ended at once. A graphical editor needs an option like --wait.")
            )

    # Shell commands.

    async def _run_command(self, command: str) -> None:
        from treadle.app.shell_command import run_shell  # loaded after the first screen starts
        from treadle.processes.output import KeptOutput

        workbench = await self.opened()
        root = Path(workbench.root)
        if not await asyncio.to_thread(root.is_dir):
            self.report(
                UsageError(
                    f"The command {command!r} does not run: {root} is on another machine.",
                    hint="Run it in a shell of that machine.",
                )
            )
            return
        item, kept = self.state.add_command(command), KeptOutput()
        live = asyncio.create_task(self._show_output(item, kept))
        try:
            status = await run_shell(command, root, clock=self._clock, add_line=kept.add)
            item.state = CallState.DONE if status == 0 else CallState.FAILED
            item.summary = "" if status == 0 else f"exit status {status}"
        except asyncio.CancelledError:
            item.state, item.summary = CallState.CANCELLED, "stopped"
        except TreadleError as error:
            item.state, item.summary = CallState.FAILED, str(error)
        finally:
            live.cancel()
        item.duration = self._clock.monotonic() - item.started
        item.details = kept.output().text
        self.state.update(item)
        self.plan_sync()
        if item.details:
            self.area.offer(CommandOutput(command, item.details))

    async def _show_output(self, item: CallItem, kept: "KeptOutput") -> None:
        """Show the last lines of the output while the command runs."""
        lines = -1
        while True:
            if kept.lines != lines:
                lines = kept.lines
                item.details = "\n".join(kept.output().tail[-_LIVE_LINES:])
                self.state.update(item)
                self.plan_sync()
            await asyncio.sleep(_SYNC_SECONDS)

    def _command_ended(self, task: "asyncio.Task[None]") -> None:
        self._command = None
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


def _attachments(draft: Draft) -> "Sequence[Attachment]":
    """Return the attachments of a message, including the content of its images.

    Raises UsageError if an image cannot be read.
    """
    from treadle.app.attachments import read_image  # loaded after the first screen starts

    return [*draft.attachments, *map(read_image, draft.images)]
