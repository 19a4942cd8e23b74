"""Runs one check as a process of its own group, and leaves none of its processes behind."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from treadle.checks.model import Check, CheckRun
from treadle.clock import Clock
from treadle.errors import NotFoundError

Progress = Callable[[str], Awaitable[None]]
"""Is told, now and then, how far a check is."""


class ProgramMissingError(NotFoundError):
    """The program of a check is not installed."""


async def run(
    check: Check,
    cwd: Path,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    progress: Progress,
    paths: Sequence[str] = (),
) -> CheckRun:
    """Run `check` in the folder `cwd` and read what it says.

    `environment` is all that the program gets of one. It ends after the check's
    own time limit on `clock`. However this ends, also when it is cancelled, every process of the
    check was told to end and then killed. Raises ProgramMissingError.
    """
    raise NotImplementedError
