"""The names of everything that Treadle keeps in NATS.

All subjects of a project begin with `treadle.PROJECT.`. All its streams and buckets begin with
`treadle_PROJECT_`, because their names cannot contain a dot.
"""

import re
from dataclasses import dataclass

from treadle.database.address import DEFAULT_PROJECT, PROJECT_NAME

_PROJECT = re.compile(PROJECT_NAME)
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class ProjectNames:
    """The names of one project. Other modules build no names of their own."""

    project: str = DEFAULT_PROJECT

    def __post_init__(self) -> None:
        if not _PROJECT.fullmatch(self.project):
            raise ValueError(f"{self.project!r} is not the name of a project")

    def subject(self, *tokens: str) -> str:
        """Return the subject `treadle.PROJECT.TOKEN.TOKEN…`.

        A token consists of letters, digits, `_` and `-`. The tokens `*` and `>` are wildcards.
        """
        for token in tokens:
            if token not in ("*", ">") and not _TOKEN.fullmatch(token):
                raise ValueError(f"{token!r} cannot be part of a subject")
        return ".".join(("treadle", self.project, *tokens))

    def stream(self, name: str) -> str:
        """Return the name of a stream or of a key-value bucket."""
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of a stream")
        return f"treadle_{self.project}_{name}"
