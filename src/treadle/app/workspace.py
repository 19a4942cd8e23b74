"""What belongs to one repository: its index and the tools for its code.

Imports stay light: `treadle search` opens an index and nothing else.
"""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.app.embedding import embedding_for
from treadle.app.git_history import history_choice
from treadle.code import CodeIndex
from treadle.paths import cache_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.config.model import Settings
    from treadle.edits.service import Edits
    from treadle.tools.registry import Registry


def open_index(root: Path) -> CodeIndex:
    """The index of a repository, as it was last left; `refresh` brings it up to date.

    Raises StoreError when the cache folder cannot be written.
    """
    return CodeIndex.open(
        root, cache_dir=cache_folder(), static=embedding_for(root), history=history_choice(root)
    )


def code_registry(
    root: Path, index: CodeIndex, edits: "Edits | None", settings: "Settings"
) -> "Registry":
    """Every tool that reads or changes the repository.

    Without `edits`, where proposals cannot be kept, there are none that change files.
    """
    from treadle.checks.service import Checks
    from treadle.toolbox.checks.run_check import RunCheck
    from treadle.toolbox.code import code_tools
    from treadle.toolbox.edits import edit_tools
    from treadle.tools.registry import Registry

    changing = edit_tools(edits, index, settings.edits) if edits is not None else []
    preview = partial(proposed, edits) if edits is not None else None
    checks = Checks(root, settings, os.environ, preview=preview)
    return Registry([*code_tools(root, index), *changing, RunCheck(checks)])


def proposed(edits: "Edits", reference: str) -> "Mapping[str, bytes | None]":
    """The files that a proposal, named by its id or the beginning of one, results in."""
    return edits.preview(edits.find(reference).id)


def listed_registry(root: Path) -> "Registry":
    """All tools to be listed, not to be called. Raises StoreError and ConfigError."""
    from treadle.app.analyst_tools import listed_tools
    from treadle.app.editing import open_edits
    from treadle.config.loader import load

    settings = load(root, os.environ, {}).settings
    with open_index(root) as index, open_edits(root) as edits:
        return code_registry(root, index, edits, settings).with_tools(listed_tools(settings))
