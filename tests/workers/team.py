"""A server with a router, and its workers, on a real NATS server."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.engines import NatsServer
from tests.tools.samples import SessionCaller
from tests.workers.tools import noting_tools
from treadle.config.model import ApprovalSettings, Settings, WorkerSettings
from treadle.events import Event, EventBus, Outcome
from treadle.events.types import ToolCallCompleted, ToolCallFailed, ToolFailure
from treadle.ids import new_id
from treadle.nats.connection import NatsConnection, connect
from treadle.nats.names import ProjectNames
from treadle.tools.approvals.gate import Approvals
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor
from treadle.workers.routed_tools import with_workers
from treadle.workers.router import WorkerRouter
from treadle.workers.timing import Timing
from treadle.workers.work_tree import WorkTree, read_work_tree
from treadle.workers.worker import OfferedRepository, Worker

REPOSITORY_ROOT = Path(__file__).resolve().parents[2]

FAST = Timing(
    ack_wait=1.0, heartbeat=0.2, max_deliveries=3, hand_back=0.05, poll=0.2, find=1.0,
    no_worker=1.0, away=10.0, caller_lost=5.0, fetch=0.3,
)  # fmt: skip

WAIT_SECONDS = 30

T = TypeVar("T")


def git(root: Path, *arguments: str) -> str:
    """Run git in `root` and return its output."""
    names = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    return subprocess.run(
        ["git", *names, *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def make_repository(folder: Path) -> Path:
    """Create a git repository with one commit."""
    root = folder / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "file.txt").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "One")
    return root


def clone(root: Path, folder: Path) -> Path:
    """Clone a repository into `folder`."""
    git(root, "clone", "-q", str(root), str(folder))
    return folder


def tree_of(root: Path) -> WorkTree:
    """The state of a work tree that is known to have a commit."""
    tree = read_work_tree(root)
    assert tree is not None
    return tree


@dataclass
class Team:
    """A server and a NATS server. Workers are added by the methods."""

    nats: NatsServer
    root: Path
    log: Path
    project: str
    timing: Timing
    bus: EventBus
    router: WorkerRouter
    connection: NatsConnection
    approvals: Approvals
    caller: SessionCaller
    stack: AsyncExitStack
    events: list[Event] = field(default_factory=list)

    @property
    def names(self) -> ProjectNames:
        return ProjectNames(self.project)

    def runs(self, word: str = "begin") -> list[str]:
        """The lines of the runs so far, such as `begin writing a 123`."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.startswith(word)]

    async def call(self, tool: str, **arguments: object) -> asyncio.Future[Outcome]:
        """Start a call in the session."""
        return await self.caller.start(tool, json.dumps(arguments))

    async def result(self, tool: str, **arguments: object) -> dict[str, object]:
        """Make a call and return its result."""
        outcome = await within(await self.call(tool, **arguments))
        assert isinstance(outcome, ToolCallCompleted), outcome
        result: dict[str, object] = json.loads(outcome.content)
        return result

    async def worker(
        self, name: str = "one", *, root: Path | None = None, max_calls: int = 4,
        settings: Settings | None = None,
    ) -> Worker:  # fmt: skip
        """Start a worker in this process."""
        connection = await self.stack.enter_async_context(connect(self.nats.url, name=name))
        registry = Registry(noting_tools(self.log))
        offered = OfferedRepository(root or self.root, registry, settings or Settings())
        worker = Worker(
            connection, self.names, [offered], name=name, max_calls=max_calls, timing=self.timing
        )
        running = asyncio.create_task(worker.run())

        async def stop() -> None:
            running.cancel()
            await asyncio.wait({running})
            if not running.cancelled():
                running.result()

        self.stack.push_async_callback(stop)
        await within(worker.wait_until_offered())
        return worker

    async def process(self, name: str, *, max_calls: int = 4) -> "asyncio.subprocess.Process":
        """Start a worker in a process of its own."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.workers.process", self.nats.url, self.project,
            str(self.root), str(self.log), name, str(max_calls),
            json.dumps(asdict(self.timing)),
            stdout=asyncio.subprocess.PIPE, cwd=REPOSITORY_ROOT,
        )  # fmt: skip

        async def end() -> None:
            if process.returncode is None:
                process.kill()
            await process.wait()

        self.stack.push_async_callback(end)
        assert process.stdout is not None
        await within(process.stdout.readline())
        await self.offered(self.root)
        return process

    async def offered(self, root: Path) -> None:
        """Wait until a worker offers the commit of a work tree, or any commit if it has changes."""
        from treadle.workers.call_queue import CallQueue

        tree = tree_of(root)
        queue = CallQueue(self.connection, self.names, self.timing)
        commit = tree.commit if tree.is_clean else "any"
        while await queue.find_offer(tree.repository, commit) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    async def queued(self) -> int:
        """The number of calls in the queue, including those that run."""
        info = await self.connection.jetstream.stream_info(self.names.stream("calls"))
        return info.state.messages

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until the condition is true."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not condition():  # noqa: ASYNC110  (conditions on other processes)
                await asyncio.sleep(0.01)


@asynccontextmanager
async def team(
    nats: NatsServer,
    folder: Path,
    *,
    settings: WorkerSettings | None = None,
    approvals: ApprovalSettings | None = None,
    timing: Timing = FAST,
) -> AsyncIterator[Team]:
    """A server with a repository in `folder`, without workers."""
    root = make_repository(folder)
    project = f"p{new_id().hex[-20:]}"
    bus = EventBus()
    log = folder / "runs.log"
    events: list[Event] = []

    async def record() -> None:
        async for envelope in subscription:
            events.append(envelope.event)  # noqa: PERF401  (the events are read meanwhile)

    async with AsyncExitStack() as stack:
        subscription = stack.enter_context(bus.subscribe())
        recording = asyncio.create_task(record())
        stack.push_async_callback(asyncio.wait, {recording})
        stack.callback(subscription.close)
        connection = await stack.enter_async_context(connect(nats.url, name="server"))
        rules = approvals or ApprovalSettings()
        router = WorkerRouter(
            connection, ProjectNames(project), root, settings or WorkerSettings(), rules,
            timing=timing,
        )  # fmt: skip
        await stack.enter_async_context(router)
        registry = with_workers(Registry(noting_tools(log)), router)
        gate = Approvals(bus, root, rules)
        executor = ToolExecutor(bus, registry, root, approvals=gate)
        await stack.enter_async_context(executor)
        caller = SessionCaller(executor, registry)
        yield Team(
            nats, root, log, project, timing, bus, router, connection, gate, caller, stack, events
        )


async def within(work: Awaitable[T]) -> T:
    """Wait for a limited time."""
    return await asyncio.wait_for(work, WAIT_SECONDS)


def failure(outcome: Outcome) -> ToolFailure:
    """The failure of a call that must have failed."""
    assert isinstance(outcome, ToolCallFailed), outcome
    return outcome.error
