"""`treadle experiment cancel`: stop a batch that runs, in whichever process."""

import argparse
import asyncio

from treadle.cli.experiments import opened
from treadle.cli.output import print_json, say, short_id
from treadle.cli.trace_queries import Actions


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("cancel", help="cancel a running batch and keep its completed runs")
    parser.add_argument("batch", help="the batch: its id, a prefix of its id, or LAST")


def run(options: argparse.Namespace) -> int:
    """Ask whoever runs it to stop."""
    return asyncio.run(_cancel(options))


async def _cancel(options: argparse.Namespace) -> int:
    from treadle.experiments.answers import batch_answer
    from treadle.experiments.model import BatchState

    async with opened(options) as experiments:
        batch = await asyncio.to_thread(experiments.cancel, options.batch)
    if options.json:
        print_json(batch_answer(batch))
    elif batch.state is BatchState.RUNNING:
        say(f"Batch {short_id(batch.id)} is stopping. It takes up to a second.")
    else:
        say(
            f"Batch {short_id(batch.id)} is not running: its state is "
            f"{batch.state.value.replace('_', ' ')}."
        )
    return 0
