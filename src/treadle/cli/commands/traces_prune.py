"""`treadle traces prune`: delete what is old, or more than there is room for."""

import argparse
import os
import time
from contextlib import closing

from treadle.app.stores import open_trace_store
from treadle.cli.command import RepositoryUse, repository, set_repository_use
from treadle.cli.output import print_json, print_text
from treadle.cli.trace_queries import Actions
from treadle.config.quantities import age_us, shown_size, size_bytes
from treadle.errors import UsageError
from treadle.json_values import to_json


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("prune", help="delete old traces, or the oldest above a size limit")
    set_repository_use(parser, RepositoryUse.SETTINGS)
    parser.add_argument(
        "--older-than",
        type=_age,
        metavar="AGE",
        help="delete traces older than this, such as 12h, 30d or 4w",
    )
    parser.add_argument(
        "--max-size",
        type=_size,
        metavar="SIZE",
        help="reduce the traces to this size, such as 500MB or 2GB",
    )
    parser.add_argument("--dry-run", action="store_true", help="report what would be deleted")


def run(options: argparse.Namespace) -> int:
    """Delete by the options, without any by the settings."""
    older, most = options.older_than, options.max_size
    if older is None and most is None:
        older, most = _configured(options)
    before = None if older is None else time.time_ns() // 1_000 - older
    with closing(open_trace_store()) as store:
        gone = store.prune(before_us=before, max_bytes=most, dry_run=options.dry_run)
        left = store.summary().sums.totals.spans
    if options.json:
        print_json({**to_json(gone), "left": left, "dry_run": options.dry_run})
        return 0
    done = "would be deleted" if options.dry_run else "deleted"
    room = shown_size(gone.bytes)
    kept = left - gone.spans if options.dry_run else left
    print_text(
        f"{gone.traces:,} traces with {gone.spans:,} spans {done}, about {room}; {kept:,} remain."
    )
    return 0


def _configured(options: argparse.Namespace) -> tuple[int | None, int | None]:
    from treadle.config.loader import load

    settings = load(repository(options), os.environ, {}).settings.traces
    if settings.keep is None and settings.max_size is None:
        raise UsageError(
            "No limit is given or configured.",
            hint="Pass --older-than or --max-size, or set traces.keep or traces.max_size.",
        )
    return (
        None if settings.keep is None else age_us(settings.keep),
        None if settings.max_size is None else size_bytes(settings.max_size),
    )


def _age(text: str) -> int:
    try:
        return age_us(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} {error}") from error


def _size(text: str) -> int:
    try:
        return size_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} {error}") from error
