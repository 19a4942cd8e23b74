"""The embedding that searches of a repository use, by its settings.

Loads nothing until it must: settings take longer to read than a search takes.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from treadle.app.plain_settings import may_be_set
from treadle.code.dense.embedder import own_embedding

_VARIABLE = "TREADLE_CONTEXT__EMBEDDER"


def embedding_for(root: Path) -> Callable[[], Path | None] | None:
    """Returns a function that returns the folder of the embedding; None if there is none.

    The function returns None where the settings say "none". It raises ConfigError for wrong
    settings.
    """
    match _plain_choice(root):
        case "none":
            return None
        case "auto" | "static":
            return own_embedding
    return cache(partial(_chosen, root))


def _plain_choice(root: Path) -> str | None:
    """The choice, where it is known without reading the settings."""
    variable = os.environ.get(_VARIABLE)
    if variable is not None:
        return variable
    return None if may_be_set(root, "embedder") else "auto"


def _chosen(root: Path) -> Path | None:
    from treadle.config.loader import load

    settings = load(root, os.environ, {}).settings
    return None if settings.context.embedder == "none" else own_embedding()
