"""The command `treadle traces compare`: the differences between two traces, runs or threads."""

import argparse
from contextlib import closing

from treadle.app.stores import Stores
from treadle.cli.command import RepositoryUse, set_repository_use
from treadle.cli.output import print_json, print_text
from treadle.cli.trace_queries import Actions
from treadle.json_values import to_json


def configure_compare(actions: Actions) -> None:
    """Add the sub-command `compare`."""
    parser = actions.add_parser(
        "compare", help="show the differences between two traces, runs or threads"
    )
    set_repository_use(parser, RepositoryUse.NONE)
    for name in ("a", "b"):
        parser.add_argument(
            name,
            metavar=name.upper(),
            help="LAST, the id of a trace, run or thread, or a prefix of the id of a trace",
        )


def show_comparison(options: argparse.Namespace) -> int:
    """Print the differences, and return the exit status."""
    from treadle.app.trace_comparison import compare_recorded
    from treadle.display.comparison_lines import comparison_lines

    with closing(Stores.of_user().open_traces()) as store:
        comparison = compare_recorded(store, options.a, options.b)
    if options.json:
        print_json(to_json(comparison))
    else:
        for line in comparison_lines(comparison):
            print_text(line)
    return 0
