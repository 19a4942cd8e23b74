"""Checks, their runs and diagnostics."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from treadle.config.model import CheckParser

CheckKind = Literal["test", "build", "lint", "types"]


@dataclass(frozen=True, slots=True)
class Check:
    """A command that checks a project.

    `argv` is the program and its arguments; no shell reads them. `origin` is the file that defines
    it, or the configuration. `timeout` is in seconds.
    """

    name: str
    argv: tuple[str, ...]
    kind: CheckKind
    origin: str
    timeout: float
    parser: CheckParser = "auto"
    takes_paths: bool = False
    targets: tuple[str, ...] = ()
    """The default paths."""

    def words(self, paths: Sequence[str] = ()) -> tuple[str, ...]:
        """The program and all its arguments."""
        return (*self.argv, *(paths or self.targets))

    def command(self, paths: Sequence[str] = ()) -> str:
        """The command as a person would type it, for approval rules and for display."""
        return shlex.join(self.words(paths))


class Severity(StrEnum):
    """The severity of a diagnostic."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message of a tool with its location. Lines and columns count from 1; None if unknown.

    `file` is relative to the root, POSIX; a file outside has an absolute path. `code` is the tool's
    own name of the problem: a rule, an error number, or the id of a test.
    """

    file: str
    line: int | None
    severity: Severity
    message: str
    column: int | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The parsed output: the first diagnostics, their number, and counts.

    `counts` are the tool's own totals by its own names, such as passed and failed.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    total: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """The beginning and the end of an output, in lines without colours and line ends.

    `lines` counts all lines for people. If lines in the middle were dropped, `head` contains the
    first ones; otherwise `tail` contains all.
    """

    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    lines: int = 0


class CheckStatus(StrEnum):
    """The outcome of a run."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ERROR = "error"
    """The program could not be started, or another process ended it by a signal."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A finished run. `exit_status` is None after a time-out or a signal.

    `scratch` states that it ran in a copy.
    """

    check: Check
    command: str
    status: CheckStatus
    exit_status: int | None
    seconds: float
    reading: Reading
    output: Output
    reason: str | None = None
    scratch: bool = False
