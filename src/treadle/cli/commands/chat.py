"""`treadle chat`: a conversation about a repository in an interactive terminal."""

import argparse
import os

from treadle.cli.command import Command, repository
from treadle.config.loader import load
from treadle.errors import ExitStatus


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the terminal."""
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="the model to ask")


def run(options: argparse.Namespace) -> int:
    """Open the terminal, and return the exit status."""
    from treadle.app.assistant import Choices
    from treadle.tui.app import TerminalApp
    from treadle.tui.local_workbench import LocalWorkbench

    root = repository(options)
    loaded = load(root, os.environ, {"model": options.model})
    app = TerminalApp(
        lambda: LocalWorkbench.open(root, loaded.settings), choices=Choices(options.model)
    )
    app.run()
    return ExitStatus.DONE


COMMAND = Command("Hold a conversation about a repository in the terminal.", configure, run)
