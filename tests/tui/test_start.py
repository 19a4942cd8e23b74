"""How the terminal starts: from the command line, and in a real terminal."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import INTERPRETER, Ran, treadle
from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer
from tests.tui.real_terminal import RealTerminal, terminal
from tests.tui.terminal import running
from treadle.app.choices import Choices
from treadle.config.loader import load
from treadle.tui.app import TerminalApp
from treadle.tui.local_workbench import LocalWorkbench
from treadle.tui.screens.permissions import PermissionsScreen
from treadle.tui.workbench import Workbench

_HEAVY = {"pydantic", "aiohttp", "openai", "numpy", "treadle.app.application", "treadle.llm"}
"""Modules that the first screen must not wait for."""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    return folder


@asynccontextmanager
async def chat(
    repo: Path,
    *arguments: str,
    replies: tuple[Reply, ...] = (),
    words: Sequence[str] = (),
    **env: Any,
) -> AsyncIterator[RealTerminal]:
    async with (
        FakeProvider(replies) as provider,
        terminal(
            *arguments,
            home=repo.parent / "home",
            cwd=repo,
            words=words,
            TREADLE_BASE_URL=provider.base_url,
            **env,
        ) as screen,
    ):
        yield screen


async def quit_terminal(screen: RealTerminal) -> None:
    screen.type("\x11")
    assert await screen.ended() == 0, screen.raw
    assert screen.is_clean()


async def test_treadle_without_a_command_answers_and_resumes(repo: Path) -> None:
    async with chat(repo, replies=(Answer("It **adds**."),), words=INTERPRETER) as screen:
        await screen.shows("╭")
        screen.type("How does add work?")
        await screen.shows("How does add work?")
        screen.type("\r")
        await screen.shows("It adds.")
        await quit_terminal(screen)
    async with chat(repo, "chat", "--session", "last") as screen:
        await screen.shows("How does add work?", "It adds.")
        await quit_terminal(screen)


async def test_message_typed_before_the_first_screen_is_sent(repo: Path) -> None:
    """The terminal sends a line feed for Enter at this time."""
    async with chat(repo, replies=(Answer("It adds."),), words=INTERPRETER) as screen:
        screen.type("early question\r")
        await screen.shows("> early question", "It adds.")
        await quit_terminal(screen)


async def test_command_that_replaces_a_waiting_one_waits_for_the_repository(
    tmp_path: Path,
) -> None:
    may_open = asyncio.Event()
    async with running(tmp_path, may_open=may_open) as screen:
        await screen.enter("/permissions ")
        await screen.enter("/permissions ")
        may_open.set()
        await screen.until(lambda: isinstance(screen.app.screen, PermissionsScreen))
    assert screen.app.failure is None


@pytest.mark.parametrize("command", ["", "/permissions ", "!ls"])
async def test_quitting_before_the_repository_is_open_ends_normally(
    tmp_path: Path, command: str
) -> None:
    may_open = asyncio.Event()
    async with running(tmp_path, may_open=may_open) as screen:
        if command:
            await screen.enter(command)
        await screen.pilot.press("ctrl+q")
        may_open.set()
        await screen.until(lambda: screen.app.is_open)
    assert screen.app.failure is None
    assert screen.app.return_code == 0


async def test_repository_that_opens_after_the_last_screen_closed_changes_no_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual closes the screens, and only then the terminal closes the repository."""
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    root = tmp_path / "repo"
    root.mkdir()
    begun, closed = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def opening() -> AsyncIterator[Workbench]:
        begun.set()
        while app.screen_stack:  # noqa: ASYNC110  (Textual has no event for this moment)
            await asyncio.sleep(0)
        try:
            async with LocalWorkbench.open(root, load(root, {}, {}).settings) as workbench:
                yield workbench
        finally:
            closed.set()

    async def quit_while_it_opens() -> None:
        await begun.wait()
        app.exit()

    app = TerminalApp(opening, choices=Choices())
    await asyncio.gather(app.run_async(headless=True), quit_while_it_opens())
    await closed.wait()
    await app.close_workbench()
    assert app.failure is None
    assert app.return_code == 0


async def test_key_that_quits_before_the_repository_is_open_ends_normally(repo: Path) -> None:
    async with chat(repo) as screen:
        await screen.shows("╭")
        await quit_terminal(screen)


async def test_unknown_session_ends_with_one_line(repo: Path) -> None:
    async with chat(repo, "chat", "--session", "0000") as screen:
        assert await screen.ended() == 1
        assert screen.is_clean()
        last = screen.raw.rpartition("\x1b")[2]
    assert "There is no conversation '0000'" in last
    assert last.count("\n") == 1


@pytest.mark.parametrize("options", [(), ("chat", "--no-mouse")])
async def test_no_mouse_leaves_the_mouse_to_the_terminal(
    repo: Path, options: tuple[str, ...]
) -> None:
    async with chat(repo, *options, replies=(Answer("It adds."),)) as screen:
        await screen.shows("╭")
        screen.type("Hello\r")
        await screen.shows("It adds.")
        await quit_terminal(screen)
        assert ("\x1b[?1000h" in screen.raw) == (not options)


def test_treadle_without_a_terminal_prints_the_overview(repo: Path) -> None:
    ran = treadle(home=repo.parent / "home")
    assert ran.status == 0
    assert "commands:" in ran.out


def test_chat_without_a_terminal_is_an_error_in_one_line(repo: Path) -> None:
    ran = treadle("chat", home=repo.parent / "home", repo=repo)
    assert ran == Ran(
        2,
        "",
        "`treadle chat` needs a terminal as its standard input and output. Use `treadle ask "
        '"…"` in a script or a pipe.\n',
    )


@pytest.mark.parametrize("words", [["--help"], ["search", "add"]])
def test_other_commands_do_not_load_textual(repo: Path, words: list[str]) -> None:
    code = (
        f"import sys; from treadle.cli.main import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        "sys.exit(any(name.partition('.')[0] in {'textual', 'rich'} for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repo, capture_output=True, check=False)
    assert done.returncode == 0


def test_first_screen_loads_no_module_of_the_assistant() -> None:
    code = "import sys, treadle.tui.process; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not _HEAVY & set(done.stdout.split())


async def test_frame_is_aligned_without_utf8(repo: Path) -> None:
    async with chat(repo, "chat", PYTHONIOENCODING="ascii") as screen:
        await screen.shows("@ attaches", " repo")  # the line below it, so the frame is complete
        line = next(row for row in screen.text.splitlines() if "@ attaches" in row)
        assert line.rstrip().endswith("?")
        assert len(line.rstrip()) == 80
        await quit_terminal(screen)
