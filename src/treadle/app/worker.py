"""Opens the repositories of `treadle worker`, and runs the worker until a signal stops it."""

import asyncio
import os
import re
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.app.code_index import open_index
from treadle.app.index_refresh import refresh_in_background
from treadle.app.toolsets import code_registry
from treadle.config.loader import load
from treadle.database.address import DEFAULT_PROJECT
from treadle.errors import ConfigError, TreadleError
from treadle.events import EventBus
from treadle.nats.connection import BusError, connect
from treadle.nats.names import ProjectNames

if TYPE_CHECKING:
    from treadle.workers.worker import OfferedRepository

MAX_CALLS = 4
"""The default number of calls that a worker runs at once."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The options of `treadle worker`.

    `report` receives sentences for a person. `ready` is called with the name of the worker when
    servers can find the worker.
    """

    roots: Sequence[Path]
    report: Callable[[str], None]
    ready: Callable[[str], None]
    project: str = DEFAULT_PROJECT
    max_calls: int = MAX_CALLS


async def run_worker(options: WorkerOptions) -> None:
    """Run calls until SIGTERM or SIGINT. A second signal cancels the running calls.

    After the first signal, the worker finishes its running calls and takes no new ones. Raises
    ConfigError if the setting `bus.url` is missing, and BusError if NATS is away at the start or
    closes the connection permanently.
    """
    bus = load(options.roots[0], os.environ, {}).settings.bus
    if bus.url is None:
        raise ConfigError(
            "A worker needs a NATS server, and bus.url is not set.",
            hint="Set TREADLE_BUS__URL=nats://HOST:4222, or bus.url in your configuration file.",
        )
    try:
        names = ProjectNames(options.project)
    except ValueError as error:
        raise ConfigError(
            f"{error}.", hint="Use a lower-case letter, then letters, digits and `_`."
        ) from error
    name = _worker_name()
    connecting = connect(
        bus.url, name=f"treadle worker {name}", stream_replicas=bus.stream_replicas
    )
    async with connecting as connection, AsyncExitStack() as stack:
        from treadle.workers.worker import Worker  # needs nats-py: `connect` has checked it

        offered = [await stack.enter_async_context(_opened(root)) for root in options.roots]
        worker = Worker(
            connection, names, offered, name=name, max_calls=options.max_calls,
            report=options.report,
        )  # fmt: skip
        running = asyncio.create_task(worker.run())
        lost = asyncio.create_task(connection.lost.wait())
        stack.callback(lost.cancel)

        def stop() -> None:
            if worker.is_draining:
                running.cancel()
                return
            options.report("Finishing the running calls. A second signal cancels them.")
            worker.drain()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
            stack.callback(loop.remove_signal_handler, number)
        offering = asyncio.create_task(worker.wait_until_offered())
        offering.add_done_callback(lambda task: None if task.cancelled() else options.ready(name))
        stack.callback(offering.cancel)
        await asyncio.wait({running, lost}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            running.cancel()
            await asyncio.wait({running})
            raise BusError(
                f"NATS at {connection.servers} ended the connection.",
                hint="Check the permissions of the user in bus.url, then start the worker again.",
            )
        if not running.cancelled():
            running.result()
        figures = worker.figures
        options.report(
            f"Stopped. Finished calls: {figures.finished}. Handed back: {figures.handed_back}."
        )


@asynccontextmanager
async def _opened(root: Path) -> "AsyncIterator[OfferedRepository]":
    """Open the tools of a repository, without editing tools: a worker keeps no proposals."""
    from treadle.workers.work_tree import read_work_tree
    from treadle.workers.worker import OfferedRepository

    if await asyncio.to_thread(read_work_tree, root) is None:
        raise TreadleError(
            f"{root} cannot be offered: it is not a git repository with a commit.",
            hint="Pass folders of git repositories with --repos.",
        )
    settings = load(root, os.environ, {}).settings
    index = open_index(root)
    try:
        registry = code_registry(root, index, None, settings)
        async with refresh_in_background(index, EventBus()):
            yield OfferedRepository(root, registry, settings)
    finally:
        index.close()


def _worker_name() -> str:
    """Return a name that no other worker has, and that starts with the name of this machine."""
    machine = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40] or "worker"
    return f"{machine}-{secrets.token_hex(3)}"
