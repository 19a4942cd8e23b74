"""How the terminal ends: it is left as a shell expects it, and the conversation is whole."""

import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Pause, Script, delta, sse
from tests.tui.real_terminal import RealTerminal, terminal

QUESTION = "How does add work?"
SHOWN = "The first half of the answer."

_HELD = sse(delta(role="assistant", content=""), delta(content=f"{SHOWN}\n\n"), delta(content="x"))


def held() -> Script:
    """A reply that never ends."""
    return Script((*_HELD.steps[:2], Pause()), headers=_HELD.headers)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    return folder


@asynccontextmanager
async def in_an_answer(repo: Path) -> AsyncIterator[RealTerminal]:
    """A terminal in the middle of an answer."""
    async with (
        FakeProvider([held()]) as provider,
        terminal(home=repo.parent / "home", cwd=repo, TREADLE_BASE_URL=provider.base_url) as screen,
    ):
        await screen.shows("╭")
        screen.type(QUESTION)
        await screen.shows(QUESTION)
        screen.type("\r")
        await screen.shows(SHOWN)
        yield screen


def saved(repo: Path) -> list[dict[str, Any]]:
    """The messages of the newest conversation."""
    exported = treadle("sessions", "export", "last", "--json", home=repo.parent / "home", repo=repo)
    assert exported.status == 0, exported.err
    messages: list[dict[str, Any]] = json.loads(exported.out)["messages"]
    return messages


def check_cancelled(repo: Path) -> None:
    question, answer = saved(repo)
    assert (question["text"], question["stop_reason"]) == (QUESTION, "cancelled")
    assert (answer["text"].strip(), answer["state"]) == (SHOWN, "cancelled")


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
    ],
)
async def test_signal_leaves_a_clean_terminal_and_the_text_so_far(
    repo: Path, number: signal.Signals
) -> None:
    async with in_an_answer(repo) as screen:
        screen.send_signal(number)
        assert await screen.ended() == 128 + number
        assert screen.is_clean()
    check_cancelled(repo)


async def test_closed_terminal_ends_the_process_and_keeps_the_text_so_far(repo: Path) -> None:
    async with in_an_answer(repo) as screen:
        screen.close()
        await screen.ended()
    check_cancelled(repo)


async def test_quitting_cancels_the_running_turn_and_names_the_conversation(repo: Path) -> None:
    async with in_an_answer(repo) as screen:
        screen.type("\x11")
        assert await screen.ended() == 0
        assert screen.is_clean()
        assert "To resume this conversation: treadle chat --session " in screen.text
    check_cancelled(repo)


async def test_ctrl_c_ends_the_turn_and_twice_quits(repo: Path) -> None:
    async with in_an_answer(repo) as screen:
        screen.type("\x03")
        await screen.shows("Press Ctrl+C again to quit.")
        await screen.shows("Cancelled")
        screen.type("\x03\x03")
        assert await screen.ended() == 0
        assert screen.is_clean()
    check_cancelled(repo)


async def test_killed_process_keeps_the_text_so_far(repo: Path) -> None:
    async with in_an_answer(repo) as screen:
        screen.send_signal(signal.SIGKILL)
        await screen.ended()
    question, answer = saved(repo)
    assert (question["text"], question["stop_reason"]) == (QUESTION, None)
    assert (answer["text"].strip(), answer["state"]) == (SHOWN, "generating")
    async with terminal("chat", "--session", "last", home=repo.parent / "home", cwd=repo) as screen:
        await screen.shows(QUESTION, SHOWN, "No end of this turn is saved.")


async def test_stopped_process_leaves_a_clean_terminal_and_continues(repo: Path) -> None:
    async with in_an_answer(repo) as screen:
        screen.type("\x1a")
        await screen.until(lambda: screen.state == "T", "the process to stop")
        assert screen.is_clean()
        screen.forget()
        screen.send_signal(signal.SIGCONT)
        await screen.shows(SHOWN, "╭")
        screen.type("still here")
        await screen.shows("still here")


async def test_exception_ends_with_one_line_and_keeps_the_conversation(repo: Path) -> None:
    code = (
        "import sys; from treadle.cli.main import main\n"
        "from treadle.tui.app import TerminalApp\n"
        "TerminalApp.action_help = lambda self: 1 / 0\n"
        "sys.exit(main(['chat']))"
    )
    async with terminal(
        home=repo.parent / "home", cwd=repo, words=(sys.executable, "-c", code)
    ) as screen:
        await screen.shows("╭")
        screen.type("\x1bOP")
        assert await screen.ended() == 1
        assert screen.is_clean()
        last = screen.raw.rpartition("\x1b")[2]
    assert "Unexpected ZeroDivisionError: division by zero." in last
    assert last.count("\n") == 1
