"""`treadle experiment run`: run variants of an experiment, or what is missing of a batch."""

import argparse
import asyncio
from typing import TYPE_CHECKING

from treadle.cli.command import positive
from treadle.cli.commands.experiment_compare import say_comparison
from treadle.cli.experiments import ProgressLine, opened
from treadle.cli.output import print_json, short_id, tell
from treadle.cli.trace_queries import Actions
from treadle.errors import ExitStatus, UsageError

if TYPE_CHECKING:
    from treadle.experiments.model import Batch, Budget
    from treadle.experiments.running import Progress
    from treadle.experiments.service import Experiments


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("run", help="run the variants of an experiment, or resume a batch")
    parser.add_argument(
        "experiment", nargs="?", help="the experiment: its id, a prefix of its id, or LAST"
    )
    parser.add_argument("--n", type=positive, default=5, metavar="N", help="times (default: 5)")
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME",
        help="original, current or v2; may end in @PROVIDER/MODEL (default: original and current)",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="MODEL",
        help="also run the variants with this model, PROVIDER/MODEL",
    )
    parser.add_argument(
        "--cost", type=float, metavar="USD", help="start no more runs above this cost"
    )
    parser.add_argument(
        "--tokens",
        type=positive,
        metavar="N",
        help="start no more runs above this number of tokens",
    )
    parser.add_argument(
        "--at-once",
        type=positive,
        default=1,
        metavar="N",
        help="the number of concurrent runs (default: 1)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="the timeout of a run in seconds (default: 60)",
    )
    parser.add_argument("--resume", metavar="BATCH", help="run the missing runs of this batch")
    parser.add_argument(
        "--retry-failed", action="store_true", help="with --resume: repeat failed runs"
    )


def run(options: argparse.Namespace) -> int:
    """Run, then print the comparison. Ctrl-C cancels; what ran is kept."""
    if bool(options.experiment) == bool(options.resume):
        raise UsageError(
            "Pass an experiment, or a batch to resume.",
            hint="List experiments with `treadle experiment list`.",
        )
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    from treadle.experiments.answers import batch_with_runs_answer, comparison_answer
    from treadle.experiments.model import BatchState

    async with opened(options) as experiments:
        batch_id, budget = await _batch(experiments, options)
        if options.json:
            print_json({"type": "batch", "id": batch_id})
        else:
            tell(f"Batch {short_id(batch_id)} started; Ctrl-C cancels it.")
        batch = await experiments.carry_out(
            batch_id, _watch(options), budget=budget, retry_failed=options.retry_failed
        )
        comparison = await asyncio.to_thread(experiments.compare, batch.id)
    if options.json:
        print_json(
            {
                "type": "final",
                "batch": batch_with_runs_answer(batch),
                "comparison": comparison_answer(comparison),
            }
        )
    else:
        say_comparison(comparison)
        _tell_end(batch)
    return ExitStatus.DONE if batch.state is BatchState.FINISHED else ExitStatus.FAILED


async def _batch(
    experiments: "Experiments", options: argparse.Namespace
) -> tuple[str, "Budget | None"]:
    from treadle.experiments.model import Budget

    budget = Budget(cost=options.cost, tokens=options.tokens)
    if options.resume:
        found = await asyncio.to_thread(experiments.batch, options.resume)
        return found.id, budget if (options.cost or options.tokens) else None
    planned = await asyncio.to_thread(
        experiments.plan,
        options.experiment,
        repeats=options.n,
        variants=options.variant,
        models=options.model,
        budget=budget,
        at_once=options.at_once,
        seconds_each=options.timeout,
    )
    return planned.id, None


def _watch(options: argparse.Namespace) -> "ProgressLine | _ProgressJson":
    return _ProgressJson() if options.json else ProgressLine()


class _ProgressJson:
    """Says how far a batch is as JSON lines."""

    def __call__(self, progress: "Progress") -> None:
        from dataclasses import asdict

        print_json({"type": "progress", **asdict(progress)})


def _tell_end(batch: "Batch") -> None:
    state = batch.state.value.replace("_", " ")
    if state == "finished":
        return
    reason = f" {batch.reason}" if batch.reason else ""
    again = f"treadle experiment run --resume {short_id(batch.id)}"
    tell(f"The batch is {state}.{reason} Resume it with `{again}`.")
