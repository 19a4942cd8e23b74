"""`treadle experiment edit`: change the request of an experiment, as a new version."""

import argparse
import asyncio
import json
import sys
from typing import Any

from treadle.cli.experiments import opened
from treadle.cli.output import print_json, say, short_id, tell, tell_line
from treadle.cli.trace_queries import Actions
from treadle.errors import ExitStatus, UsageError


def configure(actions: Actions) -> None:
    """Add the sub-command."""
    parser = actions.add_parser(
        "edit", help="change the prompt, model, parameters or tools of an experiment"
    )
    parser.add_argument("experiment", help="the experiment: its id, a prefix of its id, or LAST")
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
    parser.add_argument("--note", default="", help="why")
    parser.add_argument(
        "--dry-run", action="store_true", help="report the errors without saving the change"
    )


def run(options: argparse.Namespace) -> int:
    """Add the version, or print what is wrong with it."""
    patch = _patch(options)
    if not patch:
        raise UsageError(
            "No change is given.", hint="See `treadle experiment edit --help` for the options."
        )
    return asyncio.run(_edit(options, patch))


async def _edit(options: argparse.Namespace, patch: dict[str, Any]) -> int:
    from treadle.experiments.answers import experiment_answer

    async with opened(options) as experiments:
        problems = await asyncio.to_thread(experiments.check, options.experiment, patch)
        if problems or options.dry_run:
            if options.json:
                told = [{"field": each.field, "message": each.message} for each in problems]
                print_json({"problems": told})
            for problem in problems:
                tell_line(f"{problem.field}: {problem.message}")
            if not options.json and not problems:
                tell("The change is valid.")
            return ExitStatus.USAGE if problems else ExitStatus.DONE
        changed = await asyncio.to_thread(
            experiments.edit, options.experiment, patch, note=options.note
        )
    if options.json:
        print_json(experiment_answer(changed))
    else:
        say(f"{short_id(changed.id)}  v{changed.current}")
    return ExitStatus.DONE


def _patch(options: argparse.Namespace) -> dict[str, Any]:
    """All that the options say, as one merge patch. Raises UsageError."""
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
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
