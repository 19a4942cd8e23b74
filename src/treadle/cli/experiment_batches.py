"""The sub-commands of `treadle experiment` that run, cancel and compare batches."""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

from treadle.app.stores import Stores
from treadle.cli.command import positive, repository
from treadle.cli.output import print_json, print_line, print_text, report
from treadle.cli.trace_queries import Actions
from treadle.display.lines import short_id
from treadle.errors import ExitStatus, NotFoundError, StoreError, UsageError
from treadle.json_values import to_json
from treadle.toolbox.wording import counted
from treadle.traces.amounts import cost as cost_text
from treadle.traces.amounts import duration

if TYPE_CHECKING:
    from treadle.experiments.comparison import Comparison, VariantComparison
    from treadle.experiments.model import Batch, Budget, Progress
    from treadle.experiments.service import Experiments
    from treadle.experiments.statistics import Difference

UNKNOWN = "-"
_DIFF_LINES = 20


def configure_batches(actions: Actions) -> None:
    """Add the sub-commands for batches."""
    _add_run(actions)
    parser = actions.add_parser("cancel", help="cancel a running batch and keep its completed runs")
    parser.add_argument("batch", help="the batch: its id, a prefix of its id, or LAST")
    _add_compare(actions)


def _add_run(actions: Actions) -> None:
    parser = actions.add_parser("run", help="run the variants of an experiment, or resume a batch")
    parser.add_argument(
        "experiment", nargs="?", help="the experiment: its id, a prefix of its id, or LAST"
    )
    parser.add_argument(
        "--n", type=positive, default=5, metavar="N", help="the number of runs (default: 5)"
    )
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


def _add_compare(actions: Actions) -> None:
    parser = actions.add_parser("compare", help="show the figures, outputs and verdict of a batch")
    parser.add_argument("experiment", help="the experiment: its id, a prefix of its id, or LAST")
    parser.add_argument("--batch", metavar="BATCH", help="the batch (default: the newest)")
    parser.add_argument(
        "--base", metavar="NAME", help="compare with this variant, or with `recorded`"
    )
    parser.add_argument("--judge", metavar="MODEL", help="first have this model score the outputs")
    parser.add_argument("--criteria", metavar="TEXT", help="the criterion for scoring")


@asynccontextmanager
async def opened_experiments(options: argparse.Namespace) -> AsyncIterator["Experiments"]:
    """Open the experiments of the user with the settings of the repository."""
    from treadle.app.experiments import open_experiments
    from treadle.app.recorder import recording
    from treadle.clock import SystemClock
    from treadle.config.loader import load
    from treadle.events import EventBus
    from treadle.traces.store.span_reader import NO_TRACES

    root = repository(options)
    settings = load(root, os.environ, {}).settings
    bus, stores = EventBus(), Stores.of_user()
    async with recording(bus, settings.traces.redaction, root, stores, SystemClock()) as recorded:
        if recorded.store is None:
            raise StoreError(recorded.missing or NO_TRACES)
        opening = open_experiments(
            recorded.store, recorded, settings, os.environ, bus, stores=stores
        )
        async with opening as opened:
            yield opened.experiments


async def run_batch(options: argparse.Namespace) -> int:
    """Start or resume a batch, then print the comparison. Ctrl-C cancels the batch."""
    if bool(options.experiment) == bool(options.resume):
        raise UsageError(
            "Pass an experiment, or a batch to resume.",
            hint="List experiments with `treadle experiment list`.",
        )
    from treadle.experiments.answers import BatchWithRuns
    from treadle.experiments.model import BatchState

    async with opened_experiments(options) as experiments:
        batch_id, budget = await _batch(experiments, options)
        if options.json:
            print_json({"type": "batch", "id": batch_id})
        else:
            report(f"Batch {short_id(batch_id)} started; Ctrl-C cancels it.")
        with ProgressLine() as progress_line:
            batch = await experiments.run_batch(
                batch_id,
                _print_progress if options.json else progress_line,
                budget=budget,
                retry_failed=options.retry_failed,
            )
        comparison = await asyncio.to_thread(experiments.compare, batch.id)
    if options.json:
        print_json(
            {
                "type": "final",
                "batch": to_json(BatchWithRuns.of(batch)),
                "comparison": to_json(comparison),
            }
        )
    else:
        print_comparison(comparison)
        _report_end(batch)
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


def _print_progress(progress: "Progress") -> None:
    print_json({"type": "progress", **to_json(progress)})


class ProgressLine:
    """Prints progress to standard error. On a terminal it updates one line.

    Otherwise it prints several lines. The end of the context ends an open line, so that other
    output can follow.
    """

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._shown = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live and self._shown >= 0:
            print(file=sys.stderr, flush=True)

    def __call__(self, progress: "Progress") -> None:
        if progress.done == self._shown:
            return
        self._shown = progress.done
        failed = f", {progress.failed} failed" if progress.failed else ""
        cost = "" if progress.cost is None else f", {cost_text(progress.cost)}"
        text = f"{progress.done} of {progress.total} runs{failed}, {progress.tokens:,} tokens{cost}"
        if self._live:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        else:
            report(text)


def _report_end(batch: "Batch") -> None:
    state = batch.state.value.replace("_", " ")
    if state == "finished":
        return
    reason = f" {batch.reason}" if batch.reason else ""
    again = f"treadle experiment run --resume {short_id(batch.id)}"
    report(f"The batch is {state}.{reason} Resume it with `{again}`.")


async def cancel_batch(options: argparse.Namespace) -> int:
    """Cancel a running batch, which may run in another process."""
    from treadle.experiments.model import BatchState

    async with opened_experiments(options) as experiments:
        batch = await asyncio.to_thread(experiments.cancel, options.batch)
    if options.json:
        print_json(to_json(batch))
    elif batch.state is BatchState.RUNNING:
        print_text(f"Batch {short_id(batch.id)} is stopping. It takes up to a second.")
    else:
        print_text(
            f"Batch {short_id(batch.id)} is not running: its state is "
            f"{batch.state.value.replace('_', ' ')}."
        )
    return 0


async def compare_batch(options: argparse.Namespace) -> int:
    """Print the comparison of a batch.

    With `--judge`, a model first scores the outputs.
    """
    from treadle.experiments.judge import CRITERIA

    async with opened_experiments(options) as experiments:
        batch_id = options.batch or await asyncio.to_thread(
            _newest, experiments, options.experiment
        )
        if options.judge:
            comparison = await experiments.judge(
                batch_id,
                options.judge,
                criteria=options.criteria or CRITERIA,
                base=options.base,
                progress=lambda done, total: report(f"{done} of {total} pairs scored"),
            )
        else:
            comparison = await asyncio.to_thread(experiments.compare, batch_id, base=options.base)
    if options.json:
        print_json(to_json(comparison))
    else:
        print_comparison(comparison)
    return 0


def _newest(experiments: "Experiments", reference: str) -> str:
    experiment = experiments.get(reference)
    ran = [batch for batch in experiments.batches(experiment.id) if batch.outcomes]
    if not ran:
        raise NotFoundError(
            "The experiment has no runs.", hint=f"Run it with `treadle experiment run {reference}`."
        )
    return ran[-1].id


def print_comparison(comparison: "Comparison") -> None:
    """Print a comparison as text for a person."""
    print_line(f"Compared with {comparison.base} ({counted(comparison.base_runs, 'run')}):")
    for compared in comparison.variants:
        _print_variant(compared)
    if not comparison.variants:
        print_text("There is no other variant to compare with.")


def _print_variant(compared: "VariantComparison") -> None:
    print_text(f"\n{compared.variant}: {compared.verdict.value}. {compared.why}")
    failed = f", {compared.failed} failed" if compared.failed else ""
    print_line(f"  runs      {compared.runs}{failed}, model {compared.model or 'unknown'}")
    if compared.error:
        print_line(f"  error     {compared.error}")
    print_text(f"  cost      {_difference(compared.cost, cost_text)}")
    print_text(f"  tokens    {_difference(compared.tokens, '{:,.0f}'.format)}")
    print_text(f"  duration  {_difference(compared.duration_us, _duration)}")
    print_text(f"  ttft      {_difference(compared.ttft_us, _duration)}")
    cut = f", {compared.truncated} truncated (baseline: {compared.base_truncated})"
    shown = cut if compared.truncated or compared.base_truncated else ""
    print_text(f"  outputs   {compared.same_outputs} of {compared.pairs} pairs are the same{shown}")
    for judged in compared.judged:
        print_text(
            f"  scores    {judged.model}: {judged.new} prefer this variant, {judged.base} prefer "
            f"the baseline, {judged.ties} ties ({judged.swayed} changed with the order), "
            f"{judged.unreadable} unreadable"
        )
    if compared.output is None or compared.output.same:
        return
    for call in compared.output.tool_calls:
        print_line(f"  call      {call.name}: {call.change} ({call.base} → {call.new})")
    for change in (compared.output.json or ())[:_DIFF_LINES]:
        print_line(f"  json      {change.path}: {change.base} → {change.new}")
    for line in compared.output.text.diff.splitlines()[:_DIFF_LINES]:
        print_line(f"  {line}")


def _difference(found: "Difference", write: Callable[[float], str]) -> str:
    """Format a difference as `62 → 36 (-42 %, -26 [-30, -22], n = 5)`.

    The parts are: baseline → new value (relative change, mean change [confidence interval], number
    of pairs). Without pairs the format is `62 → 36`. `write` formats an amount without its sign.
    """
    if found.base is None and found.new is None:
        return UNKNOWN
    base, new = (UNKNOWN if each is None else write(each) for each in (found.base, found.new))
    if found.mean is None:
        return f"{base} → {new}"

    def signed(amount: float) -> str:
        return f"{'-' if amount < 0 else '+'}{write(abs(amount))}"

    percent = "" if found.percent is None else f"{found.percent:+.1f} %, "
    interval = ""
    if found.low is not None and found.high is not None:
        interval = f" [{signed(found.low)}, {signed(found.high)}]"
    return f"{base} → {new} ({percent}{signed(found.mean)}{interval}, n = {found.n})"


def _duration(microseconds: float) -> str:
    return duration(round(microseconds))
