"""`treadle traces`: reads, exchanges and deletes recorded traces, one module per sub-command."""

import argparse

from treadle.cli.command import Command
from treadle.cli.commands import (
    traces_delete,
    traces_export,
    traces_faults,
    traces_import,
    traces_list,
    traces_prune,
    traces_redact_preview,
    traces_search,
    traces_show,
    traces_summary,
)

_ACTIONS = {
    "list": traces_list,
    "search": traces_search,
    "summary": traces_summary,
    "show": traces_show,
    "faults": traces_faults,
    "export": traces_export,
    "import": traces_import,
    "prune": traces_prune,
    "delete": traces_delete,
    "redact-preview": traces_redact_preview,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for module in _ACTIONS.values():
        module.configure(actions)


def run(options: argparse.Namespace) -> int:
    """Run the sub-command."""
    status: int = _ACTIONS[options.action].run(options)
    return status


COMMAND = Command("Read, exchange and delete recorded traces.", configure, run)
