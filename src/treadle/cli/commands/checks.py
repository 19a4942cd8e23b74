"""The command `treadle checks`: lists and runs the tests, builds and linters of a project."""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from treadle.app.check_runs import CheckRuns
from treadle.app.local_audit import record
from treadle.app.stores import Stores
from treadle.checks.model import Check, CheckRun, CheckStatus
from treadle.checks.service import Preview
from treadle.cli.command import Command, allow_program, repository
from treadle.cli.output import print_json, print_text, report_line, table
from treadle.clock import SystemClock
from treadle.config.loader import load
from treadle.config.model import Settings
from treadle.display.check_results import result_lines
from treadle.errors import ExitStatus, UsageError
from treadle.identity.records import Action
from treadle.tools.approvals.question import Program


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the checks of this repository and where each is defined")
    run_one = actions.add_parser("run", help="run a check; the exit status is 1 if it fails")
    run_one.add_argument("name", help="the check's name, as `checks list` shows it")
    allow_program(run_one)


def run(options: argparse.Namespace) -> int:
    """List the checks or run one of them, and return the exit status."""
    root = repository(options)
    settings = load(root, os.environ, {}).settings
    name = options.name if options.action == "run" else None
    agreed = name is not None and options.yes
    return run_check(root, settings, name, agreed=agreed, as_json=options.json)


COMMAND = Command("List and run the checks of a repository.", configure, run)


def run_check(
    root: Path,
    settings: Settings,
    name: str | None,
    *,
    proposal: str | None = None,
    preview: Preview | None = None,
    agreed: bool = False,
    as_json: bool,
) -> int:
    """Run the check `name`, or list the checks if it is None, and return the exit status.

    If `proposal` is given, the check runs in a copy of the repository. `preview` returns the files
    that the proposal changes in that copy. A program inside the repository runs only with consent:
    from `agreed`, from a permanent approval, or from the user's answer to a question.
    """
    runs = CheckRuns(root, settings, os.environ, SystemClock(), Stores.of_user(), preview=preview)
    if name is None:
        return _list(runs, as_json=as_json)
    ran = asyncio.run(_run(runs, name, proposal, agreed=agreed, quiet=as_json))
    if as_json:
        print_json(_answer(ran))
    else:
        for line in result_lines(ran):
            print_text(line)
    return ExitStatus.DONE if ran.status is CheckStatus.PASSED else ExitStatus.FAILED


async def _run(
    runs: CheckRuns, name: str, proposal: str | None, *, agreed: bool, quiet: bool
) -> CheckRun:
    async def progress(text: str) -> None:
        if not quiet:
            report_line(f"  {text}")

    found = await runs.get(name)
    program = await runs.program_to_allow(found)
    if program is not None and not agreed and await asyncio.to_thread(_consent, found, program):
        await runs.always_allow(found, program)
    if program is not None:
        await asyncio.to_thread(record, Action.APPROVAL, f"checks run: {name} with {program}")
    return await runs.run(found, progress=progress, proposal=proposal, allowed=program)


def _consent(check: Check, program: Program) -> bool:
    """Get consent for a program inside the repository. Raises UsageError without consent.

    Returns whether the consent is permanent.
    """
    from treadle.cli.approval_prompts import prompt

    report_line(f"? run {check.command()}")
    report_line(f"  The program is {program}.")
    answer = ""
    while sys.stdin.isatty() and answer not in {"y", "yes", "a", "always"}:
        prompt("Allow it? y: yes, once · a: always in this repository · n: no")
        answer = sys.stdin.readline().strip().lower()
        if answer in {"", "n", "no"}:
            break
    if answer not in {"y", "yes", "a", "always"}:
        raise UsageError(
            f"The check {check.name} did not run: you did not allow {program}.",
            hint="Inspect that program, then pass --yes to run it.",
        )
    return answer in {"a", "always"}


def _list(runs: CheckRuns, *, as_json: bool) -> int:
    found = asyncio.run(runs.find())
    if as_json:
        rows = [
            {"name": c.name, "kind": c.kind, "command": c.command(), "origin": c.origin}
            for c in found
        ]
        print_json({"checks": rows})
    elif found:
        lines = [(c.name, c.kind, c.origin, c.command()) for c in found]
        print_text(table(lines, ("NAME", "KIND", "FROM", "COMMAND")))
    else:
        print_text(
            "Treadle found no checks in this repository. Set them in [checks.commands] of the "
            "configuration."
        )
    return ExitStatus.DONE


def _answer(ran: CheckRun) -> dict[str, Any]:
    return {
        "check": ran.check.name,
        "command": ran.command,
        "status": ran.status.value,
        "exit_status": ran.exit_status,
        "seconds": round(ran.seconds, 3),
        "counts": dict(ran.reading.counts),
        "diagnostics": [
            {
                "file": d.file,
                "line": d.line,
                "column": d.column,
                "severity": d.severity.value,
                "code": d.code,
                "message": d.message,
            }
            for d in ran.reading.diagnostics
        ],
        "total": ran.reading.total,
        "tail": "\n".join(ran.output.tail),
        "reason": ran.reason,
        "scratch": ran.scratch,
    }
