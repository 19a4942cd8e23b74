"""A worker with the tools of the tests, in a process of its own that a test can kill."""

import asyncio
import json
import sys
from pathlib import Path

from tests.workers.tools import noting_tools
from treadle.config.model import Settings
from treadle.nats.connection import connect
from treadle.nats.names import ProjectNames
from treadle.tools.contract import Registry
from treadle.workers.timing import Timing
from treadle.workers.worker import OfferedRepository, Worker


async def run(url: str, project: str, root: Path, log: Path, name: str, timing: Timing) -> None:
    """Run a worker until the process is killed. Prints a line when the worker is connected."""
    offered = OfferedRepository(root, Registry(noting_tools(log)), Settings())
    async with connect(url, name=name) as connection:
        worker = Worker(
            connection, ProjectNames(project), [offered], name=name, max_calls=4, timing=timing
        )
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await worker.run()


if __name__ == "__main__":
    url, project, root, log, name, timing = sys.argv[1:]
    asyncio.run(run(url, project, Path(root), Path(log), name, Timing(**json.loads(timing))))
