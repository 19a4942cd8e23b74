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
    """A command that may be run to learn how a project is.

    `argv` is the program and its arguments, which no shell reads. `origin` says where it is from:
    a file of the project, or the configuration. `timeout` is in seconds.
    """

    name: str
    argv: tuple[str, ...]
    kind: CheckKind
    origin: str
    timeout: float
    parser: CheckParser = "auto"
    takes_paths: bool = False
    targets: tuple[str, ...] = ()
    """What it is about where no paths are given."""

    def words(self, paths: Sequence[str] = ()) -> tuple[str, ...]:
        """The program and all its arguments."""
        return (*self.argv, *(paths or self.targets))

    def command(self, paths: Sequence[str] = ()) -> str:
        """The command as a person would type it, for rules of approval and for showing."""
        return shlex.join(self.words(paths))


class Severity(StrEnum):
    """How much a diagnostic matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What a tool says about a place. Lines and columns count from 1, None where none is told.

    `file` is relative to the root, POSIX; what lies outside keeps its absolute path. `code` is the
    tool's own name for it: a rule, an error number, or the id of a test.
    """

    file: str
    line: int | None
    severity: Severity
    message: str
    column: int | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read out of an output: the first diagnostics, how many there were, and counts.

    `counts` are the tool's own totals by its own names, such as passed and failed.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    total: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """The beginning and the end of an output, in lines without colours and line ends.

    `lines` counts all that was for people to read. Where lines between the two are gone, `head`
    holds the first; where none are, `tail` holds all.
    """

    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    lines: int = 0


class CheckStatus(StrEnum):
    """How a run ended."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ERROR = "error"
    """The program could not be started, or was ended by a signal that was not ours."""


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A check that ran. `exit_status` is None where there is none: a time-out, a signal.

    `withheld` are the names of the environment variables that the program did not get. `scratch`
    says that it ran in a copy.
    """

    check: Check
    command: str
    status: CheckStatus
    exit_status: int | None
    seconds: float
    reading: Reading
    output: Output
    reason: str | None = None
    withheld: tuple[str, ...] = ()
    scratch: bool = False
