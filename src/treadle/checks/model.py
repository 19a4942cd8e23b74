"""Data types for checks, their runs and their diagnostics."""

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

    `argv` is the program and its arguments, which do not pass through a shell. `origin` is the file
    that defines it, or the configuration. `timeout` is in seconds.
    """

    name: str
    argv: tuple[str, ...]
    kind: CheckKind
    origin: str
    timeout: float
    parser: CheckParser = "auto"
    takes_paths: bool = False
    targets: tuple[str, ...] = ()
    """The paths that the command gets if the caller gives none."""

    def words(self, paths: Sequence[str] = ()) -> tuple[str, ...]:
        """The program and all its arguments."""
        return (*self.argv, *(paths or self.targets))

    def command(self, paths: Sequence[str] = ()) -> str:
        """The command as a person types it. Approval rules and screens use this text."""
        return shlex.join(self.words(paths))


class Severity(StrEnum):
    """The severity of a diagnostic."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message of a tool with its location.

    Lines and columns count from 1, and are None if unknown.

    `file` is a POSIX path relative to the root. A file outside the root has an absolute path.
    `code` is the tool's own name of the problem: a rule, an error number, or the id of a test.
    """

    file: str
    line: int | None
    severity: Severity
    message: str
    column: int | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The parsed output: the first diagnostics, the number of all diagnostics, and counts.

    `counts` has the tool's totals under the tool's names, such as passed and failed.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    total: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """The first and last lines of an output, without colours and line ends.

    `lines` is the number of all shown lines. If lines in the middle were dropped, `head` has the
    first lines and `tail` the last. Otherwise `tail` has all lines.
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
    """The program could not be started, or a signal of another process ended it."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A finished run of a check. `exit_status` is None after a time-out or a signal.

    `scratch` states that the check ran in a copy of the working tree.
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
