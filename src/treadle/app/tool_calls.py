"""The tools of one repository, served on a bus: what a session, a person or a program calls."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from treadle.app.logs import logged
from treadle.app.recording import Recording, recording
from treadle.app.stores import approvals_path, log_path
from treadle.app.workspace import build_registry, open_index
from treadle.clock import Clock
from treadle.code import CodeIndex
from treadle.config.loader import load
from treadle.config.model import Settings
from treadle.events import EventBus
from treadle.tools.approvals import Approvals, GrantStore
from treadle.tools.dispatcher import Dispatcher
from treadle.tools.external import Bridge
from treadle.tools.registry import Registry


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The tools of the repository at `root`, as `dispatcher.call` runs them.

    Each call from outside a session is recorded as a run of its own; everything that happens is
    on `bus`. Front ends add tools that they run over `bridge`, and answer for a person what
    `approvals` asks.
    """

    root: Path
    index: CodeIndex
    registry: Registry
    bus: EventBus
    bridge: Bridge
    approvals: Approvals
    recording: Recording
    dispatcher: Dispatcher

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        root: Path,
        *,
        bus: EventBus | None = None,
        tools: bool = True,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator[Self]:
        """Open the index, which is left as it was, and serve its tools.

        Without `tools` there are none but those of front ends. Without `settings` those of the
        configuration hold. Raises StoreError and ConfigError.
        """
        bus = bus or EventBus(clock)
        settings = settings or load(root, os.environ, {}).settings
        approvals = Approvals(
            bus, root, settings.approvals, store=GrantStore(approvals_path()), clock=clock
        )
        async with AsyncExitStack() as stack:
            index = open_index(root)
            stack.callback(index.close)
            registry = build_registry(root, index) if tools else Registry(())
            bridge = Bridge(bus, reserved=registry.names(), clock=clock)
            await stack.enter_async_context(logged(bus, settings.logs, log_path()))
            recorded = await stack.enter_async_context(recording(bus))
            serving = Dispatcher(
                bus, registry, root, clock=clock, bridge=bridge, approvals=approvals
            )
            dispatcher = await stack.enter_async_context(serving)
            yield cls(root, index, registry, bus, bridge, approvals, recorded, dispatcher)
