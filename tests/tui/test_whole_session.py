"""A session in a real terminal: real process, real repository, scripted model."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Call, Pause, Script, delta, sse
from tests.server.serving import serving
from tests.tui.real_terminal import RealTerminal, terminal
from treadle.llm.embedded import missing_parts

QUESTION = "How does add work?"
ANSWER = "It **adds** `left` and `right`."
CONTEXT = Call("request_code_context", {"token_budget": 2000, "hint": "add"}, id="c1")
EDIT = Call(
    "apply_code_edit",
    {
        "edits": [
            {"file": "calc.py", "replace": {"old": "left + right", "new": "right + left"}},
            {"file": "calc.py", "replace": {"old": "add(x, x)", "new": "2 * x"}},
        ]
    },
    id="c2",
)
CODE = "def add(left, right):\n    return left + right\n\n\n" + "# line\n" * 12
CODE += "def twice(x):\n    return add(x, x)\n"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / "calc.py").write_text(CODE)
    return folder


@asynccontextmanager
async def chat(
    repo: Path, *replies: Reply, words: str = "", size: tuple[int, int] = (80, 24)
) -> AsyncIterator[RealTerminal]:
    async with (
        FakeProvider(replies) as provider,
        terminal(
            *("chat", *words.split()),
            home=repo.parent / "home", cwd=repo, size=size, TREADLE_BASE_URL=provider.base_url,
        ) as screen,
    ):  # fmt: skip
        await screen.shows("╭")
        yield screen


async def ask(screen: RealTerminal, text: str) -> None:
    screen.type(text)
    await screen.shows(text)
    screen.type("\r")


async def leave(screen: RealTerminal) -> None:
    screen.type("\x11")
    assert await screen.ended() == 0, screen.raw
    assert screen.is_clean()


async def test_question_sources_quit_and_resume(repo: Path) -> None:
    async with chat(repo, Answer("", (CONTEXT,)), Answer(ANSWER)) as screen:
        await ask(screen, QUESTION)
        await screen.shows("request_code_context", "It adds left and right.")
        await leave(screen)
    async with chat(repo, words="--session last") as screen:
        await screen.shows(QUESTION, "It adds left and right.")
        await leave(screen)


async def test_session_with_an_edit_a_check_an_undo_and_a_rewind(repo: Path) -> None:
    (repo / "Makefile").write_text("check:\n\t@echo it is fine\n")
    replies = (Answer("", (CONTEXT,)), Answer(ANSWER), Answer("", (EDIT,)), Answer("Changed."))
    async with chat(repo, *replies, size=(120, 40)) as screen:
        await ask(screen, QUESTION)
        await screen.shows("It adds left and right.")
        await ask(screen, "Change both.")
        await screen.shows("apply_code_edit", "Tab")
        screen.type("\t")
        await screen.shows("hunk 1 of 2", "return right + left", "return 2 * x")
        screen.type("n ")
        await screen.shows("1 left out")
        screen.type("a")
        await screen.shows("Applies 1 hunk")
        screen.type("y")
        await screen.shows("Why not this hunk?")
        screen.type("\r")
        await screen.shows("allowed once", "Changed.")
        assert (repo / "calc.py").read_text() == CODE.replace("left + right", "right + left")
        screen.type("/checks")
        await screen.shows("/checks")
        screen.type(" \r")
        await screen.shows("make check")
        screen.type("\r")
        await screen.shows("it is fine", "Passed")
        screen.type("\x1b")
        await screen.hides("it is fine")
        screen.type("\x1b")
        await screen.shows("Changed.")
        screen.type("/edits")
        await screen.shows("/edits")
        screen.type(" \r")
        await screen.shows("1, 0 open")
        screen.type("u")
        await screen.shows("Undone")
        assert (repo / "calc.py").read_text() == CODE
        screen.type("\x1b")
        await screen.shows("Changed.")
        screen.type("/rewind")
        await screen.shows("/rewind")
        screen.type(" \r")
        await screen.shows("Rewind", "Change both.")
        screen.type("\r")
        await screen.shows("Go back to before", "The prompt returns to the editor.")
        screen.type("\r")
        await screen.shows(QUESTION, "Change both.", "The conversation went back.")
        await screen.hides("Changed.")
        await leave(screen)
    async with chat(repo, words="--session last") as screen:
        await screen.shows(QUESTION, "It adds left and right.")
        assert "Changed." not in screen.text
        await leave(screen)


def _frame_width(screen: RealTerminal) -> int:
    """The number of columns of the frame around the prompt, or 0."""
    return max((len(row) for row in screen.text.splitlines() if row.endswith("╮")), default=0)


async def test_resizing_loses_nothing(repo: Path) -> None:
    async with chat(repo, Answer(ANSWER)) as screen:
        await ask(screen, QUESTION)
        await screen.shows("It adds left and right.")
        screen.type("a draft")
        await screen.shows("a draft")
        screen.forget()
        screen.resize(40, 10)
        # Otherwise the process may first read the size after it has changed back.
        await screen.until(lambda: _frame_width(screen) == 40, "the narrow frame")
        await screen.shows("a draft")
        screen.forget()
        screen.resize(80, 24)
        await screen.shows(QUESTION, "It adds left and right.", "a draft")
        await leave(screen)


async def test_silence_is_explained_within_two_seconds(repo: Path) -> None:
    """Case U7. The state appears without a key or an event."""
    async with chat(repo, Script(before=(Pause(),))) as screen:
        await ask(screen, QUESTION)
        await screen.until(lambda: "waiting" in screen.text.lower(), "the state in words")
        await leave(screen)


async def test_cut_reply_is_shown_as_cut(repo: Path) -> None:
    """Case U8."""
    async with chat(repo, Answer("Half of it", finish_reason="length")) as screen:
        await ask(screen, QUESTION)
        await screen.shows("Half of it", "The answer is incomplete")
        await leave(screen)


@pytest.mark.slow
@pytest.mark.parametrize("running", [False, True], ids=["idle", "unfinished turn"])
async def test_idle_terminal_uses_under_one_percent(repo: Path, running: bool) -> None:
    """Case U2."""
    parts = sse(delta(role="assistant", content=""), delta(content="So far.\n\nx")).steps
    replies = [Script((*parts[:2], Pause()))] if running else []
    async with chat(repo, *replies) as screen:
        if running:
            await ask(screen, QUESTION)
            await screen.shows("So far.")
        await asyncio.sleep(5)  # the repository opens
        before, began = _seconds(screen.pid), time.monotonic()
        await asyncio.sleep(10)
        used = (_seconds(screen.pid) - before) / (time.monotonic() - began)
        assert used < 0.01
        await leave(screen)


def _seconds(pid: int) -> float:
    """The processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_attached_terminals_show_the_same_turn(repo: Path) -> None:
    async with (
        FakeProvider([Answer(ANSWER)]) as provider,
        serving(repo, TREADLE_BASE_URL=provider.base_url) as server,
        terminal("chat", "--attach", server.address, home=repo.parent / "one", cwd=repo) as one,
    ):
        await one.shows("╭")
        await ask(one, QUESTION)
        await one.shows("It adds left and right.")
        async with terminal(
            "chat", "--attach", server.address, "--session", "last",
            home=repo.parent / "two", cwd=repo.parent,
        ) as other:  # fmt: skip
            await other.shows(QUESTION, "It adds left and right.")
            await leave(other)
        await leave(one)


@pytest.mark.model
@pytest.mark.skipif(bool(missing_parts()), reason="no embedded model installed")
async def test_embedded_model_answers_and_does_not_hold_the_exit(repo: Path) -> None:
    async with terminal(
        home=repo.parent / "home", cwd=repo, TREADLE_MODEL="embedded", TREADLE_BASE_URL=""
    ) as screen:
        await screen.shows("╭")
        await ask(screen, "What does add do?")
        await screen.until(lambda: "tokens in" in screen.text, "the end of the answer")
        await ask(screen, "Tell me everything about it in many words.")
        await screen.shows("> Tell me everything")
        await leave(screen)


async def test_absent_server_is_one_line_before_the_screen(repo: Path) -> None:
    async with terminal(
        "chat", "--attach", "http://127.0.0.1:9", home=repo.parent / "home", cwd=repo
    ) as screen:
        assert await screen.ended() == 1
        assert "The server at http://127.0.0.1:9 does not answer" in " ".join(screen.text.split())
        assert "\x1b[?1049h" not in screen.raw
