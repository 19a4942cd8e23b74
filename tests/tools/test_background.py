"""Background tools: their threads, and their progress."""

import asyncio
import threading
from pathlib import Path

from tests.tools.samples import Echo, NoArguments, serving
from treadle.events import EventBus
from treadle.events.types import (
    Delivery,
    ToolCallCompleted,
    ToolProgress,
)
from treadle.tools.contract import Result, Tool, ToolClass, ToolContext
from treadle.tools.executor import BACKGROUND_THREADS


class Block(Tool[NoArguments, Result]):
    """Blocks a thread until the test releases it or its call ends."""

    name = "block"
    description = "Blocks."
    tool_class = ToolClass.BACKGROUND
    arguments = NoArguments
    result = Result

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.threads: list[str] = []
        self.ended: list[str] = []

    async def run(self, arguments: NoArguments, context: ToolContext) -> Result:
        await context.report("begun")
        given_up = threading.Event()
        try:
            await context.in_thread(lambda: self._work(given_up))
        finally:
            given_up.set()
        return Result(type="blocked")

    def _work(self, given_up: threading.Event) -> None:
        self.threads.append(threading.current_thread().name)
        while not (self.let_go.wait(0.01) or given_up.is_set()):
            pass
        self.ended.append(threading.current_thread().name)


class Look(Block):
    """The same as a realtime tool."""

    name = "look"
    tool_class = ToolClass.REALTIME


async def begun(count: int, tool: Block) -> None:
    for _ in range(2_000):
        if len(tool.threads) >= count:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("they never began")


async def test_background_work_leaves_the_threads_of_realtime_tools_alone(
    bus: EventBus, root: Path
) -> None:
    block, look = Block(), Look()
    async with serving(bus, root, block, look, Echo()) as caller:
        futures = [await caller.start("block") for _ in range(BACKGROUND_THREADS + 5)]
        await begun(BACKGROUND_THREADS, block)
        look.let_go.set()
        assert isinstance(await caller.call("look"), ToolCallCompleted)
        assert isinstance(await caller.call("echo"), ToolCallCompleted)
        assert len(block.threads) == BACKGROUND_THREADS
        block.let_go.set()
        for outcome in await asyncio.gather(*futures):
            assert isinstance(outcome, ToolCallCompleted)
    assert all(name.startswith("treadle-background") for name in block.threads)
    assert not any(name.startswith("treadle-background") for name in look.threads)


async def test_progress_is_published_without_waiting_for_subscribers(
    bus: EventBus, root: Path
) -> None:
    block = Block()
    with bus.subscribe(ToolProgress) as events, bus.subscribe(ToolProgress, limit=1) as lagging:
        async with serving(bus, root, block) as caller:
            block.let_go.set()
            for _ in range(3):
                assert isinstance(await caller.call("block"), ToolCallCompleted)
        progress = (await anext(events)).event
    assert isinstance(progress, ToolProgress)
    assert (progress.text, progress.request_id) == ("begun", caller.request_id)
    assert progress.delivery is Delivery.LOSSY
    assert lagging.dropped == 2
