"""Messages that are written while a turn runs wait in the queue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.clock import FakeClock
from tests.fakes.replies import Answer, Call, Pause, Script
from tests.tui.terminal import Terminal, running
from treadle.tui.prompt.queue import QueueView
from treadle.tui.workbench import StartedTurn


def queued(terminal: Terminal) -> list[str]:
    """The texts of the queued messages."""
    return [draft.message for draft in terminal.app.area.queue]


def asked(terminal: Terminal) -> list[str]:
    """The last lines of the messages that the provider received."""
    return [
        str(request.messages[-1]["content"]).splitlines()[-1]
        for request in terminal.provider.requests
    ]


def slow(go_on: asyncio.Event, reply: Answer) -> Script:
    """A reply that begins when `go_on` is set."""
    script = reply.script(stream=True)
    return Script(
        (*script.steps[:1], Pause(event=go_on), *script.steps[1:]), headers=script.headers
    )


@asynccontextmanager
async def busy(
    folder: Path,
    *replies: Answer,
    first: Answer | None = None,
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[tuple[Terminal, asyncio.Event]]:
    """A terminal whose first turn runs until the event is set."""
    go_on = asyncio.Event()
    script = slow(go_on, first or Answer("One."))
    async with running(folder, [script, *replies], clock=FakeClock(), size=size) as terminal:
        try:
            await terminal.write("one")
            await terminal.pilot.press("enter")
            await terminal.until(lambda: len(terminal.provider.requests) == 1)
            yield terminal, go_on
        finally:
            go_on.set()
            await terminal.until(lambda: not terminal.app.state.running)


async def enter(terminal: Terminal, *texts: str) -> None:
    """Write messages, each with Enter."""
    for text in texts:
        await terminal.write(text)
        await terminal.pilot.press("enter")
        await terminal.pilot.pause()


async def test_queued_messages_are_sent_one_after_the_other(tmp_path: Path) -> None:
    async with busy(tmp_path, Answer("Two."), Answer("Three.")) as (terminal, go_on):
        await enter(terminal, "two", "three")
        assert queued(terminal) == ["two", "three"]
        assert "Queued: sent when the turn ends" in terminal.text()
        assert "1. two" in terminal.text()
        go_on.set()
        await terminal.until(lambda: len(terminal.provider.requests) == 3)
        assert asked(terminal) == ["one", "two", "three"]
        await terminal.until(lambda: not terminal.app.screen.query_one(QueueView).display)


async def test_escape_ends_the_turn_and_keeps_the_queue(tmp_path: Path) -> None:
    async with busy(tmp_path, Answer("Two.")) as (terminal, _):
        await enter(terminal, "two")
        await terminal.pilot.press("escape")
        await terminal.until(lambda: not terminal.app.state.running)
        assert queued(terminal) == ["two"]
        assert "press Enter in the empty prompt to send" in terminal.text()
        await terminal.pilot.press("enter")
        await terminal.until(lambda: len(terminal.provider.requests) == 2)
        assert asked(terminal) == ["one", "two"]
        assert not queued(terminal)


async def test_escape_cancels_a_turn_that_only_starts(tmp_path: Path) -> None:
    async with busy(tmp_path) as (terminal, _):
        await terminal.pilot.press("escape")
        await terminal.until(lambda: not terminal.app.state.running)
        accept = asyncio.Event()
        workbench = await terminal.app._workbench
        send = workbench.send

        async def send_late(*arguments: Any, **named: Any) -> StartedTurn:
            await accept.wait()
            return await send(*arguments, **named)

        workbench.send = send_late  # type: ignore[method-assign]
        await enter(terminal, "two")
        await terminal.pilot.press("escape")
        accept.set()
        await terminal.until(lambda: "Cancelled" in terminal.text().split("two")[-1])


async def test_queue_is_edited_dropped_and_reordered(tmp_path: Path) -> None:
    async with busy(tmp_path) as (terminal, _):
        await enter(terminal, "two", "three", "four")
        await terminal.pilot.press("up", "shift+up")
        assert queued(terminal) == ["two", "four", "three"]
        await terminal.pilot.press("delete")
        assert queued(terminal) == ["two", "three"]
        await terminal.pilot.press("up", "enter")
        await terminal.pilot.pause()
        assert terminal.app.area.prompt.text == "two"
        assert terminal.app.focused is terminal.app.area.prompt
        await enter(terminal, " again")
        assert queued(terminal) == ["three", "two again"]
        await terminal.pilot.press("up", "down")
        assert terminal.app.focused is terminal.app.area.prompt
        terminal.app.area.queue.take()
        terminal.app.area.queue.take()


async def test_queued_message_is_sent_to_the_running_turn(tmp_path: Path) -> None:
    first = Answer("Look.", calls=[Call("list_dir", {"path": "."})])
    async with busy(tmp_path, Answer("Done."), first=first) as (terminal, go_on):
        await enter(terminal, "use tabs")
        await terminal.pilot.press("up", "s")
        await terminal.until(lambda: not queued(terminal))
        await terminal.write("be brief")
        await terminal.pilot.press("ctrl+s")
        await terminal.pilot.pause()
        go_on.set()
        await terminal.until(lambda: len(terminal.provider.requests) == 2)
        assert terminal.provider.requests[1].messages[-1]["content"] == "use tabs\n\nbe brief"


async def test_queue_survives_a_restart(tmp_path: Path) -> None:
    async with busy(tmp_path) as (terminal, _):
        await enter(terminal, "two")
        await terminal.pilot.press("escape")
        await terminal.until(lambda: not terminal.app.state.running)
    async with running(tmp_path, [Answer("Two.")]) as terminal:
        await terminal.until(lambda: queued(terminal) == ["two"])
        await terminal.ask("")
        assert asked(terminal) == ["two"]


async def test_two_escapes_within_a_second_open_the_rewind(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path, clock=clock) as terminal:
        opened: list[str] = []

        async def run_named(name: str, argument: str | None = None) -> bool:
            opened.append(name)
            return True

        terminal.app.run_named = run_named  # type: ignore[method-assign]
        await terminal.pilot.press("escape")
        await clock.advance(1.5)
        await terminal.pilot.press("escape")
        assert opened == []
        await clock.advance(0.5)
        await terminal.pilot.press("escape")
        assert opened == ["rewind"]
