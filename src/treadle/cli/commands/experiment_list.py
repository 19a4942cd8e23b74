"""`treadle experiment list`: the experiments that there are."""

import argparse
import asyncio

from treadle.cli.command import positive
from treadle.cli.experiments import opened
from treadle.cli.output import print_json, say, short_id, tell, when
from treadle.cli.trace_queries import Actions, fitted_table


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("list", help="list the experiments, most recently changed first")
    parser.add_argument(
        "--limit",
        type=positive,
        default=20,
        metavar="N",
        help="the maximum number of experiments (default: 20)",
    )
    parser.add_argument(
        "--offset", type=int, default=0, metavar="N", help="skip the first N experiments"
    )


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    return asyncio.run(_list(options))


async def _list(options: argparse.Namespace) -> int:
    from treadle.experiments.answers import listed_answer

    offset = max(0, options.offset)
    async with opened(options) as experiments:
        found, total = await asyncio.to_thread(
            experiments.listed, limit=options.limit, offset=offset
        )
    if options.json:
        pagination = {"offset": offset, "limit": options.limit, "total": total}
        data = [listed_answer(each) for each in found]
        print_json({"data": data, "pagination": pagination})
        return 0
    if not found:
        tell("There are no experiments. Create one with `treadle experiment new LAST`.")
        return 0
    rows = [
        (
            short_id(each.id),
            when(each.updated_us),
            str(each.items),
            f"v{each.version}",
            each.name,
        )
        for each in found
    ]
    say(fitted_table(rows, ("EXPERIMENT", "CHANGED", "CALLS", "VERSION", "NAME")))
    if total > offset + len(found):
        tell(f"{len(found)} of {total:,} shown; next page: --offset {offset + len(found)}")
    return 0
