"""`treadle checks`: list and run the tests, builds and linters of a project."""

import argparse
import os

from treadle.cli.checking import check
from treadle.cli.command import Command, allow_program, repository
from treadle.config.loader import load


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the checks of this repository and where each is defined")
    run_one = actions.add_parser("run", help="run a check; the exit status is 1 if it fails")
    run_one.add_argument("name", help="the check's name, as `checks list` shows it")
    allow_program(run_one)


def run(options: argparse.Namespace) -> int:
    """List the checks, or run the named one."""
    root = repository(options)
    settings = load(root, os.environ, {}).settings
    name = options.name if options.action == "run" else None
    agreed = name is not None and options.yes
    return check(root, settings, name, agreed=agreed, as_json=options.json)


COMMAND = Command("List and run the checks of a repository.", configure, run)
