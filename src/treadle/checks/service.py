"""The checks of one repository: found by name, run in the tree or in a copy with a proposal."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from treadle.checks.model import Check, CheckRun
from treadle.checks.running import Progress
from treadle.clock import Clock
from treadle.config.model import Settings

Preview = Callable[[str], Mapping[str, bytes | None]]
"""The files that a proposal, named by its id, results in, by path relative to the root; None
where a file is removed. Blocks. Raises TreadleError where there is no such proposal."""


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
        """`environment` is this process's own; a check gets it without what looks like a key.

        Without `preview` no proposal can be checked.
        """

    async def find(self) -> tuple[Check, ...]:
        """The checks that may be run, as the project's files tell now."""
        raise NotImplementedError

    async def named(self, name: str) -> Check:
        """The check of that name. Raises NotFoundError with the nearest names."""
        raise NotImplementedError

    async def run(
        self,
        check: Check,
        *,
        clock: Clock,
        progress: Progress,
        paths: Sequence[str] = (),
        proposal: str | None = None,
    ) -> CheckRun:
        """Run a check that was found here, as `running.run` does.

        With `proposal`, the id of one, it runs in a copy of the tree that has it applied.
        """
        raise NotImplementedError
