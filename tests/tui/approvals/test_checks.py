"""Checks in the terminal: consent, live output, parsed results, and a result for the model."""

import asyncio
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.tui.approvals.scripts import DONE
from tests.tui.terminal import Terminal, running
from treadle.tui.screens.checks import CheckScreen, ConsentScreen

SCRIPT = """#!/bin/sh
echo $$ > pid
echo "begins [/] here"
while [ ! -e go ]; do sleep 0.05; done
echo "calc.py:3:1: error: unexpected [b] name, with more words than one row shows in 80 columns [X]"
exit 1
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository whose only check is a program of its own, which waits for the file `go`."""
    root = tmp_path / "repo"
    root.mkdir()
    (root / "calc.py").write_text("a = 1\nb = 2\nc = 3\n")
    (root / "Makefile").write_text("test:\n\techo test\n")
    program = root / ".venv" / "bin" / "make"
    program.parent.mkdir(parents=True)
    program.write_text(SCRIPT)
    program.chmod(0o755)
    return root


async def start(terminal: Terminal) -> CheckScreen:
    """Choose the check from the list, and allow its program once."""
    await terminal.app.run_named("checks")
    await terminal.until(lambda: "make test" in terminal.text())
    await terminal.pilot.press("enter")
    await terminal.until(lambda: isinstance(terminal.app.screen, ConsentScreen))
    assert "inside this repository" in " ".join(terminal.text().split())
    await terminal.pilot.press("y")
    await terminal.until(lambda: isinstance(terminal.app.screen, CheckScreen))
    assert isinstance(terminal.app.screen, CheckScreen)
    return terminal.app.screen


async def test_failed_check_is_shown_live_and_handed_to_the_model(
    tmp_path: Path, repo: Path
) -> None:
    async with running(tmp_path, [DONE]) as terminal:
        screen = await start(terminal)
        await terminal.until(lambda: "begins [/] here" in terminal.text())
        assert screen.ran is None
        assert "r run again  Esc close" in terminal.text()
        (repo / "go").touch()
        await terminal.until(lambda: "calc.py:3:1" in terminal.text())
        assert "unexpected [b] name" in terminal.text()
        assert "\n Failed in" in terminal.text()  # the title has the command
        await terminal.until(
            lambda: "words than one row shows in 80 columns" in " ".join(terminal.text().split())
        )
        assert "m hand to the model  o output  Enter open  Esc close" in terminal.text()
        await terminal.pilot.press("m")
        await terminal.until(lambda: not isinstance(terminal.app.screen, CheckScreen))
        assert "[output of make test: " in terminal.text()
        await terminal.pilot.press("enter")
        await terminal.until(lambda: bool(terminal.provider.requests))
        await terminal.until(lambda: not terminal.app.state.running)
        sent = str(terminal.provider.requests[0].messages[-1]["content"])
        assert "The check make test reports:" in sent
        assert "calc.py:3:1: error: unexpected [b] name" in sent
        assert "begins [/] here" in sent


async def test_check_does_not_run_without_consent(tmp_path: Path, repo: Path) -> None:
    (repo / "go").touch()
    async with running(tmp_path) as terminal:
        await terminal.app.run_named("checks", "make test")
        await terminal.until(lambda: isinstance(terminal.app.screen, ConsentScreen))
        await terminal.pilot.press("escape")
        await terminal.until(lambda: "you did not allow it" in terminal.text())
        await terminal.pilot.press("r")
        await terminal.until(lambda: isinstance(terminal.app.screen, ConsentScreen))
        await terminal.pilot.press("a")
        await terminal.until(lambda: "Failed in" in terminal.text())
        await terminal.pilot.press("r")  # the consent is kept
        await terminal.until(lambda: "Failed in" in terminal.text())
        await terminal.pilot.press("escape")
        await terminal.app.run_named("permissions")
        await terminal.until(lambda: "Run `make test`" in terminal.text())


async def test_closing_the_screen_ends_the_check(tmp_path: Path, repo: Path) -> None:
    async with running(tmp_path) as terminal:
        await start(terminal)
        await terminal.until(lambda: "begins [/] here" in terminal.text())
        await terminal.pilot.press("escape")
        await terminal.until(lambda: not isinstance(terminal.app.screen, CheckScreen))
        workers = [each for each in terminal.app.workers if each.group == "check"]
        await asyncio.gather(*(each.wait() for each in workers), return_exceptions=True)
        with pytest.raises(ProcessLookupError):
            os.kill(int((repo / "pid").read_text()), 0)


async def test_result_opens_in_the_editor_at_its_line(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "go").touch()
    editor = tmp_path / "vi"
    editor.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    async with running(tmp_path) as terminal:
        monkeypatch.setattr(terminal.app, "suspend", nullcontext)  # there is no real terminal
        await start(terminal)
        await terminal.until(lambda: "calc.py:3:1" in terminal.text())
        await terminal.pilot.press("enter")
        await terminal.until((tmp_path / "opened").exists)
    assert (tmp_path / "opened").read_text().split() == ["+3", str(repo / "calc.py")]
