"""Opens everything that works on one repository: index, stores, event bus, tools and recorder.

The commands, the server and the MCP front end call `open_app` once for each repository.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.app.code_index import open_index
from treadle.app.conversations import Conversations
from treadle.app.logs import logged
from treadle.app.mcp_servers import mcp_servers
from treadle.app.recorder import Recording, recording
from treadle.app.stores import Stores, log_path
from treadle.app.toolsets import analyst_tools, code_registry, open_commands, unavailable
from treadle.clock import Clock, SystemClock
from treadle.code import CodeIndex
from treadle.config.loader import load
from treadle.config.mcp import McpSettings
from treadle.config.model import Settings
from treadle.edits.service import Edits
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.mcp_client.servers import McpServers
from treadle.spans.span import ANALYST_LABEL
from treadle.toolbox.commands import command_tools
from treadle.tools.approvals.gate import Approvals
from treadle.tools.approvals.grants import GrantStore
from treadle.tools.contract import AnyTool, Registry
from treadle.tools.executor import ToolExecutor
from treadle.tools.external import Bridge
from treadle.traces.store.span_reader import NO_TRACES
from treadle.ui.store import UiStore

if TYPE_CHECKING:
    from treadle.app.experiments import OpenExperiments
    from treadle.nats.connection import NatsConnection
    from treadle.traces import TraceStore


_NUMBERS_OF_SERVERS = 10**17
"""A server draws the number of its first permission at random from this range.

So two servers of a project practically never give two permissions the same number.
"""


class Toolset(Enum):
    """The tools of Treadle that an application offers."""

    NONE = auto()
    CODE = auto()
    """The tools that read and change the repository."""
    RECORDS = auto()
    """The tools that read records, run experiments and control pages."""
    ALL = auto()


@dataclass(frozen=True, slots=True)
class App:
    """Everything that this process has open for the repository at `root`.

    `code_tools` are the tools for the code, and `registry` contains all tools. Calls over MCP use
    `own_record_tools` instead of the tools with the same names. The tools in `own_record_tools`
    read only the records of this repository. `mcp` has the tools of other MCP servers. Front ends
    use `bridge` to run external tools, and answer questions through `approvals`.
    """

    root: Path
    toolset: Toolset
    settings: Settings
    env: Mapping[str, str]
    clock: Clock
    bus: EventBus
    index: CodeIndex
    edits: Edits | None
    edits_error: str | None
    """The reason why proposals are not available, or None if they are available."""
    conversations: Conversations
    ui_store: UiStore
    recording: Recording
    approvals: Approvals
    bridge: Bridge
    code_tools: Registry
    registry: Registry
    own_record_tools: Sequence[AnyTool]
    experiments: "OpenExperiments | None"
    executor: ToolExecutor
    stores: Stores
    mcp: McpServers

    @property
    def has_repository(self) -> bool:
        """Whether `root` is a repository. Otherwise it is an empty folder."""
        return self.toolset is not Toolset.RECORDS

    @property
    def warnings(self) -> list[str]:
        """Sentences about data that cannot be saved or recorded. Treadle still answers calls."""
        return [text for text in (self.recording.missing, self.edits_error) if text]

    @property
    def traces(self) -> "TraceStore":
        """The store of spans. Raises StoreError if it could not be opened."""
        if self.recording.store is None:
            raise StoreError(self.recording.missing or NO_TRACES)
        return self.recording.store


@asynccontextmanager
async def open_app(
    root: Path,
    *,
    settings: Settings | None = None,
    env: Mapping[str, str] | None = None,
    bus: EventBus | None = None,
    toolset: Toolset = Toolset.ALL,
    only_tool: str | None = None,
    clock: Clock | None = None,
    stores: Stores | None = None,
    nats: "NatsConnection | None" = None,
) -> AsyncIterator[App]:
    """Open the repository at `root` and its tools, without updating the index.

    Without `settings`, the configuration of the repository applies. Without `stores`, the
    application uses the stores of the user. With `only_tool`, the
    application opens only the parts that this tool needs. With `nats`, workers run the calls of
    some tools. Raises StoreError and ConfigError.
    """
    clock = clock or SystemClock()
    bus = bus or EventBus(clock)
    env = os.environ if env is None else env
    stores = stores or Stores.of_user()
    settings = settings or load(root, env, {}).settings
    async with AsyncExitStack() as stack:
        index = open_index(root)
        stack.callback(index.close)
        edits, edits_error = _open_edits(stack, root, stores)
        ui_store = UiStore(stores.ui)
        stack.callback(ui_store.close)
        conversations = await stack.enter_async_context(Conversations(root, bus, clock, stores))
        await stack.enter_async_context(logged(bus, settings.logs, log_path()))
        recorded = await stack.enter_async_context(
            recording(bus, settings.traces.redaction, root, stores, clock)
        )
        code_tools, analyst = Registry(()), _AnalystTools()
        if toolset in {Toolset.CODE, Toolset.ALL}:
            code_tools = code_registry(root, index, edits, settings)
        if nats is not None:
            routing = _with_workers(code_tools, nats, root, settings, stores)
            code_tools = await stack.enter_async_context(routing)
        if toolset in {Toolset.CODE, Toolset.ALL}:
            commands = open_commands(root, settings, env)
            if commands is not None:
                stack.push_async_callback(commands.close)
                code_tools = code_tools.with_tools(command_tools(commands))
        needed = only_tool is None or code_tools.get(only_tool) is None
        if toolset in {Toolset.RECORDS, Toolset.ALL} and needed:
            opening = _open_analyst_tools(
                root,
                recorded,
                ui_store,
                settings=settings,
                env=env,
                bus=bus,
                clock=clock,
                stores=stores,
            )
            analyst = await stack.enter_async_context(opening)
        registry = code_tools.with_tools(analyst.tools)
        bridge = Bridge(bus, reserved=registry.names(), clock=clock)
        approvals = Approvals(
            bus, root, settings.approvals, store=GrantStore(stores.approvals), clock=clock,
            first_number=1 if nats is None else 1 + secrets.randbelow(_NUMBERS_OF_SERVERS),
        )  # fmt: skip
        executor = ToolExecutor(
            bus, registry, root, clock=clock, bridge=bridge, approvals=approvals,
            labels={tool.name: (ANALYST_LABEL,) for tool in analyst.tools},
        )  # fmt: skip
        await stack.enter_async_context(executor)
        has_code = toolset in {Toolset.CODE, Toolset.ALL}
        offering = settings if has_code else settings.model_copy(update={"mcp": McpSettings()})
        servers = mcp_servers(root, offering, env, stores, clock)
        await stack.enter_async_context(servers)
        yield App(
            root, toolset, settings, env, clock, bus, index, edits, edits_error, conversations,
            ui_store, recorded, approvals, bridge, code_tools, registry, analyst.own_record_tools,
            analyst.experiments, executor, stores, servers,
        )  # fmt: skip


@asynccontextmanager
async def _with_workers(
    tools: Registry, nats: "NatsConnection", root: Path, settings: Settings, stores: Stores
) -> AsyncIterator[Registry]:
    """Send the calls of background tools, and of the tools that the settings name, to workers."""
    from treadle.nats.names import ProjectNames
    from treadle.workers.routed_tools import with_workers
    from treadle.workers.router import WorkerRouter

    names = ProjectNames(stores.project)
    async with WorkerRouter(nats, names, root, settings.workers, settings.approvals) as router:
        yield with_workers(tools, router)


@dataclass(frozen=True, slots=True)
class _AnalystTools:
    """The tools that read records, run experiments and control pages."""

    tools: Sequence[AnyTool] = ()
    own_record_tools: Sequence[AnyTool] = ()
    experiments: "OpenExperiments | None" = None


@asynccontextmanager
async def _open_analyst_tools(
    root: Path,
    recorded: Recording,
    ui_store: UiStore,
    *,
    settings: Settings,
    env: Mapping[str, str],
    bus: EventBus,
    clock: Clock,
    stores: Stores,
) -> AsyncIterator[_AnalystTools]:
    """Open the tools. Slow imports are in this function, since few commands need them."""
    from treadle.app.experiments import open_experiments
    from treadle.app.repository_scope import OfRepository, repository_label
    from treadle.ui.service import Ui

    traces = recorded.store or unavailable(recorded.missing or NO_TRACES)
    opening = open_experiments(traces, recorded, settings, env, bus, stores=stores, clock=clock)
    async with opening as opened:
        ui = Ui(ui_store, clock)
        models_read = settings.traces.models_read
        tools = analyst_tools(traces, opened.experiments, ui, settings)
        # The store of a project contains the records of that project alone, so models may read all
        # of them by default.
        if models_read == "all" or (models_read is None and settings.project_folder):
            yield _AnalystTools(tools, (), opened)
            return
        own = OfRepository(traces, await asyncio.to_thread(repository_label, root))
        own_record_tools = analyst_tools(own, opened.experiments.among(own), ui, settings)
        tools = own_record_tools if models_read == "repository" else tools
        yield _AnalystTools(tools, own_record_tools, opened)


def _open_edits(
    stack: AsyncExitStack, root: Path, stores: Stores
) -> tuple[Edits | None, str | None]:
    """Return the proposals of the repository, or None and the reason why they are not available."""
    try:
        return stack.enter_context(stores.open_edits(root)), None
    except StoreError as error:
        return None, f"Edits are not available: {error}"
