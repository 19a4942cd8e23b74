"""The exceptions of Treadle.

A message states what failed, with the value. A hint states what to do next.
"""

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit status of the command line. The numbers must not change."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    PROVIDER = 4
    CANCELLED = 130


class TreadleError(Exception):
    """The base class of all errors that users see.

    `message` is a sentence that states what failed, with the value. `hint` is a sentence that
    states what to do next. The hint may be None. Neither text ever contains an API key.
    """

    exit_status = ExitStatus.FAILED

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class UsageError(TreadleError):
    """The call itself is wrong: an unknown option, a path that does not exist, an invalid value."""

    exit_status = ExitStatus.USAGE


class OutputExistsError(UsageError):
    """The output file already exists. The command refuses to overwrite it."""

    def __init__(self, path: object) -> None:
        super().__init__(
            f"{path} already exists.", hint="Choose another file, or remove the existing one."
        )


class ConfigError(UsageError):
    """The configuration cannot be read or has an invalid value."""


class PathRefusedError(TreadleError):
    """A path leads out of the root, or to a location that is never read or written."""

    exit_status = ExitStatus.REFUSED


class NotFoundError(TreadleError):
    """A named thing (file, item, trace, session, tool) does not exist."""


class StoreError(TreadleError):
    """A store on disk cannot be opened, read or written."""
