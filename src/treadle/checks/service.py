"""Finds the checks of a repository, and runs them in its tree, or in a copy with a proposal."""

import asyncio
import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from treadle.checks.discovery import find_checks
from treadle.checks.environment import in_copy, program_of
from treadle.checks.model import Check, CheckRun
from treadle.checks.runner import Progress, TakeLine, run
from treadle.checks.scratch import scratch_copy
from treadle.clock import Clock
from treadle.config.model import Settings
from treadle.errors import NotFoundError, TreadleError, UsageError
from treadle.paths import resolve_inside
from treadle.processes.environment import Environment, program_environment
from treadle.processes.running import find_program
from treadle.protected_files import why_protected
from treadle.tools.approvals.question import Program

Preview = Callable[[str], Mapping[str, bytes | None]]
"""A function that returns the files that a proposal changes, as they are after the change.

Its argument is the id of the proposal. The keys of the result are paths relative to the root, and
the values are contents. The content of a removed file is None. The function blocks. It raises
TreadleError for an unknown proposal.
"""


class Checks:
    """Finds and runs the checks of the repository at `root`."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        environment: Mapping[str, str],
        *,
        preview: Preview | None = None,
    ) -> None:
        """Create the object. Checks get the variables in `environment`, without secrets.

        Without `preview`, this object cannot check a proposal.
        """
        self._root = Path(os.path.realpath(root))
        self._settings = settings.checks
        self._environment = environment
        self._secret = frozenset(
            name for each in settings.providers.values() if (name := each.api_key_env)
        )
        self._preview = preview

    async def find(self) -> tuple[Check, ...]:
        """Find the checks that the settings and the current files of the project define."""
        return await asyncio.to_thread(find_checks, self._root, self._settings)

    async def get(self, name: str) -> Check:
        """Find the check with the name `name`.

        If there is none, raises NotFoundError with similar names.
        """
        checks = {check.name: check for check in await self.find()}
        if name in checks:
            return checks[name]
        near = difflib.get_close_matches(name, checks, n=3, cutoff=0.4)
        hint = (
            f"The nearest: {', '.join(near)}."
            if near
            else f"There are: {', '.join(checks)}."
            if checks
            else "The repository has no checks; set them in [checks.commands] of the configuration."
        )
        raise NotFoundError(f"There is no check {name!r}.", hint=hint)

    def is_installed(self, check: Check) -> bool:
        """Whether the program of a check is installed. This method blocks."""
        given = program_environment(self._environment, self._root)
        return find_program(check.argv[0], self._root, given.variables) is not None

    def program(self, check: Check) -> Program | None:
        """The program that a check starts, or None if it is not installed. This method blocks."""
        try:
            return program_of(check.argv[0], self._root, self._check_environment().variables)
        except OSError:  # the program is unreadable; starting it fails with the reason
            return None

    def run_by(self, check: Check, proposal: str) -> tuple[tuple[str, str], ...]:
        """The files that a proposal changes and that determine which code the check runs.

        Each has a reason. They are protected files, and files that the command names. This method
        blocks. It raises TreadleError for an unknown proposal.
        """
        named = {os.path.normpath(word) for word in check.argv}
        found = []
        for path in sorted(self._files(proposal)):
            reason = why_protected(path)
            if reason is None and path in named:
                reason = f"the command runs {path}"
            if reason is not None:
                found.append((path, f"the proposal changes {path}, and {reason}"))
        return tuple(found)

    def _check_environment(self) -> Environment:
        return program_environment(
            self._environment, self._root, secret=self._secret, keep=self._settings.keep_keys
        )

    def paths(self, check: Check, paths: Sequence[str]) -> tuple[str, ...]:
        """Convert `paths` to the arguments of a check's command, relative to the root.

        A path may be followed by `::` and the name of a test. This method blocks. It raises
        UsageError for a check that takes no paths, and for a path that the program would read as an
        option. It raises PathRefusedError for a path that leads out of the root.
        """
        if paths and not check.takes_paths:
            raise UsageError(
                f"The check {check.name} takes no paths.", hint="Run it without paths."
            )
        return tuple(map(self._path, paths))

    async def run(
        self,
        check: Check,
        *,
        clock: Clock,
        progress: Progress,
        take_line: TakeLine | None = None,
        paths: Sequence[str] = (),
        proposal: str | None = None,
        allowed: Program | None = None,
    ) -> CheckRun:
        """Run a check of this repository, and return the run with the parsed output.

        `paths` is a result of the method `paths`. If `proposal` is the id of a proposal, the check
        runs in a copy of the tree to which the proposal was applied. `allowed` is the program that
        the user allowed. If the check would start another program, this method raises TreadleError.
        """
        given = await asyncio.to_thread(self._check_environment)
        if allowed is not None:
            await asyncio.to_thread(self._require_same, check, allowed)
        if proposal is None:
            await asyncio.to_thread(_require, self._root, paths)
            return await run(
                check,
                self._root,
                clock=clock,
                environment=given.variables,
                progress=progress,
                take_line=take_line,
                paths=paths,
            )
        files = await asyncio.to_thread(self._files, proposal)
        async with scratch_copy(self._root, files) as tree:
            await asyncio.to_thread(_require, tree, paths)
            variables = await asyncio.to_thread(in_copy, given.variables, self._root, tree)
            return await run(
                check,
                tree,
                clock=clock,
                environment=variables,
                progress=progress,
                take_line=take_line,
                paths=paths,
                original=self._root,
            )

    def _require_same(self, check: Check, allowed: Program) -> None:
        """Raise TreadleError if the check starts a program other than the allowed one."""
        if self.program(check) != allowed:
            raise TreadleError(
                f"{check.argv[0]} did not run: the program changed after it was allowed.",
                hint="Find out what changed it, then run the check again.",
            )

    def _files(self, proposal: str) -> Mapping[str, bytes | None]:
        if self._preview is None:
            raise TreadleError(
                "Proposals cannot be checked here.", hint="Run the check without a proposal."
            )
        return self._preview(proposal)

    def _path(self, path: str) -> str:
        file, separator, test = path.partition("::")
        if not file or file.startswith("-"):
            raise UsageError(
                f"{path!r} is not a path to check.", hint="Give a file or folder inside the root."
            )
        inside = resolve_inside(self._root, file).relative_to(self._root).as_posix()
        shown = f"./{inside}" if inside.startswith("-") else inside
        return f"{shown}{separator}{test}"


def _require(tree: Path, paths: Sequence[str]) -> None:
    for path in paths:
        file = path.partition("::")[0]
        if not (tree / PurePosixPath(file)).exists():
            raise NotFoundError(
                f"There is no file or folder {file!r}.",
                hint="List the folder to see its files.",
            )
