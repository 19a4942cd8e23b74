"""`treadle experiment new`: make an experiment from recorded calls."""

import argparse
import asyncio

from treadle.cli.command import RepositoryUse, positive, set_repository_use
from treadle.cli.experiments import opened
from treadle.cli.output import print_json, say_line, short_id, tell, tell_line
from treadle.cli.trace_queries import Actions, typed_query
from treadle.errors import UsageError


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("new", help="create an experiment from recorded model calls")
    set_repository_use(parser, RepositoryUse.RECORDS)
    parser.add_argument(
        "calls",
        nargs="*",
        metavar="CALL",
        help="SPAN or TRACE/SPAN; TRACE or LAST selects its last model call",
    )
    parser.add_argument(
        "--query",
        action="append",
        metavar="QUERY",
        help="instead of calls: the newest calls that match a query, such as label:checkout",
    )
    parser.add_argument(
        "--limit",
        type=positive,
        default=20,
        metavar="N",
        help="the maximum number of calls from a query (default: 20)",
    )
    parser.add_argument("--name", default="", help="the name of the experiment")


def run(options: argparse.Namespace) -> int:
    """Make it and print its id."""
    if bool(options.calls) == bool(options.query):
        raise UsageError(
            "Pass recorded calls, or a query that finds them.",
            hint="List calls with `treadle traces list --spans kind:model`.",
        )
    return asyncio.run(_make(options))


async def _make(options: argparse.Namespace) -> int:
    from treadle.experiments.answers import experiment_answer
    from treadle.traces.query import Field as About
    from treadle.traces.query import Query, any_of

    async with opened(options) as experiments:
        if options.calls:
            made = await asyncio.to_thread(experiments.from_spans, options.calls, name=options.name)
        else:
            query = typed_query(options) & Query((any_of(About.KIND, ["model"]),))
            made = await asyncio.to_thread(
                experiments.from_query, query, limit=options.limit, name=options.name
            )
    if options.json:
        print_json(experiment_answer(made))
        return 0
    say_line(f"{short_id(made.id)}  {made.name}")
    for note in dict.fromkeys(note for item in made.items for note in item.notes):
        tell_line(f"! {note}")
    tell(f"Change it with `treadle experiment edit {short_id(made.id)} …`, then run it.")
    return 0
