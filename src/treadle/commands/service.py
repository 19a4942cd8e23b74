"""Runs the commands of a model in one repository, in the foreground and in the background."""

import asyncio
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from treadle.clock import Clock
from treadle.commands.environment import command_environment
from treadle.commands.kept_output import OutputFolder, OutputPart
from treadle.commands.runner import CommandRun, CommandSpec, CommandState, Progress
from treadle.commands.weighing import Weighed, weigh
from treadle.config.model import Settings
from treadle.config.quantities import size_bytes
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.paths import resolve_inside
from treadle.processes.environment import Environment

_MAX_KEPT = 200
"""The number of ended commands whose output can still be read."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A command with the name by which it is read and stopped."""

    name: str
    command: str
    run: CommandRun
    owner: UUID | None
    is_background: bool


class Commands:
    """The commands of one repository. Use it only in one event loop, and close it at the end."""

    def __init__(
        self, root: Path, settings: Settings, environment: Mapping[str, str], outputs: Path
    ) -> None:
        """`outputs` is the folder for outputs, which is created when it is first needed.

        Commands get the variables in `environment`, without secrets.
        """
        self.root = Path(os.path.realpath(root))
        self.settings = settings.commands
        self._environment = environment
        self._secret = frozenset(
            name for each in settings.providers.values() if (name := each.api_key_env)
        )
        self._outputs = OutputFolder(outputs)
        self._runs: dict[str, ListedRun] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._numbers = itertools.count(1)

    def folder(self, name: str | None) -> Path:
        """Return a folder inside the root. This method blocks.

        Raises PathRefusedError for a path outside the root, and UsageError if it is not a folder.
        """
        folder = resolve_inside(self.root, name or ".")
        if not folder.is_dir():
            raise UsageError(
                f"{name!r} is not a folder of the repository.",
                hint="Give an existing folder relative to the root, or none for the root.",
            )
        return folder

    def environment(self) -> Environment:
        """Return the environment of commands. This method blocks."""
        return command_environment(
            self._environment, self.root, secret=self._secret, keep=self.settings.keep_keys
        )

    def weigh(self, command: str, folder: Path) -> Weighed:
        """Weigh a command. Raises ValueError if it is empty. This method blocks."""
        return weigh(command, self.root, folder)

    async def run(
        self,
        command: str,
        script: str,
        folder: Path,
        owner: UUID | None,
        *,
        limit: float | None,
        background: bool,
        clock: Clock,
        progress: Progress | None = None,
    ) -> ListedRun:
        """Start a command and return it, in the foreground when it has ended.

        `command` is the text as the model wrote it, and `script` is the text for the shell. It may
        run for `limit` seconds.
        Raises UsageError if too many commands run in the background, and StoreError if the output
        cannot be kept.
        """
        if background and self._in_background() >= self.settings.max_background:
            raise UsageError(
                f"{self.settings.max_background} commands run in the background already.",
                hint="Stop one with stop_command, or set commands.max_background.",
            )
        self._forget_oldest()
        name = f"c{next(self._numbers)}"
        environment = await asyncio.to_thread(self.environment)
        most = size_bytes(self.settings.output_limit)
        spec = CommandSpec(script, folder, environment.variables, limit, most)
        try:
            file = await asyncio.to_thread(self._outputs.create, name)
        except OSError as error:
            raise StoreError(f"The output of a command cannot be kept: {error}.") from error
        listed = ListedRun(name, command, CommandRun(spec, file, clock), owner, background)
        self._runs[name] = listed
        if background:
            self._tasks[name] = asyncio.create_task(listed.run.run(), name=f"command {name}")
        else:
            await listed.run.run(progress)
        return listed

    def get(self, name: str, owner: UUID | None) -> ListedRun:
        """Return a command that `owner` started, by its name. Raises NotFoundError."""
        found = self._runs.get(name)
        if found is None or found.owner != owner:
            own = [each.name for each in self._runs.values() if each.owner == owner]
            names = ", ".join(own) or "none"
            raise NotFoundError(
                f"No command is named {name}.", hint=f"The known commands are: {names}."
            )
        return found

    async def wait(self, listed: ListedRun, seconds: float, clock: Clock) -> None:
        """Wait until a command in the background has ended, but at most `seconds`."""
        task = self._tasks.get(listed.name)
        if task is None or task.done():
            return
        timer = asyncio.ensure_future(clock.sleep(seconds))
        try:
            await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()

    async def stop(self, listed: ListedRun) -> None:
        """Stop a command and wait until all its processes have ended."""
        listed.run.stop()
        task = self._tasks.get(listed.name)
        if task is not None:
            await asyncio.wait({task})

    def read(self, listed: ListedRun, start: int, length: int) -> OutputPart:
        """Read a part of the output. This method blocks. Raises StoreError."""
        try:
            return listed.run.file.read(start, length)
        except OSError as error:
            raise StoreError(f"The output of {listed.name} cannot be read: {error}.") from error

    async def close(self) -> None:
        """End all commands and remove their outputs."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await asyncio.to_thread(self._outputs.close)

    def _in_background(self) -> int:
        return sum(
            each.is_background and each.run.state is CommandState.RUNNING
            for each in self._runs.values()
        )

    def _forget_oldest(self) -> None:
        ended = [
            name for name, each in self._runs.items() if each.run.state is not CommandState.RUNNING
        ]
        for name in ended[: max(0, len(self._runs) - _MAX_KEPT)]:
            forgotten = self._runs.pop(name)
            self._tasks.pop(name, None)
            forgotten.run.file.path.unlink(missing_ok=True)
