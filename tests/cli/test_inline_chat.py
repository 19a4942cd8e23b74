"""`treadle chat --inline` in a real terminal: the conversation stays in its scrollback."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.cli.command import treadle
from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Call, Pause, Script, delta, sse
from tests.tui.real_terminal import RealTerminal, terminal

CREATE = Call("create_file", {"path": "notes.txt", "content": "one\n"}, id="c1")
LONG = "\n\n".join(f"Paragraph {number}." for number in range(60))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    return folder


@asynccontextmanager
async def inline(repo: Path, *replies: Reply, words: str = "") -> AsyncIterator[RealTerminal]:
    async with (
        FakeProvider(replies) as provider,
        terminal(
            *("chat", "--inline", *words.split()),
            home=repo.parent / "home", cwd=repo, TREADLE_BASE_URL=provider.base_url,
        ) as screen,
    ):  # fmt: skip
        await screen.shows("/help lists the commands.\n>")
        yield screen


async def test_whole_conversation_stays_in_the_scrollback(repo: Path) -> None:
    """Case U1: nothing is drawn over, and the mouse belongs to the terminal."""
    async with inline(repo, Answer(LONG), Answer("It adds.")) as screen:
        screen.type("Tell me all.\r")
        await screen.shows("Paragraph 59.", "trace", "\n>")
        screen.type("And \\\rin short?\r")
        await screen.shows("It adds.", "trace", "\n>")
        screen.type("\x1b[A\x15/quit\r")
        assert await screen.ended() == 0
        assert screen.is_clean()
        text = screen.scrollback
        for line in ("> Tell me all.", "Paragraph 0.", "Paragraph 30.", "> And \\", "It adds."):
            assert line in text
        assert "\x1b[?1049h" not in screen.raw
        assert "\x1b[?1000h" not in screen.raw
    async with inline(repo, words="--session last") as screen:
        assert "Paragraph 30." in screen.scrollback
        screen.type("\x04")
        assert await screen.ended() == 0


async def test_proposal_is_approved_at_the_prompt(repo: Path) -> None:
    async with inline(repo, Answer("", (CREATE,)), Answer("Done.")) as screen:
        screen.type("Write notes.\r")
        await screen.shows("Apply it?")
        screen.type("y\r")
        await screen.shows("Done.")
        screen.type("/quit\r")
        assert await screen.ended() == 0
    assert (repo / "notes.txt").read_text() == "one\n"


async def test_ctrl_c_ends_the_turn_only(repo: Path) -> None:
    steps = sse(delta(role="assistant", content=""), delta(content="So far.\n\nx")).steps
    async with inline(repo, Script((*steps[:2], Pause())), Answer("Again.")) as screen:
        screen.type("Go on.\r")
        await screen.shows("So far.")
        screen.type("\x03")
        await screen.shows("Cancelled.\n>")
        screen.type("Once more.\r")
        await screen.shows("Again.")
        screen.type("/nothing\r")
        await screen.shows("/nothing is not available with --inline.")
        screen.type("\x04")
        assert await screen.ended() == 0
    shown = treadle("sessions", "show", "last", home=repo.parent / "home", repo=repo)
    assert "So far." in shown.out
    assert "Again." in shown.out


async def test_signal_at_the_prompt_leaves_a_clean_terminal(repo: Path) -> None:
    async with inline(repo) as screen:
        # A signal between the prompt and the wait for a key has no effect until the next key.
        await screen.until(lambda: screen.state == "S", "the process to wait for a key")
        screen.send_signal(signal.SIGTERM)
        assert await screen.ended() == 128 + signal.SIGTERM
        assert screen.is_clean()
