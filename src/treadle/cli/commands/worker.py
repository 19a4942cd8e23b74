"""The command `treadle worker`: runs tool calls of servers in the repositories of this machine."""

import argparse
import asyncio
from pathlib import Path

from treadle.app.worker import MAX_CALLS, WorkerOptions, run_worker
from treadle.cli.command import (
    Command,
    RepositoryUse,
    positive,
    repository,
    set_repository_use,
)
from treadle.cli.output import print_json, report_line
from treadle.database.address import DEFAULT_PROJECT


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the repositories and the limits to the parser."""
    set_repository_use(parser, RepositoryUse.NONE)
    parser.add_argument(
        "--repos",
        metavar="DIR",
        nargs="+",
        type=Path,
        help="the repositories to offer (default: the git repository around this folder)",
    )
    parser.add_argument(
        "--calls",
        metavar="N",
        type=positive,
        default=MAX_CALLS,
        help="the maximum number of calls that run at once (default: %(default)s)",
    )
    parser.add_argument(
        "--project",
        metavar="NAME",
        default=DEFAULT_PROJECT,
        help="the project whose servers may send calls (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Run calls until a signal stops the worker, and return the exit status."""
    given: list[Path | None] = options.repos or [None]
    roots = [repository(argparse.Namespace(repo=each), "--repos") for each in given]

    def ready(name: str) -> None:
        if options.json:
            print_json({"type": "ready", "worker": name, "repositories": list(map(str, roots))})
        else:
            report_line(f"The worker {name} waits for calls (Ctrl-C stops it).")

    asyncio.run(
        run_worker(
            WorkerOptions(
                roots, report_line, ready, project=options.project, max_calls=options.calls
            )
        )
    )
    return 0


COMMAND = Command(
    "Run tool calls of `treadle serve` in the repositories of this machine. Servers and workers "
    "of a team use the NATS server of the setting bus.url.",
    configure,
    run,
)
