"""`treadle traces delete`: delete threads, runs or traces for good."""

import argparse
import sys
from contextlib import closing

from treadle.app.stores import open_trace_store
from treadle.cli.command import RepositoryUse, set_repository_use
from treadle.cli.output import print_json, print_text
from treadle.cli.trace_queries import Actions
from treadle.config.quantities import shown_size
from treadle.errors import ExitStatus, NotFoundError, UsageError
from treadle.json_values import to_json
from treadle.traces.query import Field, Query, any_of

_FIELDS = {"thread": Field.THREAD, "run": Field.RUN, "trace": Field.TRACE}


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("delete", help="permanently delete threads, runs or traces")
    set_repository_use(parser, RepositoryUse.NONE)
    parser.add_argument("what", choices=tuple(_FIELDS), help="what the ids identify")
    parser.add_argument("ids", nargs="+", metavar="ID", help="a whole id")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def run(options: argparse.Namespace) -> int:
    """Ask, then delete."""
    ids: list[str] = options.ids
    with closing(open_trace_store()) as store:
        count = store.summary(Query((any_of(_FIELDS[options.what], ids),))).sums.totals.spans
        if not count:
            raise NotFoundError(
                f"Nothing is recorded for the {options.what} {', '.join(ids)}.",
                hint="`treadle traces list --json` shows full ids.",
            )
        if not options.yes and not _agreed(f"Permanently delete {count:,} spans?"):
            return ExitStatus.CANCELLED
        gone = store.delete(**{f"{options.what}s": ids})
    if options.json:
        print_json(to_json(gone))
    else:
        print_text(
            f"Deleted {gone.spans:,} spans of {gone.traces:,} traces ({shown_size(gone.bytes)})."
        )
    return 0


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            "Deleting needs confirmation, and standard input is not a terminal.",
            hint="Confirm with --yes.",
        )
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
