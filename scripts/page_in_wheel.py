"""Warns if a wheel is built without the page (a hook of hatchling)."""

from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[BuilderConfig]):
    """Looks for the page before a wheel is built. An editable install does not need it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (theirs)
        """Warn if it is missing."""
        if version == "editable":
            return
        if not Path(self.root, "src/treadle/server/page/index.html").is_file():
            self.app.display_warning(
                "This wheel does not hold the page: `treadle serve` will show none. "
                "Build both with `make wheel`."
            )
