"""Runs the checks of a repository for a person. The person must allow programs inside it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from treadle.app.stores import Stores
from treadle.checks.model import Check, CheckRun
from treadle.checks.runner import Progress, TakeLine
from treadle.checks.service import Checks, Preview
from treadle.clock import Clock
from treadle.config.model import Settings
from treadle.errors import UsageError
from treadle.tools.approvals.grants import Grant, GrantStore
from treadle.tools.approvals.question import Program


class CheckRuns:
    """The checks of the repository at `root`. A person starts them, so no approval rule applies.

    A program inside the repository runs only after the person has allowed it.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        environment: Mapping[str, str],
        clock: Clock,
        stores: Stores,
        *,
        preview: Preview | None = None,
    ) -> None:
        """`preview` returns the files of a proposal. Without it, no proposal can be checked."""
        self._root = root.resolve()
        self._clock = clock
        self._checks = Checks(root, settings, environment, preview=preview)
        self._grants = GrantStore(stores.approvals)

    async def find(self) -> tuple[Check, ...]:
        """The checks that the files of the repository define."""
        return await self._checks.find()

    async def get(self, name: str) -> Check:
        """Return the check `name`.

        Raises NotFoundError with similar names if there is no such check.
        """
        return await self._checks.get(name)

    async def program_to_allow(self, check: Check) -> Program | None:
        """Return the program inside the repository that the person still has to allow, or None.

        Raises StoreError.
        """
        return await asyncio.to_thread(self._program_to_allow, check)

    def _program_to_allow(self, check: Check) -> Program | None:
        program = self._checks.program(check)
        if program is None or not program.inside:
            return None
        granted = {each.grant for each in self._grants.list_grants(self._root)}
        return None if _grant(check, program) in granted else program

    async def always_allow(self, check: Check, program: Program) -> None:
        """Allow a program for this check until the program changes or the permission is revoked."""
        grants, now = [_grant(check, program)], self._clock.now_us()
        await asyncio.to_thread(self._grants.remember, self._root, grants, now)

    async def run(
        self,
        check: Check,
        *,
        progress: Progress | None = None,
        take_line: TakeLine | None = None,
        proposal: str | None = None,
        allowed: Program | None = None,
    ) -> CheckRun:
        """Run a check. `allowed` is the program that the person allowed for this run.

        `take_line` receives each line of the output. With `proposal`, the check runs in a copy of
        the repository in which the proposal is applied. Raises UsageError if the person has not
        allowed the program.
        """
        missing = await self.program_to_allow(check)
        if missing is not None and missing != allowed:
            raise UsageError(
                f"The check {check.name} did not run: you did not allow {missing}.",
                hint="Inspect that program, then run the check again and allow it.",
            )
        program = await asyncio.to_thread(self._checks.program, check)
        return await self._checks.run(
            check,
            clock=self._clock,
            progress=progress or _ignore,
            take_line=take_line,
            proposal=proposal,
            allowed=program,
        )


async def _ignore(_: str) -> None:
    """Ignore a progress message, since the caller gave no function for it."""


def _grant(check: Check, program: Program) -> Grant:
    return Grant.of("run_check", "", check.command(), program)
