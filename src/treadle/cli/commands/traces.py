"""`treadle traces`: read what was recorded."""

import argparse
from dataclasses import asdict

from treadle.app.stores import open_trace_store
from treadle.cli.command import Command, positive
from treadle.cli.output import print_json, say, short_id, table, tell, when
from treadle.traces import RunSummary, SqliteTraceStore, trace_lines, trace_to_json, view_trace
from treadle.traces.tree import one_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the two sub-commands."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    rows = actions.add_parser("list", help="the latest runs")
    rows.add_argument("--limit", type=positive, default=20, metavar="N", help="runs to show")
    show = actions.add_parser("show", help="one run as a tree")
    show.add_argument("trace", help="LAST, a trace id or the beginning of one")


def run(options: argparse.Namespace) -> int:
    """Do what the sub-command says."""
    store = open_trace_store()
    try:
        if options.action == "list":
            return _list(store, options)
        trace = store.trace(options.trace)
    finally:
        store.close()
    if options.json:
        print_json(trace_to_json(trace))
    else:
        for line in trace_lines(view_trace(trace)):
            say(line)
    return 0


def _list(store: SqliteTraceStore, options: argparse.Namespace) -> int:
    runs = store.runs(limit=options.limit).data
    if options.json:
        print_json({"runs": [asdict(run) for run in runs]})
        return 0
    if not runs:
        tell('Nothing is recorded yet. Try `treadle ask "…"`.')
        return 0
    rows = [
        (
            short_id(run.trace_id),
            when(run.start_us),
            run.status.value,
            str(run.sums.totals.spans),
            one_line(_what(run)),
        )
        for run in runs
    ]
    say(table(rows, ("TRACE", "STARTED", "STATUS", "SPANS", "QUESTION")))
    return 0


def _what(run: RunSummary) -> str:
    """The question; of a tool that was called outside a session, its name and arguments."""
    operation, _, subject = (run.name or "").partition(" ")
    if operation == "execute_tool":
        return f"{subject} {run.question or ''}"
    return run.question or run.name or ""


COMMAND = Command("Read what was recorded.", configure, run)
