"""`treadle mcp`: serve the tools to another program over standard input and output."""

import argparse
import asyncio
import signal
import sys

from treadle.cli.command import Command, repository
from treadle.cli.output import tell


def configure(_parser: argparse.ArgumentParser) -> None:
    """There is nothing to choose beyond the repository."""


def run(options: argparse.Namespace) -> int:
    """Serve until the client goes away."""
    root = None if options.repo is None else repository(options)
    if sys.stdin.isatty():
        tell("This waits for an MCP client on standard input (docs/mcp.md); Ctrl-C ends it.")
    from treadle.mcp.server import serve_stdio

    # The thread that waits for the client's next line cannot be cancelled, so Ctrl-C ends the
    # process as it is: no store minds.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve_stdio(root))
    return 0


COMMAND = Command(
    "Serve the tools to an editor or agent over MCP (standard input and output).", configure, run
)
