"""`treadle chat --inline`: a conversation that stays in the scrollback of the terminal.

The prompt is a line of the terminal. Each turn is printed as `treadle ask` prints it.
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from uuid import UUID

from treadle.app.application import App, open_app
from treadle.app.assistant import Assistant
from treadle.app.choices import Choices
from treadle.app.modes import change_mode
from treadle.cli.output import print_text, report, report_line
from treadle.cli.terminal import Terminal
from treadle.cli.turn_output import show_turn
from treadle.clock import SystemClock
from treadle.config.loader import LoadedConfig
from treadle.errors import ExitStatus, TreadleError
from treadle.events import EventBus
from treadle.events.types import Mode
from treadle.ids import new_id
from treadle.llm.messages import AssistantMessage, UserMessage
from treadle.session import Conversation, SessionOutcome
from treadle.tui.actions import ACTIONS

_PROMPT = "> "
_CONTINUED = "\\"
"""The character at the end of a line that continues on the next line."""
_MODES = {"read_only": Mode.READ_ONLY, "normal_mode": Mode.NORMAL}
_COMMANDS = frozenset({"quit", "new", "help", *_MODES})
"""The names of the actions in `ACTIONS` that work at this prompt."""


class _StoppedError(Exception):
    """A signal asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class InlineChat:
    """A conversation at a prompt of one line."""

    def __init__(
        self,
        app: App,
        bus: EventBus,
        choices: Choices,
        stack: AsyncExitStack,
        *,
        mode: Mode | None = None,
    ) -> None:
        """`mode` is the mode that the person chose for the conversation."""
        self._app = app
        self._bus = bus
        self._choices = choices
        self._stack = stack
        self._mode = mode
        self._assistant: Assistant | None = None
        self._conversation: Conversation | None = None

    async def resume(self, reference: str) -> None:
        """Continue a saved conversation, and print its messages. Raises TreadleError."""
        self._conversation = await self._app.conversations.load(reference)
        if self._mode is not None:
            await change_mode(self._app, self._conversation, self._mode)
        for entry in self._conversation.entries:
            match entry.message:
                case UserMessage(text=text):
                    _remember(text)
                    print_text(f"{_PROMPT}{text}\n")
                case AssistantMessage(text=str(text)) if text:
                    print_text(f"{text}\n")
                case _:
                    pass

    async def run(self) -> int:
        """Read and serve messages until the person quits. Returns the exit status."""
        report("Enter sends, \\ at the end of a line continues it, /help lists the commands.")
        while True:
            try:
                text = _read_message()
            except EOFError:
                report("")
                return ExitStatus.DONE
            except KeyboardInterrupt:
                report("\nPress Ctrl+D or enter /quit to quit.")
                continue
            except _StoppedError as stopped:
                return 128 + stopped.number
            if text.startswith("/"):
                if await self._command(text) is False:
                    return ExitStatus.DONE
            elif text.strip() and (number := await self._serve(text)) is not None:
                return 128 + number

    async def _command(self, text: str) -> bool:
        """Run a slash command. Returns False if the person quits."""
        name = text.removeprefix("/").split()[0] if text != "/" else ""
        action = next((each for each in ACTIONS if each.slash == name), None)
        if action is None or action.name not in _COMMANDS:
            report_line(f"/{name} is not available with --inline. /help lists the commands.")
        elif action.name == "help":
            for each in ACTIONS:
                if each.name in _COMMANDS:
                    print_text(f"  /{each.slash}  {each.help}")
        elif action.name in _MODES:
            self._mode = _MODES[action.name]
            if self._conversation is not None:
                await change_mode(self._app, self._conversation, self._mode)
            report(f"The mode is {self._mode}.")
        elif action.name == "new":
            self._conversation = None
            report("The next message starts a conversation.")
        else:
            return False
        return True

    async def _serve(self, text: str) -> int | None:
        """Serve a message. Ctrl+C ends the turn.

        Returns the number of a signal that ends the process.
        """
        request_id, output = new_id(), Terminal(SystemClock())
        turn = asyncio.create_task(
            show_turn(self._ask(text, request_id, output), output, self._bus, request_id)
        )
        received: list[int] = []

        def stop(number: int) -> None:
            received.append(number)
            turn.cancel()

        with _handling(stop):
            try:
                await turn
            except TreadleError as error:
                output.fail(error)
                report_line(str(error))
            except asyncio.CancelledError:
                report("Cancelled.")
        return next((number for number in received if number != signal.SIGINT), None)

    async def _ask(
        self, text: str, request_id: UUID, output: Terminal
    ) -> tuple[SessionOutcome, list[str]]:
        if self._assistant is None:
            opening = Assistant.open(self._app, request_id=request_id, choices=self._choices)
            self._assistant = await self._stack.enter_async_context(opening)
        if self._conversation is None:
            self._conversation = await self._assistant.conversation(mode=self._mode)
        session = await self._assistant.session(self._conversation, request_id)
        with output.answering(self._app):
            outcome = await session.run(text)
        return outcome, self._assistant.warnings


async def chat_inline(
    root: Path, loaded: LoadedConfig, choices: Choices, session: str | None, mode: Mode | None
) -> int:
    """Hold a conversation about the repository at `root`.

    Raises TreadleError if the conversation cannot begin.
    """
    for warning in loaded.warnings:
        report_line(f"! {warning}")
    bus = EventBus()
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(root, settings=loaded.settings, bus=bus))
        chat = InlineChat(app, bus, choices, stack, mode=mode)
        if session is not None:
            await chat.resume(session)
        return await chat.run()


def _read_message() -> str:
    """Read a message of one or more lines, with the keys and the history of readline.

    The function blocks the event loop, which is harmless while no turn runs. Raises EOFError,
    KeyboardInterrupt and _StoppedError. A signal raises an exception here, so that readline can
    restore the terminal.
    """
    with suppress(ImportError):  # some builds of Python have no readline
        import readline  # noqa: F401  (changes `input`)

    with _raising():
        lines = [input(_PROMPT)]
        while lines[-1].endswith(_CONTINUED):
            lines[-1] = lines[-1].removesuffix(_CONTINUED)
            lines.append(input("  "))
    return "\n".join(lines)


def _remember(text: str) -> None:
    with suppress(ImportError):
        import readline

        readline.add_history(text)


@contextmanager
def _raising() -> Iterator[None]:
    """Let signals raise exceptions in the main thread, which waits for the person."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise _StoppedError(number)

    earlier = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGTERM: signal.signal(signal.SIGTERM, stop),
        signal.SIGHUP: signal.signal(signal.SIGHUP, stop),
    }
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


@contextmanager
def _handling(stop: Callable[[int], None]) -> Iterator[None]:
    """Pass signals to `stop` while the event loop runs."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
