"""Steps of a person who answers questions for approval, for the tests."""

import json

from tests.tui.terminal import Terminal
from treadle.tui.screens.answer import AnswerScreen
from treadle.tui.screens.proposal import ProposalScreen


async def ask(terminal: Terminal, text: str = "go") -> None:
    """Send a message, and wait until its call asks."""
    await terminal.write(text)
    await terminal.pilot.press("enter")
    await terminal.until(lambda: len(terminal.app.questions) == 1)


async def finish(terminal: Terminal) -> None:
    """Wait until the question is answered and the turn has ended."""
    await terminal.until(lambda: not terminal.app.questions)
    await terminal.until(lambda: not terminal.app.state.running)


async def open_proposal(terminal: Terminal) -> ProposalScreen:
    """Move to the diff of the waiting proposal."""
    await terminal.pilot.press("tab")
    await terminal.until(lambda: getattr(terminal.app.screen, "review", None) is not None)
    assert isinstance(terminal.app.screen, ProposalScreen)
    return terminal.app.screen


async def open_answers(terminal: Terminal, key: str = "tab") -> None:
    """Press a key, and wait for the choice of answers."""
    await terminal.pilot.press(key)
    await terminal.until(lambda: isinstance(terminal.app.screen, AnswerScreen))


async def stop(terminal: Terminal) -> None:
    """Cancel the turn, and wait for its end."""
    await terminal.app._workbench.result().cancel(terminal.app.state.running[0])
    await finish(terminal)


def result(terminal: Terminal, request: int = 1) -> dict[str, object]:
    """The tool message that the model received."""
    parsed = json.loads(str(terminal.provider.requests[request].messages[-1]["content"]))
    assert isinstance(parsed, dict)
    return parsed
