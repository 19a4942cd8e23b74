"""`treadle experiment`: recorded calls, changed and run again, one module for each sub-command."""

import argparse

from treadle.cli.command import Command
from treadle.cli.commands import (
    experiment_cancel,
    experiment_compare,
    experiment_edit,
    experiment_export,
    experiment_list,
    experiment_new,
    experiment_run,
    experiment_show,
)

_ACTIONS = {
    "new": experiment_new,
    "list": experiment_list,
    "show": experiment_show,
    "edit": experiment_edit,
    "run": experiment_run,
    "cancel": experiment_cancel,
    "compare": experiment_compare,
    "export": experiment_export,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for module in _ACTIONS.values():
        module.configure(actions)


def run(options: argparse.Namespace) -> int:
    """Do what the sub-command says."""
    status: int = _ACTIONS[options.action].run(options)
    return status


COMMAND = Command(
    "Change a recorded model call, run it again, and compare the results.", configure, run
)
