"""The context plan: the parts of the next prompt, and of a recorded request."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tests.fakes.replies import Answer
from tests.tui.screens.saved import on, opened, rows_shown, saved
from tests.tui.terminal import Terminal, running
from treadle.app.context_plan import ContextPlan, ItemState
from treadle.tui.local_workbench import LocalWorkbench
from treadle.tui.screens.context_plan import ContextPlanScreen, RecordedContextScreen
from treadle.tui.screens.past_requests import PastRequestsScreen
from treadle.tui.screens.words import WordsScreen

SIZES = [(80, 24), (120, 40), (40, 10)]


def plan(terminal: Terminal) -> ContextPlanScreen:
    screen = terminal.app.screen
    assert isinstance(screen, ContextPlanScreen)
    return screen


def tokens(terminal: Terminal) -> int:
    shown = plan(terminal)._plan
    assert shown is not None
    return shown.tokens


def left_out(terminal: Terminal) -> set[str]:
    """The parts that are left out."""
    rows = plan(terminal)._list.rows
    parts = (row.value for row in rows if row.value is not None)
    return {part.item.name for part in parts if part.item.state is ItemState.LEFT_OUT}


async def choose(terminal: Terminal, name: str) -> None:
    """Highlight the part with a name."""
    screen = plan(terminal)
    row = next(row for row in screen._list.rows if row.value and row.value.item.name == name)
    screen.highlight(row.key)
    await terminal.pilot.pause()


async def shown(terminal: Terminal) -> None:
    await saved(terminal, ["first question", "second question"])
    workbench = terminal.app._workbench.result()
    terminal.app.show_session(await workbench.conversation("last"))


@pytest.mark.parametrize("size", SIZES)
async def test_leaving_out_and_taking_in_changes_the_numbers(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with running(tmp_path, size=size) as terminal:
        await shown(terminal)
        await opened(terminal, "context")
        whole = tokens(terminal)
        await choose(terminal, "first question")
        await terminal.pilot.press("x")
        await terminal.until(lambda: tokens(terminal) < whole)
        await terminal.until(lambda: "You left it out." in terminal.text())
        await terminal.pilot.press("x")
        await terminal.until(lambda: tokens(terminal) == whole)


async def test_a_part_that_is_left_out_quickly_keeps_the_change_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, read = asyncio.Event(), LocalWorkbench.plan_context

    async def slowly(*arguments: Any, **options: Any) -> ContextPlan:
        await gate.wait()
        return await read(*arguments, **options)

    async with running(tmp_path, size=(120, 40)) as terminal:
        await shown(terminal)
        await opened(terminal, "context")
        monkeypatch.setattr(LocalWorkbench, "plan_context", slowly)
        await choose(terminal, "grep")
        await terminal.pilot.press("x")
        await choose(terminal, "read_file")
        pressed = asyncio.create_task(terminal.pilot.press("x"))
        await terminal.pilot.pause()
        gate.set()
        await pressed
        await terminal.until(lambda: left_out(terminal) == {"grep", "read_file"})


async def test_tool_that_is_left_out_is_not_offered(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("one")], size=(120, 40)) as terminal:
        await shown(terminal)
        await opened(terminal, "context")
        whole = tokens(terminal)
        await choose(terminal, "grep")
        await terminal.pilot.press("space")
        await terminal.until(lambda: tokens(terminal) < whole)
        await terminal.pilot.press("escape")
        await terminal.ask("x")
    names = terminal.provider.requests[-1].tool_names
    assert "grep" not in names
    assert "read_file" in names


async def test_code_is_pinned_and_the_pin_removed(tmp_path: Path) -> None:
    async with running(tmp_path, size=(120, 40)) as terminal:
        await shown(terminal)
        await opened(terminal, "context")
        whole = tokens(terminal)
        for name, expected in [("missing.py", "missing.py"), ("calc.py:1-2", "Pinned code")]:
            await terminal.pilot.press("p")
            await on(terminal, WordsScreen)
            terminal.app.screen.query_one(Input).value = name
            await terminal.pilot.press("enter")
            await on(terminal, ContextPlanScreen)
            await terminal.until(lambda expected=expected: expected in terminal.text())  # type: ignore[misc]
        assert tokens(terminal) > whole
        pinned = next(r for r in plan(terminal)._list.rows if r.key.startswith("pinned 0"))
        plan(terminal).highlight(pinned.key)
        await terminal.pilot.press("x")
        await terminal.until(lambda: tokens(terminal) == whole)


async def test_recorded_request_shows_its_plan_and_cannot_be_changed(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("one")], size=(120, 40)) as terminal:
        await terminal.ask("why")
        await opened(terminal, "context")
        await terminal.pilot.press("r")
        await rows_shown(terminal, PastRequestsScreen)
        await terminal.pilot.press("enter")
        await rows_shown(terminal, RecordedContextScreen)
        await terminal.until(lambda: "counted" in terminal.text())
        await terminal.pilot.press("x")
        await terminal.until(lambda: "A recorded request cannot be changed." in terminal.text())


async def test_plan_of_a_new_conversation_shows_the_typed_message(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.write("a question that is typed")
        await opened(terminal, "context")
        assert "System prompt" in terminal.text()
        await choose(terminal, "next message")
        assert plan(terminal).highlighted is not None
        await terminal.pilot.press("x")
        await terminal.until(lambda: "The conversation does not exist yet." in terminal.text())
