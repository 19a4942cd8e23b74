"""The terminal application: opens a workbench, passes its events on, and runs actions."""

import asyncio
import gc
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, ClassVar

from textual import events, work
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.widgets import Input, TextArea

from treadle.app.choices import Choices
from treadle.clock import Clock, SystemClock
from treadle.errors import TreadleError
from treadle.events import Event
from treadle.events.changes import ConversationChanged, ModeChanged
from treadle.events.types import (
    IndexProgress,
    Mode,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    StopReason,
)
from treadle.tui.actions import Where
from treadle.tui.approvals.app_actions import ApprovalActions
from treadle.tui.approvals.questions import Questions
from treadle.tui.conversation.transcript_state import TranscriptState
from treadle.tui.driver import TerminalDriver
from treadle.tui.first_theme import DEFAULT
from treadle.tui.key_bindings import KeySet, bindings, keymap
from treadle.tui.overlays import OverlayActions
from treadle.tui.prompt.area import PromptArea
from treadle.tui.prompt.files import PromptFiles
from treadle.tui.screen_actions import actions_of, has_action, target
from treadle.tui.screens.conversation import ConversationScreen
from treadle.tui.screens.help import Help
from treadle.tui.screens.palette import Palette
from treadle.tui.screens.theme_picker import ThemePicker
from treadle.tui.signals import Signals
from treadle.tui.status import Status
from treadle.tui.themes import THEMES
from treadle.tui.turn_actions import TurnActions
from treadle.tui.workbench import ConnectionChanged, Missed, Workbench

if TYPE_CHECKING:  # the first screen starts before the settings are loaded
    from treadle.config.model import TerminalSettings

REFRESH_SECONDS = 1 / 20
"""The shortest time between two refreshes of the transcript while text arrives."""

QUIT_SECONDS = 2.0
"""A second Ctrl+C within this time quits."""


OpenWorkbench = Callable[[], AbstractAsyncContextManager[Workbench]]


class TerminalApp(TurnActions, OverlayActions, ApprovalActions):
    """A conversation in the terminal. `open_workbench` opens the repository after the first paint.

    The person can type while the repository opens. Messages wait until the repository is open.
    `prompt_files` saves the sent messages and the drafts. If it is None, they are not saved.
    """

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.ANYWHERE, priority=True)

    def __init__(
        self,
        open_workbench: OpenWorkbench,
        *,
        choices: Choices,
        session: str | None = None,
        mode: Mode | None = None,
        clock: Clock | None = None,
        theme: str = DEFAULT,
        prompt_files: PromptFiles | None = None,
    ) -> None:
        """`session` is the conversation to resume: its id, a prefix of its id, or "last".

        `mode` is the mode that the person chose for it, or for a new conversation.

        The application uses `theme` until the settings are loaded.
        """
        no_color = "NO_COLOR" in os.environ
        super().__init__(driver_class=TerminalDriver, ansi_color=True if no_color else None)
        for each in THEMES.values():
            self.register_theme(each)
        self.animation_level = "none"
        self.theme = "ansi" if self.no_color else theme
        self._open_workbench = open_workbench
        self._choices = choices
        self._session = session
        self._chosen_mode = mode
        self._clock = clock or SystemClock()
        self._workbench: asyncio.Future[Workbench] = asyncio.Future()
        self._serving: asyncio.Task[None] | None = None
        self.failure: Exception | None = None
        """The error that ended the application."""
        self.settings: TerminalSettings | None = None
        """The settings of the terminal. None until they are loaded."""
        self._sync_planned = False
        self._other_turns = {}
        self._interrupted: float | None = None
        """The time of the last Ctrl+C without a selection."""
        self.state = TranscriptState(self._clock)
        self.status = Status()
        self.status.mode = mode or Mode.NORMAL
        self._signals = Signals(
            self._clock, os.environ, ring=self.bell, write=self._write_to_terminal
        )
        self.area = PromptArea(self.find_choices, self.is_busy, prompt_files)
        self.questions = Questions()

    @property
    def is_open(self) -> bool:
        """Whether the repository is open."""
        return self._workbench.done()

    async def opened(self) -> Workbench:
        """Wait until the repository is open.

        If the person quits first, the wait is cancelled, but the future must not be: the
        repository may still open.
        """
        return await asyncio.shield(self._workbench)

    async def on_mount(self) -> None:
        """Show the conversation, then open the repository."""
        self.choose_theme(self.theme)
        await self.push_screen(ConversationScreen(self.state, self.area, self.status, self._clock))
        self.call_after_refresh(self._open)

    def _open(self) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.take_keys()
        self._serving = asyncio.create_task(self._serve(), name="workbench")

    async def _serve(self) -> None:
        """Open the workbench, and follow its events until the application ends.

        This method does not run as a worker of Textual. Textual does not wait for the end of a
        worker, but the workbench has to be closed before the process ends.
        """
        try:
            async with self._open_workbench() as workbench:
                await self._follow(workbench)
        except Exception as error:  # noqa: BLE001  (the caller of `run` reports it)
            self._fail(error)

    async def _follow(self, workbench: Workbench) -> None:
        """Show the workbench and its events until the application ends."""
        try:
            await self._begin(workbench)
            async for event in workbench.events():
                await self._on_workbench_event(workbench, event)
        except Exception:
            if self.screen_stack:
                raise
            # The person has quit, and the screens that this method would change no longer exist.

    async def _begin(self, workbench: Workbench) -> None:
        """Apply the settings, show the warnings, and resume the chosen conversation."""
        self.apply_settings(workbench.terminal)
        for warning in workbench.warnings:
            self.state.add_notice(warning, level="warning")
        if self._session is not None:
            session = await workbench.conversation(self._session)
            if self._chosen_mode not in {None, session.conversation.mode}:
                await workbench.change_mode(session.conversation.id, self._chosen_mode)
                session.conversation.mode = self._chosen_mode
            self.show_session(session, await workbench.running_turns())
        self.status.folder = workbench.root.rpartition("/")[2] or workbench.root
        self.status.address = workbench.address
        self.plan_sync()
        self._workbench.set_result(workbench)
        if self._choices.model is None:
            self.advise()
        gc.freeze()  # garbage collections examine neither the modules nor the conversation
        self.read_status()
        await self.read_questions(workbench)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Do not let the cursor blink. A blinking cursor would wake the process twice a second."""
        if isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    @property
    def key_set(self) -> KeySet:
        """The key set that the person has chosen."""
        return KeySet.DEFAULT if self.settings is None else KeySet(self.settings.keys)

    def _show_connection(self, change: ConnectionChanged) -> None:
        """Show that the server does not answer, or that it answers again.

        Further failed attempts to reach the server add no lines to the transcript.
        """
        if change.retry_in is None:
            self.state.add_notice(f"Connected to {change.address} again.")
        elif self.status.connected:
            lost = f"The server at {change.address} does not answer. Treadle tries again."
            self.state.add_notice(lost, level="warning")
        self.status.connected = change.retry_in is None

    def apply_settings(self, settings: "TerminalSettings") -> None:
        """Use the settings of the terminal."""
        self.settings = settings
        self.choose_theme(settings.theme)
        self.set_keymap(keymap(self.key_set))
        self.area.prompt.use_keys(self.key_set)
        if settings.reduced_motion:
            for screen in self.screen_stack:
                if isinstance(screen, ConversationScreen):
                    screen.keep_still()

    def choose_theme(self, name: str) -> None:
        """Use the theme `name`.

        A terminal with 16 colours or without colours always uses the theme `ansi`. This theme
        consists of the terminal's own colours.
        """
        few = not self.is_headless and self.console.color_system in {None, "standard"}
        self.theme = "ansi" if few or self.no_color else name

    async def close_workbench(self) -> None:
        """Cancel the running turns, and close the repository.

        Call this method after the application ended. It returns when the conversations are saved.
        """
        if self._serving is not None:
            self._serving.cancel()
            with suppress(asyncio.CancelledError):
                await self._serving

    def _fail(self, error: Exception) -> None:
        """End the application. The caller of `run` reports the error."""
        if self.failure is None:
            self.failure = error
        self.exit()

    def _handle_exception(self, error: Exception) -> None:
        """Keep the error, so that the caller of `run` reports it.

        Textual would print a traceback with the values of local variables.
        """
        if self.failure is None:
            self.failure = error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    async def _on_workbench_event(self, workbench: Workbench, event: object) -> None:
        if isinstance(event, Missed):
            await self.read_questions(workbench)
            if self.state.conversation_id is not None:
                session = await workbench.conversation(str(self.state.conversation_id))
                self.show_session(session, await workbench.running_turns())
                self.area.sync()  # a turn may have ended
            self.plan_sync()
            return
        if isinstance(event, ConnectionChanged):
            self._show_connection(event)
            self.plan_sync()
            return
        self.follow_questions(event)  # type: ignore[arg-type]
        if self.state.apply(event):  # type: ignore[arg-type]
            self._follow_turn(event)  # type: ignore[arg-type]
        elif isinstance(event, IndexProgress):
            self.status.apply_progress(event)
            if event.done < event.total:
                self.state.explain_pending(
                    f"indexing the repository: {event.done:,} of {event.total:,} files"
                )
        elif isinstance(event, ConversationChanged):
            self.follow_change(event)
        elif isinstance(event, ModeChanged):
            if event.conversation_id == self.state.conversation_id:
                self.status.mode = event.mode
        else:
            self.follow_other_turn(event)  # type: ignore[arg-type]
        self.plan_sync()

    def _follow_turn(self, event: Event) -> None:
        """Show an event of the conversation in the status line, the prompt area and the signals."""
        self.status.apply(event)
        if self.settings is not None:
            self._signals.apply(
                event, self.settings, folder=self.status.folder, focused=self.app_focus
            )
        if isinstance(event, SessionFinished | SessionFailed | SessionCancelled):
            self.read_status()
            self.follow_joined_turn(event)
            self.area.turn_ended(
                normally=isinstance(event, SessionFinished)
                and event.stop_reason is StopReason.COMPLETED
            )
        if isinstance(event, SessionFinished):
            self.complete_turn(event.request_id)

    async def run_named(self, name: str, argument: str | None = None) -> bool:
        """Run the action `name`. `argument` is the text after its slash command.

        Returns False if the action is not available on the present screen.
        """
        node = target(self.screen, name)
        if node is None:
            return False
        given = () if argument is None else (argument,)
        return await self.run_action(("", name, given), node)

    async def run_action(
        self,
        action: str | tuple[str, str, tuple[object, ...]],
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action. If a widget has no method for it, the nearest parent with one runs it."""
        node = default_namespace
        name = (action if isinstance(action, str) else action[1]).partition("(")[0]
        if node is not None and "." not in name and not has_action(node, name):
            node = next((each for each in node.ancestors if has_action(each, name)), node)
        return await super().run_action(action, node, namespaces)

    def _write_to_terminal(self, sequence: str) -> None:
        if self._driver is not None:
            self._driver.write(sequence)
            self._driver.flush()

    def plan_sync(self) -> None:
        """Refresh the transcript soon. Several calls lead to one refresh."""
        if not self._sync_planned:
            self._sync_planned = True
            self.set_timer(REFRESH_SECONDS, self._sync)

    def _sync(self) -> None:
        self._sync_planned = False
        if not self.state.running:
            self.status.cost = self.state.cost
        self.status.follow(self.state.conversation_id)
        self.status.tools = self.state.activity.calls
        if self.screen_stack and isinstance(self.screen, ConversationScreen):
            self.screen.sync()

    @work(exclusive=True, group="status")
    async def read_status(self) -> None:
        """Read the git branch and the permissions, whose changes no event reports."""
        workbench, shown = await self.opened(), self.state.conversation_id
        with suppress(TreadleError):  # after an error, the status line keeps its earlier values
            self.status.branch = await workbench.branch()
            given = await workbench.permissions(shown)
            self.status.allowed = sum(each.conversation_id in {None, shown} for each in given)
        self.plan_sync()

    def report(self, error: TreadleError) -> None:
        """Show an error as a line of the transcript."""
        self.state.add_notice(str(error), level="error")
        self.plan_sync()

    async def action_interrupt(self) -> None:
        """Copy the selected text. Without a selection, end the turn.

        If the person presses the key again within `QUIT_SECONDS`, quit.
        """
        if (selected := self._selected_text()) is not None:
            self.copy_to_clipboard(selected)
            self.notify("Copied.", markup=False)
            return
        now, before = self._clock.monotonic(), self._interrupted
        self._interrupted = now
        if before is not None and now - before <= QUIT_SECONDS:
            self.exit()
            return
        if self._workbench.done() and self.state.running:
            await self.action_end_turn()
        self.notify("Press Ctrl+C again to quit.", markup=False, timeout=QUIT_SECONDS)

    def _selected_text(self) -> str | None:
        focused = self.screen.focused
        in_widget = focused.selected_text if isinstance(focused, Input | TextArea) else ""
        return in_widget or self.screen.get_selected_text() or None

    def action_suspend(self) -> None:
        """Stop this process, so that the shell continues."""
        self.action_suspend_process()

    async def action_palette(self) -> None:
        """Open the command palette."""
        present = self.screen
        if not isinstance(present, Help | Palette):
            actions = [
                action for action in actions_of(present)
                if action.in_palette and target(present, action.name) is not None
            ]  # fmt: skip
            await self.push_screen(Palette(actions, self.key_set), self._run_chosen)

    async def action_help(self) -> None:
        """List the keys of the present screen."""
        if not isinstance(self.screen, Help | Palette):
            await self.push_screen(Help(self.screen, self.key_set), self._run_chosen)

    async def _run_chosen(self, name: str | None) -> None:
        if name is not None:
            await self.run_named(name)

    async def action_theme(self, name: str | None = None) -> None:
        """Use the theme `name`. Without a name, let the person choose a theme."""
        before = self.theme
        if name is None:
            await self.push_screen(
                ThemePicker(self.choose_theme), lambda chosen: self.choose_theme(chosen or before)
            )
        elif name in THEMES:
            self.choose_theme(name)
        else:
            names = ", ".join(THEMES)
            self.notify(f"That is not a theme. The themes are {names}.", markup=False)
