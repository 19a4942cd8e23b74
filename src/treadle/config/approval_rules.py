"""The text form of the rules in `[approvals]`: `TOOL`, `TOOL path=GLOB` or `TOOL command=GLOB`."""

import re
from dataclasses import dataclass
from typing import Self

_RULE = re.compile(r"(?P<tool>[A-Za-z0-9_*?\[\]-]+)(?:\s+(?P<about>path|command)=(?P<pattern>.+))?")


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """An approval rule, which covers some tool calls.

    `tool` and `command` are shell globs that must match the whole text. `path` is a gitignore
    pattern for paths relative to the root. A rule with neither `path` nor `command` covers every
    call of its tools.
    """

    tool: str
    path: str | None = None
    command: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text of a rule. Raises ValueError if the text is not a rule."""
        found = _RULE.fullmatch(text.strip())
        if found is None:
            raise ValueError(
                "should be TOOL, TOOL path=GLOB or TOOL command=GLOB, such as "
                '"read_file path=secrets/**"'
            )
        about, pattern = found["about"], found["pattern"]
        if about == "path" and pattern.startswith("!"):
            raise ValueError("should have a pattern that does not begin with !")
        return cls(
            found["tool"],
            path=pattern if about == "path" else None,
            command=pattern if about == "command" else None,
        )

    def __str__(self) -> str:
        if self.path is not None:
            return f"{self.tool} path={self.path}"
        return self.tool if self.command is None else f"{self.tool} command={self.command}"
