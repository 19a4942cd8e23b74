"""Loads the instruction files of the assistant, within the budget of the settings."""

import asyncio
import os
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.errors import UsageError
from treadle.events.types import InstructionFile
from treadle.instructions.model import Instructions

if TYPE_CHECKING:
    from treadle.config.model import Settings
    from treadle.session.instructions import ReadInstructions

READER = "read_file"
"""The tool whose approval rules decide which files may be instructions."""
WINDOW_DIVISOR = 8
"""The context window, divided by this number, limits the tokens of the instructions."""


def instruction_reader(
    root: Path | None,
    settings: "Settings",
    context_window: int,
    *,
    open_to: Callable[[str], bool],
) -> "ReadInstructions | None":
    """Return a function that loads instructions, or None if the settings switch them off.

    `root` is None if there is no repository. A conversation gets at most twice the budget, so that
    instructions of nested folders still fit when the root has used the budget.
    """
    if not settings.instructions.enabled:
        return None
    budget = min(settings.instructions.tokens, context_window // WINDOW_DIVISOR)

    async def read(
        paths: AbstractSet[str], known: AbstractSet[tuple[str, str]], spent: int
    ) -> Instructions:
        from treadle.instructions.loading import load_instructions

        load = partial(
            load_instructions,
            root,
            settings.folder,
            max(0, min(budget, 2 * budget - spent)),
            files=paths,
            known=known,
            open_to=open_to,
        )
        return await asyncio.to_thread(load)

    return read


@dataclass(frozen=True, slots=True)
class ListedInstructions:
    """The instruction files of a prompt for a model with a large context window.

    `tokens` is the sum over `files`, and `budget` the limit for this sum.
    """

    enabled: bool
    files: tuple[InstructionFile, ...]
    tokens: int
    budget: int


def listed_instructions(root: Path, path: str | None) -> ListedInstructions:
    """Load the instructions for `root`, or for the file or folder at `path`, to list them.

    Reads files. Raises ConfigError, and UsageError for a path outside of `root`.
    """
    from treadle.config.loader import load
    from treadle.instructions.loading import load_instructions
    from treadle.paths import resolve_inside
    from treadle.session.instructions import reported_files
    from treadle.tools.approvals.rules import Rules

    settings = load(root, os.environ, {}).settings
    if not settings.instructions.enabled:
        return ListedInstructions(enabled=False, files=(), tokens=0, budget=0)
    named = []
    if path is not None:
        below = resolve_inside(root, path)
        if not below.exists():
            raise UsageError(
                f"There is no file or folder {path!r}.", hint="Give a path relative to the root."
            )
        named = [below.relative_to(os.path.realpath(root)).as_posix()]
    loaded = load_instructions(
        root,
        settings.folder,
        settings.instructions.tokens,
        files=named,
        open_to=partial(Rules(settings.approvals).open_to, READER),
    )
    return ListedInstructions(
        enabled=True, files=reported_files(loaded), tokens=loaded.tokens, budget=loaded.budget
    )
