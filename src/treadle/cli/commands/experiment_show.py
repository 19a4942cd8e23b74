"""`treadle experiment show`: an experiment, what was changed in it, and what was run."""

import argparse
import asyncio
import json
from typing import TYPE_CHECKING

from treadle.cli.experiments import opened
from treadle.cli.output import print_json, say, say_line, short_id
from treadle.cli.trace_queries import Actions

if TYPE_CHECKING:
    from treadle.experiments.model import Batch, Experiment


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("show", help="show an experiment, its changes and its runs")
    parser.add_argument("experiment", help="the experiment: its id, a prefix of its id, or LAST")


def run(options: argparse.Namespace) -> int:
    """Print it."""
    return asyncio.run(_show(options))


async def _show(options: argparse.Namespace) -> int:
    from treadle.experiments.answers import experiment_answer

    async with opened(options) as experiments:
        found = await asyncio.to_thread(experiments.get, options.experiment)
        batches = await asyncio.to_thread(experiments.batches, found.id)
    if options.json:
        print_json(experiment_answer(found, batches))
        return 0
    _say_experiment(found)
    for batch in batches:
        _say_batch(batch)
    return 0


def _say_experiment(experiment: "Experiment") -> None:
    from treadle.experiments.documents import document_of

    say_line(f"{short_id(experiment.id)}  {experiment.name}")
    for item in experiment.items[:10]:
        say_line(f"  call {item.number}: {item.trace_id}/{item.span_id}")
    if len(experiment.items) > 10:
        say(f"  … and {len(experiment.items) - 10} more")
    for version in experiment.versions:
        patch = json.dumps(version.patch, ensure_ascii=False)
        note = f"  ({version.note})" if version.note else ""
        say_line(f"  v{version.number}: {patch}{note}")
    say(json.dumps(document_of(experiment, 0, experiment.current), indent=2, ensure_ascii=False))


def _say_batch(batch: "Batch") -> None:
    from treadle.experiments.running import progress_of

    progress = progress_of(batch)
    names = ", ".join(variant.name for variant in batch.plan.variants)
    reason = f" {batch.reason}" if batch.reason else ""
    say(
        f"batch {short_id(batch.id)}: {batch.state.value.replace('_', ' ')}, {progress.done} of "
        f"{progress.total} runs, {progress.failed} failed ({names}).{reason}"
    )
