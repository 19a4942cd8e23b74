"""The list of proposals: states, decisions and their outcomes, and explained conflicts."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.widgets import Static

from tests.tui.approvals.asking import ask, finish, open_answers, open_proposal, stop
from tests.tui.approvals.scripts import CALC, DONE, EDIT, repository
from tests.tui.terminal import Terminal, running
from treadle.app.proposal_answers import ListedProposal
from treadle.tui.local_workbench import LocalWorkbench
from treadle.tui.screens.proposals import ProposalsScreen


async def apply_edit(terminal: Terminal) -> None:
    """Let the model edit, and allow it once."""
    await ask(terminal)
    await open_proposal(terminal)
    await open_answers(terminal, "a")
    await terminal.pilot.press("y")
    await finish(terminal)


async def open_list(terminal: Terminal) -> None:
    """Show all proposals."""
    await terminal.app.run_named("proposals")
    await terminal.until(lambda: "calc.py, util.py" in terminal.text())
    assert isinstance(terminal.app.screen, ProposalsScreen)


def message(terminal: Terminal) -> str:
    """The message line of the list."""
    return str(terminal.app.screen.query_one("#message", Static).content)


async def test_applied_proposal_is_undone_and_redone(tmp_path: Path) -> None:
    root = repository(tmp_path)
    async with running(tmp_path, [EDIT, DONE], size=(120, 30)) as terminal:
        await apply_edit(terminal)
        await open_list(terminal)
        assert "applied" in terminal.text()
        assert "+3 -3" in terminal.text()
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "hunk 1 of 3" in terminal.text())
        assert "changed since" not in terminal.text()  # the proposal itself changed the file
        assert "u undo" in terminal.text()
        assert "take/leave" not in terminal.text()
        await terminal.pilot.press("escape", "u")
        await terminal.until(lambda: "Undone: 2 files are restored." in message(terminal))
        assert (root / "calc.py").read_text() == CALC
        await terminal.pilot.press("r")
        await terminal.until(lambda: "Applied: 2 files are written." in message(terminal))
        assert "LIMIT = 20" in (root / "calc.py").read_text()


async def test_a_key_waits_for_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, gate = repository(tmp_path), asyncio.Event()
    read = LocalWorkbench.proposals

    async def slowly(workbench: LocalWorkbench) -> Sequence[ListedProposal]:
        await gate.wait()
        return await read(workbench)

    async with running(tmp_path, [EDIT, DONE]) as terminal:
        await apply_edit(terminal)
        monkeypatch.setattr(LocalWorkbench, "proposals", slowly)
        await terminal.app.run_named("proposals")
        await terminal.until(lambda: isinstance(terminal.app.screen, ProposalsScreen))
        await terminal.pilot.press("u")
        gate.set()
        await terminal.until(lambda: "Undone: 2 files are restored." in message(terminal))
        assert (root / "calc.py").read_text() == CALC


async def test_conflict_of_an_undo_is_explained_and_the_rest_can_be_undone(tmp_path: Path) -> None:
    root = repository(tmp_path)
    async with running(tmp_path, [EDIT, DONE], size=(120, 30)) as terminal:
        await apply_edit(terminal)
        changed = (root / "util.py").read_text().replace("lower()", "upper()")
        (root / "util.py").write_text(changed)
        await open_list(terminal)
        await terminal.pilot.press("u")
        await terminal.until(lambda: "util.py" in message(terminal))
        assert (root / "calc.py").read_text() != CALC
        await terminal.pilot.press("U")
        await terminal.until(lambda: "Partly undone:" in message(terminal))
        assert (root / "calc.py").read_text() == CALC
        assert (root / "util.py").read_text() == changed


async def test_stale_proposal_is_restaged_and_applied(tmp_path: Path) -> None:
    root = repository(tmp_path)
    async with running(tmp_path, [EDIT, DONE], size=(120, 30)) as terminal:
        await ask(terminal)
        await stop(terminal)
        (root / "calc.py").write_text("import os\n" + CALC)
        await open_list(terminal)
        await terminal.until(lambda: "changed" in terminal.text())
        await terminal.pilot.press("a")
        await terminal.until(lambda: "has changed" in message(terminal))
        await terminal.pilot.press("b")
        await terminal.until(lambda: "Restaged" in message(terminal))
        await terminal.pilot.press("a")
        await terminal.until(lambda: "Applied: 2 files" in message(terminal))
    assert (root / "calc.py").read_text().startswith("import os\nLIMIT = 20")


async def test_waiting_proposal_is_answered_from_the_list(tmp_path: Path) -> None:
    root = repository(tmp_path)
    async with running(tmp_path, [EDIT, DONE], size=(120, 30)) as terminal:
        await ask(terminal)
        await open_list(terminal)
        await terminal.until(lambda: "The model waits for your answer." in terminal.text())
        await terminal.pilot.press("a")
        await terminal.until(lambda: "waits for your answer · hunk" in terminal.text())
        await open_answers(terminal, "a")
        await terminal.pilot.press("y")
        await finish(terminal)
    assert "LIMIT = 20" in (root / "calc.py").read_text()
