"""Tools called from outside a session: by another program, or by a person at the command line."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from treadle.app.recording import Recording, recording
from treadle.app.workspace import build_registry, open_index
from treadle.code import CodeIndex
from treadle.events import EventBus
from treadle.tools.dispatcher import Dispatcher
from treadle.tools.registry import Registry


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The tools of the repository at `root`, as `dispatcher.call` runs them.

    Each call is recorded as a run of its own; everything that happens is on `bus`.
    """

    root: Path
    index: CodeIndex
    registry: Registry
    bus: EventBus
    recording: Recording
    dispatcher: Dispatcher

    @classmethod
    @asynccontextmanager
    async def open(cls, root: Path) -> AsyncIterator[Self]:
        """Open the index, which is left as it was, and serve its tools. Raises StoreError."""
        bus = EventBus()
        async with AsyncExitStack() as stack:
            index = open_index(root)
            stack.callback(index.close)
            registry = build_registry(root, index)
            recorded = await stack.enter_async_context(recording(bus))
            serving = Dispatcher(bus, registry, root)
            dispatcher = await stack.enter_async_context(serving)
            yield cls(root, index, registry, bus, recorded, dispatcher)
