"""A picture of each screen and state: three sizes in dark, one in the other themes."""

from pathlib import Path

import pytest

from tests.fakes.replies import Answer, Call, Pause, delta, sse
from tests.tui.approvals.asking import ask, open_answers, open_proposal, stop
from tests.tui.approvals.scripts import EDIT, READ, repository
from tests.tui.pictures import Picture, check_picture
from tests.tui.screens.saved import on, opened, rows_shown, saved
from tests.tui.screens.test_rewind import edited
from tests.tui.terminal import Terminal, running
from treadle.tui.screens.conversation import ConversationScreen
from treadle.tui.screens.rewind_plan import RewindPlanScreen

SIZES = ((120, 40), (40, 10), (80, 24))
OTHER_THEMES = ("light", "ansi")
ANSWER = Answer(
    "# How it adds\n\nThe function `add` returns the **sum**:\n\n```python\n"
    "def add(left, right):\n    return left + right  # both are numbers\n```\n\n"
    "1. It takes two numbers.\n2. It returns one.\n\n> No rounding happens.\n"
)


async def check(terminal: Terminal, name: str) -> None:
    """Compare the pictures of the present screen in all sizes and themes."""
    for screen in terminal.app.screen_stack:
        if isinstance(screen, ConversationScreen):
            screen.keep_still()
            screen.sync()
    terminal.app.choose_theme("dark")
    for size in SIZES:
        await terminal.pilot.resize_terminal(*size)
        await settled(terminal)
        check_picture(terminal.app, f"{name}-{size[0]}x{size[1]}")
    for theme in OTHER_THEMES:
        terminal.app.choose_theme(theme)
        await settled(terminal)
        check_picture(terminal.app, f"{name}-{theme}")


async def settled(terminal: Terminal) -> None:
    """Wait until the picture no longer changes."""
    before = ""
    for _ in range(100):
        await terminal.pilot.pause(0.06)
        now = Picture.of(terminal.app).svg()
        if now == before:
            return
        before = now
    raise AssertionError("The picture keeps changing.")


async def test_new_conversation(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.write("What does")
        await check(terminal, "new-conversation")


async def test_answer(tmp_path: Path) -> None:
    call = Answer("Let me read it.", (Call("read_file", {"path": "calc.py"}),))
    async with running(tmp_path, [call, ANSWER]) as terminal:
        await terminal.ask("How does it add?")
        await terminal.until(lambda: "1 source" in terminal.text())
        await check(terminal, "answer")
        terminal.app.choose_theme("high-contrast")
        await settled(terminal)
        check_picture(terminal.app, "answer-high-contrast")


async def test_unfolded_call(tmp_path: Path) -> None:
    call = Answer("Let me read it.", (Call("read_file", {"path": "calc.py"}),))
    async with running(tmp_path, [call, Answer("It adds.")], size=(80, 40)) as terminal:
        await terminal.ask("How does it add?")
        await terminal.until(lambda: "1 source" in terminal.text())
        await terminal.pilot.press("tab", "up", "up", "enter")
        await check(terminal, "unfolded-call")


async def test_running_turn_with_a_queue(tmp_path: Path) -> None:
    unfinished = sse(delta(content="It reads the file"), Pause())
    async with running(tmp_path, [unfinished]) as terminal:
        await terminal.write("How does it add?")
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "waiting for the rest" in terminal.text())
        await terminal.write("And then")
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "And then" in terminal.text())
        await check(terminal, "running-turn")
        await terminal.app.action_end_turn()
        await terminal.until(lambda: not terminal.app.state.running)


async def test_question_for_approval(tmp_path: Path) -> None:
    repository(tmp_path)
    async with running(tmp_path, [READ]) as terminal:
        await ask(terminal)
        await check(terminal, "question")
        await open_answers(terminal)
        await check(terminal, "answers")
        await terminal.pilot.press("escape")
        await stop(terminal)


async def test_proposal(tmp_path: Path) -> None:
    repository(tmp_path)
    async with running(tmp_path, [EDIT]) as terminal:
        await ask(terminal)
        await open_proposal(terminal)
        await check(terminal, "proposal")
        await terminal.pilot.press("escape")
        await stop(terminal)
        await opened(terminal, "proposals")
        await check(terminal, "proposals")


@pytest.mark.parametrize("action", ["help", "palette", "theme", "sessions", "rewind", "context"])
async def test_overlay(tmp_path: Path, action: str) -> None:
    async with running(tmp_path) as terminal:
        session = await saved(terminal, ["first question", "second question"])
        workbench = terminal.app._workbench.result()
        terminal.app.show_session(await workbench.conversation(str(session)))
        await opened(terminal, action)
        await check(terminal, action)


async def test_rewind_plan(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await edited(terminal)
        await opened(terminal, "rewind")
        await terminal.pilot.press("enter")
        await on(terminal, RewindPlanScreen)
        await terminal.until(lambda: "calc.py" in terminal.text())
        await check(terminal, "rewind-plan")


async def test_undone_rewind(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await edited(terminal)
        await opened(terminal, "rewind")
        await terminal.pilot.press("enter")
        await rows_shown(terminal, RewindPlanScreen)
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "/undo-rewind undoes it" in " ".join(terminal.text().split()))
        await opened(terminal, "undo_rewind")
        await terminal.until(lambda: "calc.py" in terminal.text())
        await check(terminal, "undo-rewind")
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "The rewind is undone." in terminal.text())
        await check(terminal, "undone-rewind")


async def test_search(tmp_path: Path) -> None:
    async with running(tmp_path, size=(120, 40)) as terminal:
        await terminal.pilot.press("ctrl+f")
        await terminal.write("add")
        await terminal.until(lambda: "Sum of two numbers" in terminal.text())
        await check(terminal, "search")


async def test_failed_turn(tmp_path: Path) -> None:
    cut = Answer("This answer is cut", finish_reason="length")
    async with running(tmp_path, [cut]) as terminal:
        await terminal.ask("Explain everything")
        await check(terminal, "cut-answer")
