"""Bringing an index up to date while others work, and telling on a bus how far it is."""

import asyncio
from uuid import UUID

from treadle.code import CodeIndex
from treadle.events import EventBus
from treadle.events.types import IndexProgress


async def refresh_index(index: CodeIndex, bus: EventBus, request_id: UUID) -> None:
    """Refresh in a thread; IndexProgress goes out as part of that request. Raises StoreError."""
    loop = asyncio.get_running_loop()

    def progress(done: int, total: int) -> None:
        event = IndexProgress(request_id=request_id, parent_id=request_id, done=done, total=total)
        asyncio.run_coroutine_threadsafe(bus.publish(event), loop)

    await asyncio.to_thread(index.refresh, progress)
