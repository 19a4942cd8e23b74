"""The event bus alone: its throughput, and the latency of must-deliver events."""

import asyncio
import time
from collections.abc import Sequence

from treadle.events import EventBus
from treadle.events.types import Event, ModelDelta, Notice
from treadle.ids import new_id

EVENTS = 100_000
RATE = 10_000
"""Events a second while latencies are measured: one in two is must-deliver."""

SECONDS = 5
REQUEST = new_id()


async def events_per_second(subscribers: int) -> float:
    """Must-deliver events that each of `subscribers` gets, a second."""
    bus, event = EventBus(), Notice(request_id=REQUEST, level="info", text="x")

    async def read() -> None:
        with bus.subscribe() as subscription:
            for _ in range(EVENTS):
                await anext(subscription)

    readers = [asyncio.create_task(read()) for _ in range(subscribers)]
    await asyncio.sleep(0)
    started = time.perf_counter()
    for _ in range(EVENTS):
        await bus.publish(event)
    await asyncio.gather(*readers)
    return EVENTS / (time.perf_counter() - started)


async def latencies() -> Sequence[float]:
    """Seconds from publishing to reading must-deliver events, next to a slow lossy subscriber."""
    bus = EventBus()
    taken: list[float] = []
    published: list[float] = []

    async def read() -> None:
        async for _ in must:
            taken.append(time.perf_counter())  # noqa: PERF401  (each as it comes)

    async def read_slowly() -> None:
        async for _ in lossy:
            await asyncio.sleep(0.05)

    must, lossy = bus.subscribe(Notice), bus.subscribe(ModelDelta, limit=64)
    tasks = [asyncio.create_task(read()), asyncio.create_task(read_slowly())]
    pair: tuple[Event, Event] = (
        Notice(request_id=REQUEST, level="info", text="x"),
        ModelDelta(request_id=REQUEST, turn=0, text="x"),
    )
    begun = time.perf_counter()
    for number in range(RATE * SECONDS // 2):
        due = begun + 2 * number / RATE
        while (left := due - time.perf_counter()) > 0:  # noqa: ASYNC110  (sleeping alone is not exact enough)
            await asyncio.sleep(left if left > 0.002 else 0)
        published.append(time.perf_counter())
        for event in pair:
            await bus.publish(event)
    must.close()
    await tasks[0]
    tasks[1].cancel()
    return sorted(b - a for a, b in zip(published, taken, strict=True))
