"""The base class of all parsers, the collection of diagnostics, and functions for lines of JSON."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from treadle.checks.model import Diagnostic, Reading, Severity

MOST = 200
"""The maximum number of stored diagnostics of each severity.

Further diagnostics are only counted.
"""

REMEMBERED = 20_000
"""The maximum number of diagnostics that are remembered to recognize repetitions.

A repeated diagnostic, for example in a summary, is not counted again.
"""

MESSAGE_CHARACTERS = 400

_NOT_OURS = frozenset({"node_modules", "site-packages", ".venv", "venv"})


class Findings:
    """Collects the diagnostics and totals in one output, in bounded memory."""

    def __init__(self, root: Path, folder: Path | None = None) -> None:
        """Create an empty collection. Paths in diagnostics are relative to `root`.

        `folder` is the folder in which the tool ran. The default is `root`.
        """
        self._root = os.path.realpath(root)
        self.folder = folder or root
        self._kept: dict[Severity, list[Diagnostic]] = {severity: [] for severity in Severity}
        self._numbers = dict.fromkeys(Severity, 0)
        self._seen: set[tuple[str, int | None, str, str | None]] = set()
        self.counts: dict[str, int] = {}

    def add(
        self,
        file: str,
        line: int | str | None,
        message: str,
        *,
        severity: Severity = Severity.ERROR,
        column: int | str | None = None,
        code: str | None = None,
    ) -> None:
        """Add a diagnostic.

        If the same message was added before for the same line of the same file, nothing changes.
        """
        message = " ".join(message.split())
        if len(message) > MESSAGE_CHARACTERS:
            message = f"{message[:MESSAGE_CHARACTERS]}…"
        location = self.location(file)
        number = int(line) if line is not None else None
        if (known := (location, number, message, code)) in self._seen:
            return
        if len(self._seen) < REMEMBERED:
            self._seen.add(known)
        self._numbers[severity] += 1
        if len(self._kept[severity]) < MOST:
            at = int(column) if column is not None else None
            self._kept[severity].append(
                Diagnostic(location, number, severity, message, column=at, code=code)
            )

    def count(self, name: str, number: int = 1) -> None:
        """Add `number` to the tool's total `name`."""
        if number:
            self.counts[name] = self.counts.get(name, 0) + number

    def location(self, file: str) -> str:
        """The path of `file` in diagnostics.

        For a file below the root, it is relative to the root.
        """
        if file.startswith("file://"):
            file = unquote(file.removeprefix("file://"))
        if not file.startswith("/"):
            return os.path.normpath(file)
        inside = os.path.relpath(file, self._root)
        return file if inside.startswith("..") else inside

    def is_ours(self, file: str) -> bool:
        """Whether a file belongs to the project, not to its dependencies."""
        location = PurePosixPath(self.location(file))
        return (
            not location.is_absolute()
            and location.parts[:1] != ("..",)
            and _NOT_OURS.isdisjoint(location.parts)
        )

    def reading(self) -> Reading:
        """The collected diagnostics and totals.

        Errors come first, then warnings, then notes. Diagnostics of one severity are in the order
        of the output.
        """
        found = {f"{severity}s": n for severity, n in self._numbers.items() if n}
        return Reading(
            tuple(each for severity in Severity for each in self._kept[severity]),
            sum(self._numbers.values()),
            self.counts or found,
        )


class Reader(ABC):
    """Parses the output of one tool, line by line."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    @abstractmethod
    def line(self, text: str) -> Sequence[str] | None:
        """Parse a line. Returns the lines to show instead, or None to show the line itself."""

    def end(self) -> None:  # noqa: B027  (most parsers do not need it)
        """Add the diagnostics that are incomplete when the output ends."""


def severity_of(word: str) -> Severity:
    """The severity for which a tool uses the name `word`. An unknown name means an error."""
    word = word.lower()
    if "warn" in word:
        return Severity.WARNING
    return (
        Severity.NOTE
        if word.startswith(("note", "info", "help", "style", "hint"))
        else Severity.ERROR
    )


Object = dict[str, Any]


def object_in(text: str) -> Object | None:
    """The JSON object in a line, or None if the line is not an object."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_in(value: Object, name: str) -> str:
    """The text of the member `name`. It is empty if the member is missing or not a text."""
    member = value.get(name)
    return member if isinstance(member, str) else ""


def integer(value: Object, name: str) -> int | None:
    """The integer of the member `name`. It is None if the member is missing or not an integer."""
    member = value.get(name)
    return member if isinstance(member, int) and not isinstance(member, bool) else None


def object_at(value: Object, name: str) -> Object:
    """The object of the member `name`. It is empty if the member is missing or not an object."""
    member = value.get(name)
    return member if isinstance(member, dict) else {}


def objects_at(value: Object, name: str) -> list[Object]:
    """The objects in the list of the member `name`. The result is empty if there is no list."""
    member = value.get(name)
    return [each for each in member if isinstance(each, dict)] if isinstance(member, list) else []
