"""`treadle experiment compare`: compare the variants of a batch, optionally scored by a model."""

import argparse
import asyncio
from typing import TYPE_CHECKING

from treadle.cli.experiments import opened, shown_difference
from treadle.cli.output import print_json, say, say_line, tell
from treadle.cli.trace_queries import Actions
from treadle.errors import NotFoundError
from treadle.toolbox.wording import counted

if TYPE_CHECKING:
    from treadle.experiments.comparing import Comparison, VariantComparison
    from treadle.experiments.service import Experiments

_DIFF_LINES = 20


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser("compare", help="show the figures, outputs and verdict of a batch")
    parser.add_argument("experiment", help="the experiment: its id, a prefix of its id, or LAST")
    parser.add_argument("--batch", metavar="BATCH", help="the batch (default: the newest)")
    parser.add_argument(
        "--base", metavar="NAME", help="compare with this variant, or with `recorded`"
    )
    parser.add_argument("--judge", metavar="MODEL", help="first have this model score the outputs")
    parser.add_argument("--criteria", metavar="TEXT", help="the criterion for scoring")


def run(options: argparse.Namespace) -> int:
    """Print the comparison."""
    return asyncio.run(_compare(options))


async def _compare(options: argparse.Namespace) -> int:
    from treadle.experiments.answers import comparison_answer
    from treadle.experiments.judging import CRITERIA

    async with opened(options) as experiments:
        batch_id = options.batch or await asyncio.to_thread(
            _newest, experiments, options.experiment
        )
        if options.judge:
            comparison = await experiments.judge(
                batch_id,
                options.judge,
                criteria=options.criteria or CRITERIA,
                base=options.base,
                progress=lambda done, total: tell(f"{done} of {total} pairs scored"),
            )
        else:
            comparison = await asyncio.to_thread(experiments.compare, batch_id, base=options.base)
    if options.json:
        print_json(comparison_answer(comparison))
    else:
        say_comparison(comparison)
    return 0


def _newest(experiments: "Experiments", reference: str) -> str:
    experiment = experiments.get(reference)
    ran = [batch for batch in experiments.batches(experiment.id) if batch.outcomes]
    if not ran:
        raise NotFoundError(
            "The experiment has no runs.", hint=f"Run it with `treadle experiment run {reference}`."
        )
    return ran[-1].id


def say_comparison(comparison: "Comparison") -> None:
    """Print a comparison for a person."""
    say_line(f"Compared with {comparison.base} ({counted(comparison.base_runs, 'run')}):")
    for compared in comparison.variants:
        _say_variant(compared)
    if not comparison.variants:
        say("There is no other variant to compare with.")


def _say_variant(compared: "VariantComparison") -> None:
    say(f"\n{compared.variant}: {compared.verdict.value}. {compared.why}")
    failed = f", {compared.failed} failed" if compared.failed else ""
    say_line(f"  runs      {compared.runs}{failed}, model {compared.model or 'unknown'}")
    if compared.error:
        say_line(f"  error     {compared.error}")
    say(f"  cost      {shown_difference(compared.cost, form=',.6f')}")
    say(f"  tokens    {shown_difference(compared.tokens)}")
    say(f"  duration  {shown_difference(compared.duration_us, 1_000)} ms")
    say(f"  ttft      {shown_difference(compared.ttft_us, 1_000)} ms")
    cut = f", {compared.truncated} truncated (baseline: {compared.base_truncated})"
    shown = cut if compared.truncated or compared.base_truncated else ""
    say(f"  outputs   {compared.same_outputs} of {compared.pairs} pairs are the same{shown}")
    for judged in compared.judged:
        say(
            f"  scores    {judged.model}: {judged.new} prefer this variant, {judged.base} prefer "
            f"the baseline, {judged.ties} ties ({judged.swayed} changed with the order), "
            f"{judged.unreadable} unreadable"
        )
    if compared.output is None or compared.output.same:
        return
    for call in compared.output.tool_calls:
        say_line(f"  call      {call.name}: {call.change} ({call.base} → {call.new})")
    for change in (compared.output.json or ())[:_DIFF_LINES]:
        say_line(f"  json      {change.path}: {change.base} → {change.new}")
    for line in compared.output.text.diff.splitlines()[:_DIFF_LINES]:
        say_line(f"  {line}")
