"""Updates an index in the background, and publishes the progress on a bus."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from treadle.code import CodeIndex
from treadle.errors import TreadleError
from treadle.events import EventBus
from treadle.events.types import IndexProgress
from treadle.ids import new_id


@asynccontextmanager
async def refresh_in_background(index: CodeIndex, bus: EventBus) -> AsyncIterator[None]:
    """Update the index once in the background. The end of the context cancels the update."""
    refreshing = asyncio.create_task(refresh_index(index, bus, new_id()), name="index")
    try:
        yield
    finally:
        refreshing.cancel()
        with contextlib.suppress(asyncio.CancelledError, TreadleError):
            await refreshing  # a tool that needs the index reports the failure


async def refresh_index(index: CodeIndex, bus: EventBus, request_id: UUID) -> None:
    """Update the index in a thread, and publish `IndexProgress` events with `request_id`.

    Raises StoreError.
    """
    loop = asyncio.get_running_loop()

    def progress(done: int, total: int) -> None:
        event = IndexProgress(request_id=request_id, parent_id=request_id, done=done, total=total)
        asyncio.run_coroutine_threadsafe(bus.publish(event), loop)

    await asyncio.to_thread(index.refresh, progress)
