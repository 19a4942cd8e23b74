"""A small terminal: the line of the prompt is the last one that disappears."""

from pathlib import Path

import pytest

from tests.tui.approvals.asking import ask, stop
from tests.tui.approvals.scripts import READ, repository
from tests.tui.prompt.test_queue import busy
from tests.tui.terminal import running
from treadle.tui.prompt.draft import Draft

HEIGHTS = (9, 5, 2, 1)


async def test_typed_text_stays_visible_below_a_queue_and_completions(tmp_path: Path) -> None:
    async with busy(tmp_path) as (terminal, _):
        area = terminal.app.area
        for number in range(3):
            area.queue.add(Draft((f"message {number}",)))
        area.sync()
        await terminal.write("/se")
        await terminal.until(lambda: "/search" in terminal.text())
        for height in HEIGHTS:
            await terminal.pilot.resize_terminal(20, height)
            await terminal.until(lambda: "/se" in terminal.text().split())
        area.queue.take()
        area.queue.take()
        area.queue.take()


async def test_typed_text_stays_visible_below_a_question(tmp_path: Path) -> None:
    repository(tmp_path)
    async with running(tmp_path, [READ]) as terminal:
        await ask(terminal)
        await terminal.write("typed")
        for height in HEIGHTS:
            await terminal.pilot.resize_terminal(20, height)
            await terminal.until(lambda: "typed" in terminal.text())
        await terminal.pilot.resize_terminal(20, 5)
        await terminal.until(lambda: "? read" in terminal.text())
        await stop(terminal)


@pytest.mark.parametrize("height", [24, 5, 1])
async def test_a_long_prompt_takes_two_fifths_of_the_screen(tmp_path: Path, height: int) -> None:
    async with running(tmp_path, size=(20, height)) as terminal:
        await terminal.write("a\n" * 12 + "end")
        assert "end" in terminal.text()
        assert terminal.app.area.region.height == max(1, height * 2 // 5)
