"""Opens the code index of a repository with the options in the settings.

`treadle search` only opens an index, and reading the settings would take longer than the search.
The module therefore imports few other modules. It reads the settings only if a configuration file
may contain an option of the index.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.code import CodeIndex
from treadle.code.dense import own_embedding
from treadle.inside import read_regular
from treadle.paths import cache_folder, user_config_dir

if TYPE_CHECKING:
    from treadle.config.model import ContextSettings

_EMBEDDER = "TREADLE_CONTEXT__EMBEDDER"
_GIT_HISTORY = "TREADLE_CONTEXT__GIT_HISTORY"
_MAX_BYTES = 1_000_000
"""The maximum size of a configuration file in bytes. The loader refuses larger files."""


def open_index(root: Path) -> CodeIndex:
    """Open the index of a repository without updating it. `refresh` updates it.

    Raises StoreError if the cache folder cannot be written.
    """
    return CodeIndex.open(
        root, cache_dir=cache_folder(), static=embedding_for(root), history=history_choice(root)
    )


def embedding_for(root: Path) -> Callable[[], Path | None] | None:
    """Return a function that returns the folder of the embedding model.

    If an environment variable switches the embedding off, the result is None. If the configuration
    files switch it off, the returned function returns None. That function raises ConfigError for
    invalid settings.
    """
    choice = os.environ.get(_EMBEDDER)
    if choice is None and not _may_be_set(root, "embedder"):
        choice = "auto"
    match choice:
        case "none":
            return None
        case "auto" | "static":
            return own_embedding
    return cache(partial(_chosen_embedding, root))


def history_choice(root: Path) -> Callable[[], bool]:
    """Return a function that states whether the index may read git history.

    The returned function raises ConfigError for invalid settings.
    """
    if _GIT_HISTORY not in os.environ and not _may_be_set(root, "git_history"):
        return lambda: True
    return cache(lambda: _settings(root).git_history)


def _chosen_embedding(root: Path) -> Path | None:
    return None if _settings(root).embedder == "none" else own_embedding()


def _settings(root: Path) -> "ContextSettings":
    from treadle.config.loader import load

    return load(root, os.environ, {}).settings.context


def _may_be_set(root: Path, key: str) -> bool:
    """Whether a configuration file that applies to `root` contains the text `key`."""
    files = (user_config_dir() / "config.toml", root / ".treadle" / "config.toml")
    return any(_may_contain(path, key.encode()) for path in files)


def _may_contain(path: Path, key: bytes) -> bool:
    try:
        data = read_regular(os.fspath(path), _MAX_BYTES + 1)
    except OSError:
        return False
    return key in data or len(data) > _MAX_BYTES
