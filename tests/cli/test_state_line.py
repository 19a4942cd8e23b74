"""The line of `ask` that states what a silent turn waits for."""

import asyncio

import pytest

from tests.fakes.clock import FakeClock
from treadle.cli.terminal import Terminal
from treadle.events import EventBus
from treadle.events.types import PromptConstructed
from treadle.ids import new_id


async def test_event_that_does_not_end_the_wait_does_not_restart_its_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bus, clock = EventBus(), FakeClock()
    with bus.subscribe() as events:
        following = asyncio.create_task(Terminal(clock).follow(events))
        await clock.advance(3.0)
        await bus.publish(
            PromptConstructed(
                request_id=new_id(), turn=0, messages=1, estimated_tokens=1, budget_tokens=9
            )
        )
        await clock.advance(3.0)
        events.close()
        await following
    assert capsys.readouterr().err == "… starting (2 s)\n"
