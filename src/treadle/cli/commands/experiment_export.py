"""`treadle experiment export`: everything that is known of an experiment, as JSON."""

import argparse
import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.cli.experiments import opened
from treadle.cli.output import tell
from treadle.cli.trace_queries import Actions
from treadle.owner_only import open_output

if TYPE_CHECKING:
    from treadle.experiments.shapes import ExportedExperiment


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser(
        "export", help="write an experiment as JSON, or its runs as JSON lines"
    )
    parser.add_argument("experiment", help="the experiment: its id, a prefix of its id, or LAST")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="the output file (default: -, standard output)",
    )
    parser.add_argument(
        "--format",
        choices=("json", "jsonl"),
        default="json",
        help="json: the whole experiment; jsonl: one run per line (default: json)",
    )


def run(options: argparse.Namespace) -> int:
    """Write it."""
    return asyncio.run(_export(options))


async def _export(options: argparse.Namespace) -> int:
    async with opened(options) as experiments:
        whole = await asyncio.to_thread(experiments.export, options.experiment)
    text = _lines(whole) if options.format == "jsonl" else json.dumps(whole, indent=1) + "\n"
    if options.output == "-":
        print(text, end="")
    else:
        await asyncio.to_thread(_write, Path(options.output), text)
        tell(f"Written to {options.output}.")
    return 0


def _write(path: Path, text: str) -> None:
    with open_output(path) as stream:
        stream.write(text.encode())


def _lines(whole: "ExportedExperiment") -> str:
    runs = [
        {"experiment_id": whole["id"], "batch_id": batch["id"], **run}
        for batch in whole["batches"]
        for run in batch["runs"]
    ]
    return "".join(json.dumps(run) + "\n" for run in runs)
