"""The tools of one repository, served on a bus: what a session, a person or a program calls."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Self

from treadle.app.editing import open_edits
from treadle.app.logs import logged
from treadle.app.recording import Recording, recording
from treadle.app.stores import approvals_path, log_path, ui_path
from treadle.app.workspace import code_registry, open_index
from treadle.clock import Clock
from treadle.code import CodeIndex
from treadle.config.loader import load
from treadle.config.model import Settings
from treadle.edits.service import Edits
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.spans.span import ANALYST_LABEL
from treadle.tools.approvals.gate import Approvals
from treadle.tools.approvals.grants import GrantStore
from treadle.tools.dispatcher import Dispatcher
from treadle.tools.external import Bridge
from treadle.tools.registry import AnyTool, Registry
from treadle.ui.store import UiStore

if TYPE_CHECKING:
    from treadle.app.experimenting import Experimenting


class Offer(Enum):
    """Which of our own tools are served."""

    NOTHING = auto()
    CODE = auto()
    """Those that read and change the repository: what an assistant for it needs."""
    EVERYTHING = auto()


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The tools of the repository at `root`, as `dispatcher.call` runs them.

    `code` are those that an assistant for the repository is offered, `registry` are all. Each call
    from outside a session is recorded as a run of its own; everything that happens is on `bus`,
    and what pages show is in `screen`. Front ends add tools that they run over `bridge`, and
    answer for a person what `approvals` asks. `scoped` stand in for tools of the same name in calls
    over MCP: they read only what was recorded in this repository.
    """

    root: Path
    index: CodeIndex
    edits: Edits | None
    registry: Registry
    code: Registry
    screen: UiStore
    experimenting: "Experimenting | None"
    bus: EventBus
    bridge: Bridge
    approvals: Approvals
    recording: Recording
    dispatcher: Dispatcher
    scoped: Sequence[AnyTool] = ()
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
        offer: Offer = Offer.EVERYTHING,
        called: str | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator[Self]:
        """Open the index, which is left as it was, and serve the tools of `offer`.

        Those of front ends are served too. When only the tool `called` will be, those for other
        matters need not be there. Without `settings` those of the configuration hold.
        Raises StoreError and ConfigError.
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
            screen = UiStore(ui_path())
            stack.callback(screen.close)
            await stack.enter_async_context(logged(bus, settings.logs, log_path()))
            recorded = await stack.enter_async_context(
                recording(bus, settings.traces.redaction, root)
            )
            code, analyst = Registry(()), _Analyst()
            if offer is not Offer.NOTHING:
                code = code_registry(root, index, edits, settings)
            if offer is Offer.EVERYTHING and (called is None or code.get(called) is None):
                opening = _analyst(recorded, root, screen, settings, bus, clock=clock)
                analyst = await stack.enter_async_context(opening)
            registry = code.with_tools(analyst.tools)
            bridge = Bridge(bus, reserved=registry.names(), clock=clock)
            serving = Dispatcher(
                bus,
                registry,
                root,
                clock=clock,
                bridge=bridge,
                approvals=approvals,
                labels={tool.name: (ANALYST_LABEL,) for tool in analyst.tools},
            )
            yield cls(
                root=root,
                index=index,
                edits=edits,
                registry=registry,
                code=code,
                screen=screen,
                experimenting=analyst.experimenting,
                bus=bus,
                bridge=bridge,
                approvals=approvals,
                recording=recorded,
                dispatcher=await stack.enter_async_context(serving),
                scoped=analyst.scoped,
                unstaged=unstaged,
            )


@dataclass(frozen=True, slots=True)
class _Analyst:
    """What is there for questions about what is recorded."""

    tools: Sequence[AnyTool] = ()
    experimenting: "Experimenting | None" = None
    scoped: Sequence[AnyTool] = ()


@asynccontextmanager
async def _analyst(
    recorded: Recording,
    root: Path,
    screen: UiStore,
    settings: Settings,
    bus: EventBus,
    *,
    clock: Clock | None,
) -> AsyncIterator[_Analyst]:
    """Its parts take a while to load, and few need them."""
    from treadle.app.analyst_tools import analyst_tools, unavailable
    from treadle.app.experimenting import experimenting
    from treadle.app.repository_scope import OfRepository, repository_label
    from treadle.ui.service import Ui

    why = recorded.missing or "There are no traces."
    traces = unavailable(why) if recorded.store is None else recorded.store
    async with experimenting(traces, recorded, settings, os.environ, bus, clock=clock) as trying:
        ui = Ui(screen, clock)
        read = settings.traces.models_read
        tools = analyst_tools(traces, trying.experiments, ui, settings)
        if read == "all":
            yield _Analyst(tools, trying)
            return
        label = await asyncio.to_thread(repository_label, root)
        here = OfRepository(traces, label)
        scoped = analyst_tools(here, trying.experiments.among(here), ui, settings)
        yield _Analyst(scoped if read == "repository" else tools, trying, scoped)


def _edits(stack: AsyncExitStack, root: Path) -> tuple[Edits | None, str | None]:
    """The proposals, or why there are none to be had: then no tool changes files."""
    try:
        return stack.enter_context(open_edits(root)), None
    except StoreError as error:
        return None, f"Edits are not available: {error}"
