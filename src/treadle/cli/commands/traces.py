"""`treadle traces`: read what was recorded, one module for each sub-command."""

import argparse

from treadle.cli.command import Command
from treadle.cli.commands import traces_list, traces_search, traces_show, traces_summary

_ACTIONS = {
    "list": traces_list,
    "search": traces_search,
    "summary": traces_summary,
    "show": traces_show,
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


COMMAND = Command("Read what was recorded.", configure, run)
