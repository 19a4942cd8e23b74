"""A worker with the tools of the tests, in a process of its own that a test can kill."""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.workers.tools import noting_tools
from treadle.config.model import Settings
from treadle.nats.connection import connect
from treadle.nats.names import ProjectNames
from treadle.tools.contract import Registry
from treadle.workers.timing import Timing
from treadle.workers.worker import OfferedRepository, Worker


@dataclass(frozen=True)
class Place:
    """What the worker serves."""

    url: str
    names: ProjectNames
    root: Path
    log: Path
    name: str
    max_calls: int


async def run(at: Place, timing: Timing) -> None:
    """Run a worker until the process is killed. Prints a line when servers find the worker."""
    offered = OfferedRepository(at.root, Registry(noting_tools(at.log)), Settings())
    async with connect(at.url, name=at.name) as connection:
        worker = Worker(
            connection, at.names, [offered], name=at.name, max_calls=at.max_calls, timing=timing
        )
        running = asyncio.create_task(worker.run())
        await worker.wait_until_offered()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await running


if __name__ == "__main__":
    url, project, root, log, name, calls, timing = sys.argv[1:]
    at = Place(url, ProjectNames(project), Path(root), Path(log), name, int(calls))
    asyncio.run(run(at, Timing(**json.loads(timing))))
