"""Whether settings have to be read at all: that takes longer than a search takes."""

import os
from pathlib import Path

from treadle.inside import read_regular
from treadle.paths import user_config_dir

_MOST_BYTES = 1_000_000
"""Of a configuration file; a larger one is refused where settings are read."""


def may_be_set(root: Path, key: str) -> bool:
    """Whether a configuration file in force for `root` may set `key`, by its text alone."""
    files = (user_config_dir() / "config.toml", root / ".treadle" / "config.toml")
    return any(_may_say(path, key.encode()) for path in files)


def _may_say(path: Path, key: bytes) -> bool:
    try:
        data = read_regular(os.fspath(path), _MOST_BYTES + 1)
    except OSError:
        return False
    return key in data or len(data) > _MOST_BYTES
