"""Parses the output of tools into diagnostics with locations."""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from treadle.checks.diagnostics.go import GoReader
from treadle.checks.diagnostics.linters import ArrowReader, EslintReader, OneLineReader, RuffReader
from treadle.checks.diagnostics.node import NodeReader
from treadle.checks.diagnostics.python_tests import PytestReader
from treadle.checks.diagnostics.reader import Findings, Reader
from treadle.checks.diagnostics.rust import RustReader
from treadle.checks.model import Reading
from treadle.config.model import CheckParser

__all__ = ["OutputReader", "parser_for"]

_ALL: tuple[type[Reader], ...] = (
    PytestReader,
    RuffReader,
    RustReader,
    GoReader,
    NodeReader,
    EslintReader,
    ArrowReader,
    OneLineReader,
)

_LONGEST = 4_000
"""The maximum number of characters of a line that is parsed.

A longer line is parsed only if it begins with "{". It may be a JSON object, and these can be long.
"""

_READERS: dict[CheckParser, tuple[type[Reader], ...]] = {
    "auto": _ALL,
    "pytest": (PytestReader,),
    "ruff": (RuffReader, ArrowReader, OneLineReader),
    "mypy": (OneLineReader,),
    "cargo": (RustReader, ArrowReader, OneLineReader),
    "go": (GoReader,),
    "tsc": (OneLineReader,),
    "eslint": (EslintReader,),
    "node": (NodeReader,),
    "lines": (OneLineReader,),
    "none": (),
}

_PROGRAMS: dict[str, CheckParser] = {
    "pytest": "pytest", "py.test": "pytest", "ruff": "ruff", "mypy": "mypy", "dmypy": "mypy",
    "cargo": "cargo", "rustc": "cargo", "go": "go", "tsc": "tsc", "pyright": "lines",
    "eslint": "eslint", "vitest": "node", "jest": "node", "mocha": "node", "gcc": "lines",
    "clang": "lines", "flake8": "lines",
}  # fmt: skip


def parser_for(argv: Iterable[str]) -> CheckParser:
    """The parser for the output of a command.

    The first word of `argv` that is a known program selects the parser. The result is "auto" if
    there is no such word.
    """
    names = (PurePath(word).name for word in argv)
    return next((_PROGRAMS[name] for name in names if name in _PROGRAMS), "auto")


class OutputReader:
    """Parses the output of a check line by line.

    The number of stored diagnostics is limited, so that a large output does not need much memory.
    Paths in diagnostics are relative to `root`. `folder` is the folder in which the check runs.
    """

    def __init__(self, parser: CheckParser, root: Path, folder: Path) -> None:
        self._findings = Findings(root, folder)
        self._readers = [reader(self._findings) for reader in _READERS[parser]]

    def line(self, text: str) -> Sequence[str]:
        """Parse a line, and return the lines to show in its place.

        The line must have no terminal escapes.
        """
        if len(text) > _LONGEST and not text.startswith("{"):
            return (text,)
        shown: Sequence[str] | None = None
        for reader in self._readers:
            said = reader.line(text)
            shown = said if shown is None else shown
        return (text,) if shown is None else shown

    def reading(self) -> Reading:
        """Return the diagnostics and counts. Call this method once, after the last line."""
        for reader in self._readers:
            reader.end()
        return self._findings.reading()
