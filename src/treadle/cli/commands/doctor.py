"""`treadle doctor`: check everything, and report failures and how to fix them."""

import argparse
import asyncio
import os

from treadle.app.doctor import Finding, Verdict, examine
from treadle.cli.command import Command, repository
from treadle.cli.output import print_json, say, say_line

_MARKS = {Verdict.OK: "✓", Verdict.WARNING: "!", Verdict.FAILED: "✗"}


def configure(_parser: argparse.ArgumentParser) -> None:
    """It has no options of its own."""


def run(options: argparse.Namespace) -> int:
    """Run all checks; returns 1 if one failed."""
    findings = asyncio.run(examine(repository(options), os.environ))
    failed = any(finding.verdict is Verdict.FAILED for finding in findings)
    if options.json:
        print_json({"ok": not failed, "findings": [_as_json(finding) for finding in findings]})
    else:
        for finding in findings:
            say_line(f"{_MARKS[finding.verdict]} {finding.name}: {finding.detail}")
            if finding.hint:
                say(f"    {finding.hint}")
    return 1 if failed else 0


def _as_json(finding: Finding) -> dict[str, str | None]:
    return {
        "name": finding.name,
        "verdict": finding.verdict,
        "detail": finding.detail,
        "hint": finding.hint,
    }


COMMAND = Command("Check the installation and report problems.", configure, run)
