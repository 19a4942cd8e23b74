"""Approval at a terminal: a real one, with a question answered by keys."""

import asyncio
import os
import pty
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.cli.command import environment, start_of, treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call

READ = Answer("", (Call("read_file", {"path": ".env"}, id="c1"),))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / ".env").write_text("COLOUR=blue\n")
    return folder


class Terminal:
    """The person's side of a pseudo-terminal."""

    def __init__(self, side: int) -> None:
        self._side = side
        self.shown = ""
        self.answered = 0
        """So many characters were shown before the last answer."""

    async def until(self, text: str, start: int = 0) -> None:
        """Read until `text` is on the screen, after the first `start` characters."""
        for _ in range(1_000):
            if text in self.shown[start:]:
                return
            try:
                self.shown += os.read(self._side, 65_536).decode()
            except BlockingIOError:
                await asyncio.sleep(0.05)
            except OSError:  # the other side is closed
                break
        raise AssertionError(f"{text!r} never came:\n{self.shown}")

    def type(self, text: str) -> None:
        os.write(self._side, text.encode())


@asynccontextmanager
async def asking(
    provider: FakeProvider, repo: Path, *words: str
) -> AsyncIterator[tuple[Terminal, asyncio.subprocess.Process]]:
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    env = environment(
        repo.parent / "home", TREADLE_BASE_URL=provider.base_url, TERM="dumb", COLUMNS="120"
    )
    process = await asyncio.create_subprocess_exec(
        *(*start_of({}), *(words or ("ask", "What colour?")), "--repo", str(repo)),
        stdin=theirs, stdout=theirs, stderr=theirs, env=env,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Terminal(ours), process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        os.close(ours)


async def test_model_receives_the_reason_of_a_denial(repo: Path) -> None:
    async with (
        FakeProvider([READ, Answer("Then I do not know.")]) as provider,
        asking(provider, repo) as (terminal, process),
    ):
        await terminal.until("n: no")
        assert "? read_file .env" in terminal.shown
        assert "usually holds keys or passwords" in terminal.shown
        seen = len(terminal.shown)
        terminal.type("what\n")
        await terminal.until("n: no", seen)  # asked again
        terminal.type("n\n")
        await terminal.until("Why not?")
        terminal.type("guess it\n")
        await terminal.until("trace ")
        assert await asyncio.wait_for(process.wait(), 30) == 0
        assert "⊖ The person denied it: read_file .env, and said: guess it" in terminal.shown
    result = str(provider.requests[1].messages[-1]["content"])
    assert '"kind":"denied"' in result
    assert "guess it" in result
    shown = treadle("traces", "show", "LAST", home=repo.parent / "home").out
    assert "⊖ read_file" in shown
    assert "⊖ approval  read_file .env → denied" in shown


@pytest.mark.slow
async def test_permanent_approval_is_stored_listed_and_revoked(repo: Path) -> None:
    home = repo.parent / "home"
    replies = [READ, Answer("Blue."), READ, Answer("Blue, still.")]
    async with FakeProvider(replies) as provider:
        async with asking(provider, repo) as (terminal, process):
            await terminal.until("n: no")
            terminal.type("a\n")
            await terminal.until("trace ")
            assert await asyncio.wait_for(process.wait(), 30) == 0
        async with asking(provider, repo) as (terminal, process):
            await terminal.until("trace ")
            assert "?" not in terminal.shown.replace("What colour?", "")
            assert await asyncio.wait_for(process.wait(), 30) == 0
    assert "COLOUR=blue" in str(provider.requests[1].messages[-1]["content"])
    listed = treadle("tools", "approvals", home=home, repo=repo)
    assert listed.out.splitlines()[1].split()[:3] == ["1", "read_file", ".env"]
    other = treadle("tools", "approvals", "--json", home=home, repo=repo.parent)
    assert other.out == '{"approvals": []}\n'
    assert treadle("tools", "approvals", "--revoke", "7", home=home, repo=repo).status == 1
    assert treadle("tools", "approvals", "--revoke", "1", home=home, repo=repo).status == 0
    assert "no permanent approvals" in treadle("tools", "approvals", home=home, repo=repo).out


async def test_ctrl_c_ends_a_question_at_once(repo: Path) -> None:
    async with (
        FakeProvider([READ]) as provider,
        asking(provider, repo) as (terminal, process),
    ):
        await terminal.until("n: no")
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 20) == 130
    shown = treadle("traces", "show", "LAST", home=repo.parent / "home").out
    assert "⊘ read_file" in shown
    assert "⊘ approval  read_file .env → withdrawn" in shown


def test_call_that_needs_consent_is_refused_without_a_terminal(repo: Path) -> None:
    ran = treadle(
        "tools",
        "call",
        "read_file",
        "--args",
        '{"path": ".env"}',
        home=repo.parent / "h",
        repo=repo,
    )
    assert (ran.status, ran.out) == (3, "")
    assert "It needs consent" in ran.err
    assert "No person can be asked here." in ran.err
