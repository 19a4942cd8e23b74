"""`treadle chat`: a conversation about a repository in an interactive terminal."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.cli.command import Command, repository
from treadle.cli.modes import add_mode_option, chosen_mode
from treadle.cli.process_end import leave
from treadle.errors import ExitStatus, UsageError

if TYPE_CHECKING:
    from treadle.tui.app import OpenWorkbench


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the terminal."""
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="the model to ask")
    parser.add_argument(
        "--session",
        metavar="ID",
        help="resume a saved conversation: its id, a prefix of its id, or `last`",
    )
    parser.add_argument(
        "--attach",
        metavar="URL",
        nargs="?",
        const="",
        help="use the server at this address, which `treadle serve` prints; without an address, "
        "the server that runs for this repository; the variable TREADLE_TOKEN has its token if it "
        "needs one",
    )
    parser.add_argument("--no-tools", action="store_true", help="do not offer tools to the model")
    add_mode_option(parser)
    parser.add_argument(
        "--inline",
        action="store_true",
        help="print the conversation into the scrollback of the terminal, with a prompt of one "
        "line",
    )
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
    import asyncio

    running = _run_inline(options) if options.inline else _run_terminal(options)
    with asyncio.Runner() as runner:
        status = runner.run(running)
        return leave(status)  # closing the runner would wait for its threads


async def _run_inline(options: argparse.Namespace) -> int:
    if options.attach is not None:
        raise UsageError(
            "--inline and --attach exclude each other: an inline conversation uses no server.",
            hint="Remove one of them.",
        )
    from treadle.app.choices import Choices
    from treadle.cli.inline_chat import chat_inline
    from treadle.config.loader import load

    root = repository(options)
    loaded = load(root, os.environ, {"model": options.model})
    choices = Choices(options.model, tools=not options.no_tools)
    return await chat_inline(root, loaded, choices, options.session, chosen_mode(options))


async def _run_terminal(options: argparse.Namespace) -> int:
    from treadle.app.choices import Choices
    from treadle.cli.output import report
    from treadle.display.lines import short_id
    from treadle.tui.app import TerminalApp
    from treadle.tui.first_theme import first_theme
    from treadle.tui.process import local_workbench, run_terminal
    from treadle.tui.prompt.files import PromptFiles

    if options.debug:
        from treadle.app.logs import hide_logs

        hide_logs()
    if options.attach is None:
        root = repository(options)
        opening = local_workbench(root, options.model, debug=options.debug)
        name = str(root)
    else:
        name, opening = await _attached(options)
    app = TerminalApp(
        opening,
        choices=Choices(options.model, tools=not options.no_tools),
        session=options.session,
        mode=chosen_mode(options),
        theme=first_theme(os.environ),
        prompt_files=PromptFiles.of(name),
    )
    status = await run_terminal(app, mouse=not options.no_mouse)
    if status == ExitStatus.DONE and (conversation := app.state.conversation_id) is not None:
        attach = "" if options.attach is None else f" --attach {options.attach}"
        resume = f"treadle chat{attach} --session {short_id(str(conversation))}"
        report(f"To resume this conversation: {resume}")
    return status


async def _attached(options: argparse.Namespace) -> "tuple[str, OpenWorkbench]":
    """Return the root of the server's repository, and a function that opens it.

    Raises TreadleError.
    """
    if options.repo is not None and options.attach:
        raise UsageError(
            "--attach URL takes no --repo: the server has its own repository.",
            hint="Remove --repo.",
        )
    from treadle.tui.process import remote_workbench, served_root
    from treadle.tui.server_client import server_address

    address = (
        server_address(options.attach) if options.attach else running_address(repository(options))
    )
    return await served_root(address), remote_workbench(address)


def running_address(root: Path) -> str:
    """Return the address of a repository's running server. Raises UsageError if none is found."""
    from treadle.app.running_server import find_server

    address = find_server(root)
    if address is None:
        raise UsageError(
            f"No server runs for {root} that this program can use without a token.",
            hint="Start one with `treadle serve`, or pass its address: --attach URL.",
        )
    return address


COMMAND = Command("Hold a conversation about a repository in the terminal.", configure, run)
