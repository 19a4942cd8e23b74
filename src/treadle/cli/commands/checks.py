"""The command `treadle checks`: lists and runs the tests, builds and linters of a project."""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from treadle.checks.model import Check, CheckRun, CheckStatus, Diagnostic
from treadle.checks.service import Checks, Preview
from treadle.cli.command import Command, allow_program, repository
from treadle.cli.output import print_json, print_text, report_line, table
from treadle.clock import SystemClock
from treadle.config.loader import load
from treadle.config.model import Settings
from treadle.errors import ExitStatus, UsageError
from treadle.toolbox.wording import tallied
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


_SHOWN = 50


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
    checks = Checks(root, settings, os.environ, preview=preview)
    if name is None:
        return _list(checks, as_json=as_json)
    ran = asyncio.run(_run(root, checks, name, proposal, agreed=agreed, quiet=as_json))
    if as_json:
        print_json(_answer(ran))
    else:
        _print_run(ran)
    return ExitStatus.DONE if ran.status is CheckStatus.PASSED else ExitStatus.FAILED


async def _run(
    root: Path, checks: Checks, name: str, proposal: str | None, *, agreed: bool, quiet: bool
) -> CheckRun:
    async def progress(text: str) -> None:
        if not quiet:
            report_line(f"  {text}")

    found = await checks.get(name)
    program = await asyncio.to_thread(checks.program, found)
    if program is not None and program.inside and not agreed:
        await asyncio.to_thread(_consent, root, found, program)
    return await checks.run(
        found, clock=SystemClock(), progress=progress, proposal=proposal, allowed=program
    )


def _consent(root: Path, check: Check, program: Program) -> None:
    """Ask for consent to run a program inside the repository. Raises UsageError if it is denied."""
    from treadle.app.stores import approvals_path
    from treadle.cli.approval_prompts import prompt
    from treadle.tools.approvals.grants import Grant, GrantStore

    store = GrantStore(approvals_path())
    grant = Grant.of("run_check", "", check.command(), program)
    root = root.resolve()
    if grant in (each.grant for each in store.list_grants(root)):
        return
    report_line(f"? run {check.command()}")
    report_line(f"  The program is {program}.")
    answer = ""
    while sys.stdin.isatty() and answer not in {"y", "yes", "a", "always"}:
        prompt("Allow it? y: yes, once · a: always in this repository · n: no")
        answer = sys.stdin.readline().strip().lower()
        if answer in {"", "n", "no"}:
            break
    if answer in {"a", "always"}:
        store.remember(root, [grant], SystemClock().now_us())
    elif answer not in {"y", "yes"}:
        raise UsageError(
            f"The check {check.name} did not run: you did not allow {program}.",
            hint="Inspect that program, then pass --yes to run it.",
        )


def _list(checks: Checks, *, as_json: bool) -> int:
    found = asyncio.run(checks.find())
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


def _print_run(ran: CheckRun) -> None:
    where = " (in a copy with the proposal applied)" if ran.scratch else ""
    for each in ran.reading.diagnostics[:_SHOWN]:
        print_text(_line(each))
    if ran.reading.total > _SHOWN:
        print_text(f"… {ran.reading.total - _SHOWN} more")
    if not ran.reading.diagnostics and ran.status is not CheckStatus.PASSED:
        for line in (*ran.output.head, *ran.output.tail):
            print_text(line)
    status = ran.status.value.replace("_", " ")
    parts = (
        f"{ran.command}: {status} in {ran.seconds:.1f} s{where}",
        tallied(ran.reading.counts),
        ran.reason,
    )
    print_text(" · ".join(filter(None, parts)))


def _line(diagnostic: Diagnostic) -> str:
    column = f":{diagnostic.column}" if diagnostic.column else ""
    code = f" [{diagnostic.code}]" if diagnostic.code else ""
    line = f":{diagnostic.line}" if diagnostic.line else ""
    where = f"{diagnostic.file}{line}{column}"
    return f"{where}: {diagnostic.severity.value}: {diagnostic.message}{code}"


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
