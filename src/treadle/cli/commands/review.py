"""The command `treadle review`: states what a change breaks, and which tests to run."""

import argparse

from treadle.app.code_index import open_index
from treadle.app.review import Review, is_at_least, review, sarif
from treadle.cli.command import Command, repository
from treadle.cli.output import print_json, print_line, print_text
from treadle.errors import ExitStatus
from treadle.json_values import to_json
from treadle.review.changes import Side
from treadle.review.findings import ReviewedItem, Severity
from treadle.toolbox.wording import counted

_NEVER = "never"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.add_argument(
        "revisions",
        nargs="?",
        metavar="BASE",
        help="the branch that your work started from, or two commits as A..B (default: HEAD)",
    )
    parser.add_argument(
        "--staged", action="store_true", help="review the staged changes instead of the files"
    )
    parser.add_argument("--sarif", action="store_true", help="print a SARIF log for code scanning")
    parser.add_argument(
        "--fail-on",
        choices=[*Severity, _NEVER],
        default=Severity.ERROR,
        help="exit with status 1 for findings of this severity or above (default: error)",
    )


def run(options: argparse.Namespace) -> int:
    """Review the changes, print the findings, and return the exit status."""
    root = repository(options)
    side = Side.INDEX if options.staged else Side.WORK_TREE
    with open_index(root) as index:
        reviewed = review(root, index, options.revisions, side)
    if options.sarif:
        print_json(sarif(reviewed))
    elif options.json:
        print_json(to_json(reviewed))
    else:
        _print(reviewed)
    if options.fail_on == _NEVER:
        return ExitStatus.DONE
    limit = Severity(options.fail_on)
    found = any(is_at_least(finding, limit) for finding in reviewed.findings)
    return ExitStatus.FAILED if found else ExitStatus.DONE


def _print(reviewed: Review) -> None:
    changed = f"{counted(reviewed.files, 'file')}, {counted(len(reviewed.items), 'changed item')}"
    print_line(f"{reviewed.base} → {reviewed.target}: {changed}")
    if reviewed.findings:
        print_text()
    for finding in reviewed.findings:
        print_line(f"{finding.severity:<7}  {finding.file}:{finding.line}  {finding.message}")
    if reviewed.items:
        print_text("\nChanged items")
    for item in reviewed.items:
        print_line(f"  {_described(item)}")
    if reviewed.tests_to_run:
        print_text("\nTests to run")
    for path in reviewed.tests_to_run:
        print_line(f"  {path}")
    if reviewed.not_reviewed:
        print_text("\nNot reviewed")
    for skipped in reviewed.not_reviewed:
        print_line(f"  {skipped.path}: {skipped.reason}")


def _described(reviewed: ReviewedItem) -> str:
    item = reviewed.item
    used = [
        counted(number, noun)
        for number, noun in (
            (reviewed.total_callers, "caller"),
            (len(reviewed.tests), "test"),
            (len(reviewed.overrides), "override"),
        )
        if number
    ]
    users = f" ({', '.join(used)})" if used else ""
    return f"{item.file}:{item.start_line}  {item.canonical_path}: {item.change}{users}"


COMMAND = Command(
    "State which uses a change breaks, which callers and tests it concerns, without a model.",
    configure,
    run,
)
