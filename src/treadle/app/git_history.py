"""Whether git history is read for an index, by the settings in force."""

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from treadle.app.plain_settings import may_be_set

_KEY = "git_history"
_VARIABLE = "TREADLE_CONTEXT__GIT_HISTORY"


def history_choice(root: Path) -> Callable[[], bool]:
    """Says whether history is read. Raises ConfigError for settings that are wrong."""
    if _VARIABLE not in os.environ and not may_be_set(root, _KEY):
        return _default
    return cache(partial(_chosen, root))


def _default() -> bool:
    return True


def _chosen(root: Path) -> bool:
    from treadle.config.loader import load

    return load(root, os.environ, {}).settings.context.git_history
