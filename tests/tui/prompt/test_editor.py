"""The prompt opens in the editor of the person."""

from pathlib import Path

import pytest

from tests.fakes.clock import FakeClock
from tests.tui.terminal import running
from treadle.session.attachments import CodeAttachment
from treadle.tui.prompt.draft import Draft, PastedText


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor that runs the shell commands of a test. Its argument is the file."""
    path = tmp_path / "editor"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(path))
    return path


async def test_saved_text_becomes_the_prompt_and_chips_stay(tmp_path: Path, editor: Path) -> None:
    paste = "\n".join(f"row {number}" for number in range(30))
    with editor.open("a") as file:
        file.write(f'cp "$1" {tmp_path}/seen\nsed -i "s/look/LOOK/; \\$a more" "$1"\n')
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        prompt.load(Draft(("look ", PastedText(1, paste), " ", CodeAttachment("calc.py", 1, 2))))
        await terminal.pilot.press("ctrl+g")
        await terminal.until(lambda: prompt.text.startswith("LOOK"))
        assert (tmp_path / "seen").read_text() == f"look {paste} @calc.py:1-2\n"
        assert prompt.draft.parts == (
            "LOOK ", PastedText(2, paste), " ", CodeAttachment("calc.py", 1, 2), "\nmore"
        )  # fmt: skip
        prompt.undo()
        assert prompt.draft.message.startswith("look ")


@pytest.mark.usefixtures("editor")
async def test_an_editor_that_does_not_wait_is_noticed(tmp_path: Path) -> None:
    async with running(tmp_path, clock=FakeClock(), size=(100, 24)) as terminal:
        await terminal.write("text")
        await terminal.pilot.press("ctrl+g")
        await terminal.until(lambda: "needs an option like --wait" in terminal.text())
        assert terminal.app.area.prompt.text == "text"


@pytest.mark.parametrize("command", ["no-such-editor", "false"])
async def test_a_failing_editor_keeps_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("VISUAL", command)
    async with running(tmp_path) as terminal:
        await terminal.write("text")
        await terminal.pilot.press("ctrl+g")
        await terminal.until(lambda: f"The editor '{command}'" in terminal.text())
        assert terminal.app.area.prompt.text == "text"
