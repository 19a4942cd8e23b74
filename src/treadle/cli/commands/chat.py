"""`treadle chat`: a conversation about a repository in an interactive terminal."""

import argparse
import os
import sys
from pathlib import Path

from treadle.cli.command import Command, repository
from treadle.cli.process_end import leave
from treadle.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the terminal."""
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="the model to ask")
    parser.add_argument(
        "--session",
        metavar="ID",
        help="resume a saved conversation: its id, a prefix of its id, or `last`",
    )
    parser.add_argument("--no-tools", action="store_true", help="do not offer tools to the model")
    parser.add_argument(
        "--no-mouse",
        action="store_true",
        help="leave the mouse to the terminal, which then selects text itself",
    )


def run(options: argparse.Namespace) -> int:
    """Open the terminal, and return the exit status."""
    if options.json:
        raise UsageError(
            "`treadle chat` has no machine-readable output.", hint="Use `treadle ask --json`."
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "`treadle chat` needs a terminal as its standard input and output.",
            hint='Use `treadle ask "…"` in a script or a pipe.',
        )
    if os.environ.get("TERM") == "dumb":
        raise UsageError(
            "`treadle chat` cannot draw in this terminal: TERM is `dumb`.",
            hint='Use `treadle ask "…"`, or another terminal.',
        )
    root = repository(options)

    import asyncio

    with asyncio.Runner() as runner:
        status = runner.run(_run_terminal(root, options))
        return leave(status)  # closing the runner would wait for its threads


async def _run_terminal(root: Path, options: argparse.Namespace) -> int:
    from treadle.app.choices import Choices
    from treadle.tui.app import TerminalApp
    from treadle.tui.first_theme import first_theme
    from treadle.tui.process import local_workbench, run_terminal
    from treadle.tui.prompt.files import PromptFiles

    app = TerminalApp(
        local_workbench(root, options.model),
        choices=Choices(options.model, tools=not options.no_tools),
        session=options.session,
        theme=first_theme(os.environ),
        prompt_files=PromptFiles.of(str(root)),
    )
    return await run_terminal(app, mouse=not options.no_mouse)


COMMAND = Command("Hold a conversation about a repository in the terminal.", configure, run)
