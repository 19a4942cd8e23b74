"""The command `treadle doctor`: checks the installation, and explains how to fix problems."""

import argparse
import asyncio
import os

from treadle.app.doctor import Verdict, examine
from treadle.cli.command import Command, repository
from treadle.cli.output import print_json, print_line, print_text
from treadle.json_values import to_json

_MARKS = {Verdict.OK: "✓", Verdict.WARNING: "!", Verdict.FAILED: "✗"}


def configure(_parser: argparse.ArgumentParser) -> None:
    """Add nothing, since the command has no options."""


def run(options: argparse.Namespace) -> int:
    """Run all checks. Return 1 if one failed, otherwise 0."""
    findings = asyncio.run(examine(repository(options), os.environ))
    failed = any(finding.verdict is Verdict.FAILED for finding in findings)
    if options.json:
        print_json({"ok": not failed, "findings": to_json(findings)})
    else:
        for finding in findings:
            print_line(f"{_MARKS[finding.verdict]} {finding.name}: {finding.detail}")
            if finding.hint:
                print_text(f"    {finding.hint}")
    return 1 if failed else 0


COMMAND = Command("Check the installation and report problems.", configure, run)
