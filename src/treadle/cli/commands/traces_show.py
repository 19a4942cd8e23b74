"""`treadle traces show`: one trace as a tree."""

import argparse
from contextlib import closing

from treadle.app.stores import open_trace_store
from treadle.cli.command import RepositoryUse, set_repository_use
from treadle.cli.output import print_json, print_text
from treadle.cli.trace_lines import trace_lines
from treadle.cli.trace_queries import Actions
from treadle.cli.trace_tree import trace_to_json, view_trace


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("show", help="show a trace as a tree")
    set_repository_use(parser, RepositoryUse.NONE)
    parser.add_argument("trace", help="the trace: LAST, its id, or a prefix of its id")


def run(options: argparse.Namespace) -> int:
    """Print the trace."""
    with closing(open_trace_store()) as store:
        trace = store.trace(options.trace)
    if options.json:
        print_json(trace_to_json(trace))
    else:
        for line in trace_lines(view_trace(trace)):
            print_text(line)
    return 0
