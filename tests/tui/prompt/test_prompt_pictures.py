"""Pictures of the prompt at three sizes: its chips, completions, commands and queue."""

from pathlib import Path

import pytest

from tests.tui.pictures import check_picture
from tests.tui.prompt.test_queue import busy
from tests.tui.terminal import running
from treadle.session.attachments import CodeAttachment
from treadle.tui.prompt.completion_list import CompletionList
from treadle.tui.prompt.draft import CommandOutput, Draft, PastedText

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 10)], ids="{0[0]}x{0[1]}".format)


def name(picture: str, size: tuple[int, int]) -> str:
    """The name of a picture at a size."""
    return f"{picture}-{size[0]}x{size[1]}"


@SIZES
async def test_chips_and_completions(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(tmp_path, size=size) as terminal:
        workbench = await terminal.app._workbench
        while not await workbench.complete("add"):
            await terminal.pilot.pause(0.02)
        code, output = CodeAttachment("calc.py", 1, 2), CommandOutput("make test", "a\n" * 44)
        paste = PastedText(1, "x\n" * 120)
        terminal.app.area.prompt.load(Draft(("See ", paste, " ", code, " ", output, "\nand @a")))
        await terminal.pilot.press("d")
        await terminal.until(lambda: terminal.app.screen.query_one(CompletionList).is_open)
        await terminal.until(lambda: "asks first" in terminal.text() or size[0] < 80)
        check_picture(terminal.app, name("prompt-completions", size))


@SIZES
async def test_commands(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(tmp_path, size=size) as terminal:
        await terminal.pilot.press("slash", *"sear")
        await terminal.until(lambda: terminal.app.screen.query_one(CompletionList).is_open)
        await terminal.until(lambda: "asks first" in terminal.text() or size[0] < 80)
        check_picture(terminal.app, name("prompt-commands", size))


@SIZES
async def test_selected_message_of_the_queue(tmp_path: Path, size: tuple[int, int]) -> None:
    async with busy(tmp_path, size=size) as (terminal, _):
        area = terminal.app.area
        area.queue.add(Draft(("also run the tests",)))
        area.queue.add(Draft(("then update the docs of all functions that changed, please",)))
        area.sync()
        await terminal.pilot.press("up")
        await terminal.pilot.pause(0.1)
        await terminal.until(lambda: "asks first" in terminal.text() or size[0] < 80)
        check_picture(terminal.app, name("prompt-queue", size))
        area.queue.take()
        area.queue.take()
