"""Pictures of the diff of a proposal, in three themes and sizes, and of a list of proposals."""

from pathlib import Path

import pytest

from tests.fakes.replies import Answer, Call
from tests.tui.approvals.asking import ask, open_proposal, stop
from tests.tui.approvals.scripts import DONE, replaced, repository
from tests.tui.pictures import check_picture
from tests.tui.terminal import running

STORE = '''import os


def clean(name: str) -> str:
    """Clean a name."""
    return name.strip()


class Store:
    def __init__(self, path: str) -> None:
        self.path = path  # the folder
        self.count = 0
'''
EDIT = Answer(
    "I change two files.",
    (
        Call(
            "apply_code_edit",
            {
                "edits": [
                    replaced(
                        "store.py",
                        "return name.strip()",
                        "cleaned = name.strip()\n    return cleaned.lower()",
                    ),
                    replaced("store.py", "self.count = 0", "self.count: int = 1"),
                    replaced("calc.py", "LIMIT = 10", "LIMIT = 20"),
                ]
            },
        ),
    ),
)


@pytest.mark.parametrize(
    ("theme", "size"),
    [("dark", (80, 24)), ("light", (130, 24)), ("ansi", (40, 10)), ("high-contrast", (80, 24))],
)
async def test_diff_looks_as_stored(tmp_path: Path, theme: str, size: tuple[int, int]) -> None:
    (repository(tmp_path) / "store.py").write_text(STORE)
    async with running(tmp_path, [EDIT, DONE], size=size) as terminal:
        terminal.app.choose_theme(theme)
        await ask(terminal)
        await open_proposal(terminal)
        await terminal.pilot.press("n", "n", "space", "p")
        await terminal.until(lambda: "1 left out" in terminal.text() or size[0] < 60)
        check_picture(terminal.app, f"proposal-{theme}-{size[0]}")
        await terminal.pilot.press("escape")
        await stop(terminal)


async def test_list_of_proposals_looks_as_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository(tmp_path) / "store.py").write_text(STORE)
    monkeypatch.setattr("treadle.tui.screens.proposals.when", lambda _: "2026-01-02 03:04")
    async with running(tmp_path, [EDIT, DONE], size=(58, 24)) as terminal:
        await ask(terminal)
        await stop(terminal)
        await terminal.app.run_named("proposals")
        await terminal.until(lambda: "hunk" in terminal.text() or "@@" in terminal.text())
        check_picture(terminal.app, "proposals-dark-58")
