"""Data types for checks, their runs and their diagnostics."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from treadle.config.model import CheckParser
from treadle.processes.output import Output

CheckKind = Literal["test", "build", "lint", "types"]


@dataclass(frozen=True, slots=True)
class Check:
    """A command that checks a project.

    `argv` is the program and its arguments. It is run without a shell. `origin` is the file or
    folder in which the check was found, or "configuration". `timeout` is in seconds. `takes_paths`
    states whether a caller may add paths to the arguments.
    """

    name: str
    argv: tuple[str, ...]
    kind: CheckKind
    origin: str
    timeout: float
    parser: CheckParser = "auto"
    takes_paths: bool = False
    targets: tuple[str, ...] = ()
    """The paths that follow `argv` if the caller gives no paths."""

    def words(self, paths: Sequence[str] = ()) -> tuple[str, ...]:
        """The program and its arguments, then `paths`, or `targets` if `paths` is empty."""
        return (*self.argv, *(paths or self.targets))

    def command(self, paths: Sequence[str] = ()) -> str:
        """The command as a person would type it in a shell.

        Approval rules match this text, and screens show it.
        """
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
    `code` is the tool's name for the problem, such as a rule, an error number or the id of a test.
    """

    file: str
    line: int | None
    severity: Severity
    message: str
    column: int | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The content of an output that was parsed.

    `diagnostics` has only the first diagnostics, and `total` is the number of all. `counts` has the
    totals that the tool states, under its own names such as passed and failed.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    total: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)


class CheckStatus(StrEnum):
    """The outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ERROR = "error"
    """The program could not be started, or a signal ended it."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A finished run of a check. `exit_status` is None after a time-out or a signal.

    `reason` explains an outcome other than passed and failed. `scratch` states whether the check
    ran in a copy of the working tree.
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
