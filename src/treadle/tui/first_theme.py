"""Finds the theme of the first paint.

The settings are loaded after the first paint, because loading them takes longer than starting the
screen. If the first paint used another theme, the screen would flash.
"""

import tomllib
from collections.abc import Mapping

from treadle.paths import user_config_dir
from treadle.tui.themes import THEMES

DEFAULT = "dark"


def first_theme(env: Mapping[str, str]) -> str:
    """Return the name of the theme in the environment or in the user's configuration file.

    A value that is not a theme is ignored here. It is reported when the settings are loaded.
    """
    name = env.get("TREADLE_TERMINAL__THEME") or _configured()
    return name if isinstance(name, str) and name in THEMES else DEFAULT


def _configured() -> object:
    try:
        with (user_config_dir() / "config.toml").open("rb") as file:
            terminal = tomllib.load(file).get("terminal")
    except (OSError, ValueError):
        return None
    return terminal.get("theme") if isinstance(terminal, dict) else None
