"""Small projects whose checks really run."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from treadle.checks.model import Check, CheckRun
from treadle.checks.runner import run
from treadle.clock import Clock, SystemClock
from treadle.config.model import CheckParser

PROGRAMS = str(Path(sys.executable).parent)
"""The folder of pytest, ruff and mypy."""

ENVIRONMENT = {
    "PATH": os.pathsep.join([PROGRAMS, os.environ.get("PATH", os.defpath)]),
    "HOME": os.environ.get("HOME", "/"),
    "LC_ALL": "C.UTF-8",
    "CI": "true",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


@dataclass
class Project:
    """A folder with files, and a way to run commands in it."""

    root: Path
    told: list[str] = field(default_factory=list)

    def write(self, name: str, content: str | bytes, mode: int | None = None) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            path.chmod(mode)
        return path

    async def report(self, text: str) -> None:
        self.told.append(text)

    async def run(
        self,
        *argv: str,
        parser: CheckParser = "auto",
        timeout: float = 60.0,  # noqa: ASYNC109  (that of the check)
        clock: Clock | None = None,
        environment: Mapping[str, str] | None = None,
        progress: Callable[[str], Awaitable[None]] | None = None,
    ) -> CheckRun:
        return await run(
            Check("check", argv, "test", "configuration", timeout, parser),
            self.root,
            clock=clock or SystemClock(),
            environment={**ENVIRONMENT, **(environment or {})},
            progress=progress or self.report,
        )


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait in real time until an independent program has done something."""
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen")


def is_alive(process: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
