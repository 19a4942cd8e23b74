"""Runs the command line as a user would: a process of its own, in a home of its own."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cli import fork_server

INTERPRETER = (sys.executable, "-m", "treadle.cli.main")
"""The words that start `treadle` as an interpreter of its own."""
AS_INTERPRETER = {"PYTHONWARNINGS": "default"}
"""Variables for a test that needs the process itself, to measure it."""
_OF_INTERPRETER = ("PYTHON", "LC_", "LANG")
"""How the variables begin that an interpreter reads at its start."""


@dataclass(frozen=True)
class Ran:
    """The result of a command."""

    status: int
    out: str
    err: str


def treadle(
    *arguments: str, home: Path, repo: Path | None = None, stdin: str = "", **env: str
) -> Ran:
    """Run `treadle` with the given arguments, on `repo` if given, with no key and no server."""
    words = [*start_of(env), *arguments, *(["--repo", str(repo)] if repo else [])]
    done = subprocess.run(
        words,
        input=stdin,
        capture_output=True,
        text=True,
        env=environment(home, **env),
        timeout=110,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


async def start(*arguments: str, home: Path, repo: Path, **env: str) -> asyncio.subprocess.Process:
    """Start `treadle` with a provider that runs on this loop."""
    return await asyncio.create_subprocess_exec(
        *start_of(env),
        *arguments,
        "--repo",
        str(repo),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(home, **env),
        # A shell that starts the tests in the background leaves them deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


async def ended(process: asyncio.subprocess.Process) -> Ran:
    """Wait for the end of a started command."""
    out, err = await asyncio.wait_for(process.communicate(), 110)
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


def start_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """The words before the arguments: a fork, or an interpreter if `env` has variables for one."""
    if any(name.startswith(_OF_INTERPRETER) for name in env):
        return INTERPRETER
    return fork_server.command()


def environment(home: Path, **env: str) -> dict[str, str]:
    """An environment with no key in it, whose Treadle lives in `home`.

    TREADLE_BROWSER is for the tests of the page. The product would report it as unknown.
    """
    kept = {k: v for k, v in os.environ.items() if k != "TREADLE_BROWSER"}
    clean = {k: v for k, v in kept.items() if not k.endswith("_API_KEY")}
    return {**clean, "TREADLE_HOME": str(home), "PYTHONWARNINGS": "default", **env}
