"""The status line and the line that states what a turn does."""

from pathlib import Path
from uuid import uuid4

import pytest
from textual.app import App, ComposeResult

from tests.fakes.clock import FakeClock
from tests.fakes.replies import Answer, Pause, delta, sse
from tests.tui.pictures import Picture
from tests.tui.terminal import running
from treadle.events.types import IndexProgress, PromptConstructed
from treadle.tui.status import Status
from treadle.tui.status_line import StatusLine


def full() -> Status:
    status = Status()
    status.folder, status.branch, status.model = "treadle", "main", "small-model"
    status.cost, status.allowed, status.tools = 0.1234, 2, 1
    status.address, status.connected = "http://127.0.0.1:7788", False
    status.apply(
        PromptConstructed(
            request_id=uuid4(), turn=0, messages=1, estimated_tokens=96_000, budget_tokens=1,
            context_window=128_000,
        )
    )  # fmt: skip
    status.apply_progress(IndexProgress(request_id=uuid4(), done=12, total=1_000))
    return status


class Line(App[None]):
    """Shows one status line."""

    def __init__(self, status: Status) -> None:
        super().__init__()
        self._status = status

    def compose(self) -> ComposeResult:
        yield StatusLine(self._status)


async def shown(columns: int) -> str:
    async with Line(full()).run_test(size=(columns, 3)) as pilot:
        await pilot.pause()
        return Picture.of(pilot.app).lines[0].strip()


async def test_wide_terminal_shows_every_part() -> None:
    assert await shown(180) == (
        "treadle (main)  small-model  context 75% of 128k  $0.1234  1 tool  2 allowed"
        "  indexing 12 of 1,000 files  connection to 127.0.0.1:7788 lost"
    )


LOST = "connection to 127.0.0.1:7788 lost"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (100, f"treadle (main)  small-model  context 75% of 128k  $0.1234  {LOST}"),
        (80, f"small-model  context 75% of 128k  $0.1234  {LOST}"),
        (40, LOST),
    ],
)
async def test_narrow_terminal_leaves_out_the_least_important_parts(
    columns: int, expected: str
) -> None:
    assert await shown(columns) == expected


async def test_conversation_fills_the_status_line(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Hello")], size=(120, 24)) as terminal:
        await terminal.ask("Hi")
        line = Picture.of(terminal.app).lines[-1]
        assert line.strip().startswith("repo  fake-model  context ")


async def test_silence_is_stated_within_two_seconds(tmp_path: Path) -> None:
    clock = FakeClock()
    unfinished = sse(delta(content="A"), Pause())
    async with running(tmp_path, [unfinished], clock=clock) as terminal:
        await terminal.write("Hi")
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "waiting for the rest of the answer" in terminal.text())
        await clock.advance(2.0)
        await terminal.until(lambda: "waiting for the rest of the answer, 2 s" in terminal.text())
        await terminal.pilot.press("escape")
        await terminal.until(lambda: not terminal.app.state.running)
        await terminal.until(lambda: "waiting for the rest" not in terminal.text())
        await clock.advance(1.0)
        await terminal.until(lambda: not any(w.name == "_tick" for w in terminal.app.workers))


async def test_new_conversation_begins_without_messages(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("One"), Answer("Two")], size=(120, 24)) as terminal:
        await terminal.ask("First")
        first = terminal.app.state.conversation_id
        assert await terminal.app.run_named("new")
        await terminal.until(lambda: "First" not in terminal.text())
        assert "context" not in Picture.of(terminal.app).lines[-1]
        await terminal.ask("Second")
        assert terminal.app.state.conversation_id != first
        assert len(terminal.provider.requests[-1].messages) == 2


async def test_status_line_states_that_the_repository_opens() -> None:
    async with Line(Status()).run_test(size=(40, 3)) as pilot:
        await pilot.pause()
        assert Picture.of(pilot.app).lines[0].strip() == "opening the repository"
