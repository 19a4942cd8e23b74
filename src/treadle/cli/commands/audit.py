"""The command `treadle audit`: shows the audit log of a shared server."""

import argparse

from treadle.cli.command import Command, RepositoryUse, age, positive, set_repository_use
from treadle.cli.identity_store import now_us, opened_identities
from treadle.cli.output import print_json, print_text, report, table
from treadle.clock import when
from treadle.json_values import to_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.add_argument("--project", help="only the entries of this project")
    parser.add_argument("--since", type=age, metavar="AGE", help="such as 7d (default: all)")
    parser.add_argument(
        "--limit", type=positive, default=50, metavar="N", help="the number of entries"
    )
    set_repository_use(parser, RepositoryUse.NONE)


def run(options: argparse.Namespace) -> int:
    """Print the newest entries, and return the exit status."""
    since = 0 if options.since is None else now_us() - options.since
    with opened_identities() as store:
        entries = (
            store.audit.entries(project=options.project, since_us=since, limit=options.limit)
            if store.exists
            else []
        )
    if options.json:
        print_json({"entries": to_json(entries)})
        return 0
    if not entries:
        report("The audit log has no such entries.")
        return 0
    rows = [
        (when(each.at_us), each.who, each.action.value, each.project, each.address, each.subject)
        for each in entries
    ]
    print_text(table(rows, ("TIME", "WHO", "ACTION", "PROJECT", "ADDRESS", "SUBJECT")))
    return 0


COMMAND = Command("Show the audit log of a shared server, newest entries first.", configure, run)
