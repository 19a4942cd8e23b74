"""The definition of a command, and the options that several commands share."""

import argparse
import os
from collections.abc import Callable
from enum import Enum, StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

from treadle.errors import UsageError
from treadle.paths import find_root, holds_home

_Member = TypeVar("_Member", bound=StrEnum)


class Command(NamedTuple):
    """A command of the command line.

    `configure` adds its options to the parser. `run` executes it and returns the exit status.
    """

    description: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class RepositoryUse(Enum):
    """How a command uses the repository. Each value is the help text of the option `--repo`."""

    ROOT = "the repository (default: the git repository around this folder)"
    RECORDS = "only the records of this repository (default: all records)"
    SETTINGS = "the repository whose settings apply (default: the one around this folder)"
    NONE = ""
    """The command does not use the repository, and has no option `--repo`."""


def set_repository_use(parser: argparse.ArgumentParser, use: RepositoryUse) -> None:
    """Declare how the command of this parser uses the repository. The default is `ROOT`."""
    parser.set_defaults(repository_use=use)


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add `--repo`, `--json` and `--debug` to a command, or to each of its sub-commands.

    A command that does not use the repository does not get `--repo`.
    """
    nested = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]  # noqa: SLF001  (argparse has no public way)
    for action in nested:
        for child in action.choices.values():
            add_common_options(child)
    if nested:
        return
    group = parser.add_argument_group("common options")
    use: RepositoryUse = parser.get_default("repository_use") or RepositoryUse.ROOT
    if use is not RepositoryUse.NONE:
        group.add_argument("--repo", metavar="PATH", type=Path, help=use.value)
    group.add_argument(
        "--json", action="store_true", help="machine-readable output on standard output"
    )
    group.add_argument("--debug", action="store_true", help="show tracebacks")


def repository(options: argparse.Namespace, option: str = "--repo") -> Path:
    """Return the root of the repository. Raises UsageError if there is no usable folder.

    `option` is the name that the errors use for the option with the folder.
    """
    given: Path | None = options.repo
    if given is None:
        root = find_root(Path.cwd())
        if holds_home(root):
            raise UsageError(
                f"{root} is a home directory or a filesystem root, not a repository.",
                hint=f"Change to a repository, or pass one with {option} PATH.",
            )
        return root
    if not given.exists():
        raise UsageError(f"{option}: {given} does not exist.", hint="Pass the path of a folder.")
    if not given.is_dir():
        raise UsageError(f"{option}: {given} is not a folder.", hint="Pass the path of a folder.")
    return given.resolve()


MOST = 1_000_000_000
"""The largest number that a count option accepts. SQLite can store it."""


def member_of(kind: type[_Member]) -> Callable[[str], _Member]:
    """Return a function that parses a member of an enum, as the `type` of an argparse option."""

    def read(text: str) -> _Member:
        try:
            return kind(text)
        except ValueError:
            names = ", ".join(kind)
            raise argparse.ArgumentTypeError(f"{text[:20]!r} is not one of {names}") from None

    return read


def positive(text: str) -> int:
    """Parse a whole number from 1 to `MOST`, as the `type` of an argparse option."""
    value = int(text) if text.isdecimal() and len(text) <= len(str(MOST)) else 0
    if not 1 <= value <= MOST:
        limits = f"from 1 to {MOST:,}"
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a whole number {limits}")
    return value


def age(text: str) -> int:
    """Parse an age such as `30d` to microseconds, as the `type` of an argparse option."""
    from treadle.config.quantities import age_us

    try:
        return age_us(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} {error}") from error


def allow_program(parser: argparse.ArgumentParser) -> None:
    """Add `--yes`, with which the user consents to run a program inside the repository."""
    parser.add_argument(
        "--yes", action="store_true", help="run a program inside the repository without asking"
    )


def terminal_width() -> int | None:
    """Return the number of columns of the terminal, or None if the output is not a terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(1).columns or None
    except OSError:
        return None
