"""The command `treadle experiment`: manages experiments, and runs and compares batches."""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.app.local_audit import record
from treadle.cli.command import Command, RepositoryUse, positive, set_repository_use
from treadle.cli.experiment_batches import (
    cancel_batch,
    compare_batch,
    configure_batches,
    opened_experiments,
    run_batch,
)
from treadle.cli.output import print_json, print_line, print_text, report, report_line
from treadle.cli.trace_queries import Actions, add_output, fitted_table, typed_query
from treadle.clock import when
from treadle.display.lines import short_id
from treadle.errors import ExitStatus, UsageError
from treadle.identity.records import Action
from treadle.json_values import to_json
from treadle.owner_only import open_output

if TYPE_CHECKING:
    from treadle.experiments.model import Batch, Experiment


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add_new(actions)
    _add_list(actions)
    show = actions.add_parser("show", help="show an experiment, its changes and its runs")
    _add_experiment(show)
    _add_edit(actions)
    configure_batches(actions)
    _add_export(actions)


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("experiment", help="the experiment: its id, a prefix of its id, or LAST")


def _add_new(actions: Actions) -> None:
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


def _add_list(actions: Actions) -> None:
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


def _add_edit(actions: Actions) -> None:
    parser = actions.add_parser(
        "edit", help="change the prompt, model, parameters or tools of an experiment"
    )
    _add_experiment(parser)
    parser.add_argument(
        "--data",
        metavar="JSON",
        help="a JSON merge patch of the request; `-` reads it from standard input",
    )
    parser.add_argument("--system", metavar="TEXT", help="the text of the system message")
    parser.add_argument("--model", metavar="MODEL", help="PROVIDER/MODEL")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=JSON",
        help="a parameter, such as temperature=0; null removes it",
    )
    parser.add_argument(
        "--var",
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="the value of `{{NAME}}` in messages",
    )
    parser.add_argument("--note", default="", help="the reason for the change")
    parser.add_argument(
        "--dry-run", action="store_true", help="report the errors without saving the change"
    )


def _add_export(actions: Actions) -> None:
    parser = actions.add_parser(
        "export", help="write an experiment as JSON, or its runs as JSON lines"
    )
    _add_experiment(parser)
    add_output(parser)
    parser.add_argument(
        "--format",
        choices=("json", "jsonl"),
        default="json",
        help="json: the whole experiment; jsonl: one run per line (default: json)",
    )


async def _new(options: argparse.Namespace) -> int:
    if bool(options.calls) == bool(options.query):
        raise UsageError(
            "Pass recorded calls, or a query that finds them.",
            hint="List calls with `treadle traces list --spans kind:model`.",
        )
    from treadle.experiments.answers import ExperimentWithBatches
    from treadle.traces.query import Field as About
    from treadle.traces.query import Query, any_of

    async with opened_experiments(options) as experiments:
        if options.calls:
            created = await asyncio.to_thread(
                experiments.from_spans, options.calls, name=options.name
            )
        else:
            query = typed_query(options) & Query((any_of(About.KIND, ["model"]),))
            created = await asyncio.to_thread(
                experiments.from_query, query, limit=options.limit, name=options.name
            )
    if options.json:
        print_json(to_json(ExperimentWithBatches.of(created)))
        return 0
    print_line(f"{short_id(created.id)}  {created.name}")
    for note in dict.fromkeys(note for item in created.items for note in item.notes):
        report_line(f"! {note}")
    report(f"Change it with `treadle experiment edit {short_id(created.id)} …`, then run it.")
    return 0


async def _list(options: argparse.Namespace) -> int:
    from treadle.experiments.answers import ExperimentPage, ExperimentPagination

    offset = max(0, options.offset)
    async with opened_experiments(options) as experiments:
        found, total = await asyncio.to_thread(
            experiments.list_experiments, limit=options.limit, offset=offset
        )
    if options.json:
        pagination = ExperimentPagination(offset=offset, limit=options.limit, total=total)
        print_json(to_json(ExperimentPage(found, pagination)))
        return 0
    if not found:
        report("There are no experiments. Create one with `treadle experiment new LAST`.")
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
    print_text(fitted_table(rows, ("EXPERIMENT", "CHANGED", "CALLS", "VERSION", "NAME")))
    if total > offset + len(found):
        report(f"{len(found)} of {total:,} shown; next page: --offset {offset + len(found)}")
    return 0


async def _show(options: argparse.Namespace) -> int:
    from treadle.experiments.answers import ExperimentWithBatches

    async with opened_experiments(options) as experiments:
        found = await asyncio.to_thread(experiments.get, options.experiment)
        batches = await asyncio.to_thread(experiments.batches, found.id)
    if options.json:
        print_json(to_json(ExperimentWithBatches.of(found, batches)))
        return 0
    _print_experiment(found)
    for batch in batches:
        _print_batch(batch)
    return 0


def _print_experiment(experiment: "Experiment") -> None:
    from treadle.experiments.requests import document_of

    print_line(f"{short_id(experiment.id)}  {experiment.name}")
    for item in experiment.items[:10]:
        print_line(f"  call {item.number}: {item.trace_id}/{item.span_id}")
    if len(experiment.items) > 10:
        print_text(f"  … and {len(experiment.items) - 10} more")
    for version in experiment.versions:
        patch = json.dumps(version.patch, ensure_ascii=False)
        note = f"  ({version.note})" if version.note else ""
        print_line(f"  v{version.number}: {patch}{note}")
    print_text(
        json.dumps(document_of(experiment, 0, experiment.current), indent=2, ensure_ascii=False)
    )


def _print_batch(batch: "Batch") -> None:
    progress = batch.progress
    names = ", ".join(variant.name for variant in batch.plan.variants)
    reason = f" {batch.reason}" if batch.reason else ""
    print_text(
        f"batch {short_id(batch.id)}: {batch.state.value.replace('_', ' ')}, {progress.done} of "
        f"{progress.total} runs, {progress.failed} failed ({names}).{reason}"
    )


async def _edit(options: argparse.Namespace) -> int:
    """Add a version to the experiment, or print the errors that the change would cause."""
    patch = _patch(options)
    if not patch:
        raise UsageError(
            "No change is given.", hint="See `treadle experiment edit --help` for the options."
        )
    from treadle.experiments.answers import ExperimentWithBatches

    async with opened_experiments(options) as experiments:
        problems = await asyncio.to_thread(experiments.check, options.experiment, patch)
        if problems or options.dry_run:
            if options.json:
                print_json({"problems": to_json(problems)})
            for problem in problems:
                report_line(f"{problem.field}: {problem.message}")
            if not options.json and not problems:
                report("The change is valid.")
            return ExitStatus.USAGE if problems else ExitStatus.DONE
        changed = await asyncio.to_thread(
            experiments.edit, options.experiment, patch, note=options.note
        )
    if options.json:
        print_json(to_json(ExperimentWithBatches.of(changed)))
    else:
        print_text(f"{short_id(changed.id)}  v{changed.current}")
    return ExitStatus.DONE


def _patch(options: argparse.Namespace) -> dict[str, Any]:
    """Combine all options into one merge patch of the request. Raises UsageError."""
    given = sys.stdin.read() if options.data == "-" else options.data
    patch = _object(given) if given is not None else {}
    if options.system is not None:
        patch["system"] = options.system
    if options.model is not None:
        patch["model"] = options.model
    parameters = {name: _value(text) for name, text in map(_pair, options.set)}
    variables = dict(map(_pair, options.var))
    for name, values in (("parameters", parameters), ("variables", variables)):
        if values:
            patch[name] = {**(patch.get(name) or {}), **values}
    return patch


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"--data is not valid JSON: {error}.", hint="Pass one JSON object."
        ) from error
    if not isinstance(value, dict):
        raise UsageError(
            "--data is not a JSON object.", hint='Pass an object such as {"model": "…"}.'
        )
    return value


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UsageError(f"{text[:50]!r} is not in the form NAME=VALUE.", hint="Write NAME=VALUE.")
    return name, value


def _value(text: str) -> Any:
    """Parse a JSON text. Text that is not valid JSON is returned unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text


async def _export(options: argparse.Namespace) -> int:
    async with opened_experiments(options) as experiments:
        exported = to_json(await asyncio.to_thread(experiments.export, options.experiment))
    await asyncio.to_thread(record, Action.EXPORT, f"experiment export: {exported['id']}")
    text = (
        _run_lines(exported) if options.format == "jsonl" else json.dumps(exported, indent=1) + "\n"
    )
    if options.output == "-":
        print(text, end="")
    else:
        await asyncio.to_thread(_write, Path(options.output), text)
        report(f"Written to {options.output}.")
    return 0


def _write(path: Path, text: str) -> None:
    with open_output(path) as stream:
        stream.write(text.encode())


def _run_lines(exported: dict[str, Any]) -> str:
    runs = [
        {"experiment_id": exported["id"], "batch_id": batch["id"], **run}
        for batch in exported["batches"]
        for run in batch["runs"]
    ]
    return "".join(json.dumps(run) + "\n" for run in runs)


_ACTIONS = {
    "new": _new,
    "list": _list,
    "show": _show,
    "edit": _edit,
    "run": run_batch,
    "cancel": cancel_batch,
    "compare": compare_batch,
    "export": _export,
}


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    return asyncio.run(_ACTIONS[options.action](options))


COMMAND = Command(
    "Change a recorded model call, run it again, and compare the results.", configure, run
)
