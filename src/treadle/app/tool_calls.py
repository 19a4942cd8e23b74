"""The tools of one repository, served on a bus: what a session, a person or a program calls."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from treadle.app.editing import open_edits
from treadle.app.logs import logged
from treadle.app.recording import Recording, recording
from treadle.app.stores import approvals_path, log_path
from treadle.app.workspace import build_registry, open_index
from treadle.clock import Clock
from treadle.code import CodeIndex
from treadle.config.loader import load
from treadle.config.model import Settings
from treadle.edits.service import Edits
from treadle.errors import StoreError
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
    edits: Edits | None
    registry: Registry
    bus: EventBus
    bridge: Bridge
    approvals: Approvals
    recording: Recording
    dispatcher: Dispatcher
    unstaged: str | None = None

    @property
    def missing(self) -> list[str]:
        """What cannot be kept, and why: calls are answered all the same."""
        return [text for text in (self.recording.missing, self.unstaged) if text]

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
            edits, unstaged = _edits(stack, root)
            registry = build_registry(root, index, edits, settings) if tools else Registry(())
            bridge = Bridge(bus, reserved=registry.names(), clock=clock)
            await stack.enter_async_context(logged(bus, settings.logs, log_path()))
            recorded = await stack.enter_async_context(recording(bus, settings.traces.redaction))
            serving = Dispatcher(
                bus, registry, root, clock=clock, bridge=bridge, approvals=approvals
            )
            dispatcher = await stack.enter_async_context(serving)
            yield cls(
                root, index, edits, registry, bus, bridge, approvals, recorded, dispatcher, unstaged
            )


def _edits(stack: AsyncExitStack, root: Path) -> tuple[Edits | None, str | None]:
    """The proposals, or why there are none to be had: then no tool changes files."""
    try:
        return stack.enter_context(open_edits(root)), None
    except StoreError as error:
        return None, f"Nothing can be changed here: {error}"
