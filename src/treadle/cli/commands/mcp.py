"""The command `treadle mcp`: serves the tools over MCP on standard input and output."""

import argparse
import asyncio
import signal
import sys

from treadle.cli.command import Command, repository
from treadle.cli.large_imports import without_collection
from treadle.cli.output import report


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the groups of tools and the scope of traces to the parser."""
    parser.add_argument(
        "--tools",
        metavar="GROUPS",
        default="code",
        help="groups of tools to offer, separated by commas: code, edits, checks, plan, "
        "commands, traces, experiments, ui, or all (default: code)",
    )

    parser.add_argument(
        "--all-traces",
        action="store_true",
        help="let the tools read the traces of other repositories and programs (default: only "
        "those that Treadle recorded in this repository)",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until the client disconnects, and return the exit status."""
    from treadle.app.tool_groups import groups_named

    groups = groups_named(options.tools)
    root = None if options.repo is None else repository(options)
    if sys.stdin.isatty():
        report(
            "Waiting for an MCP client on standard input (docs/mcp.md); Ctrl-C stops the server."
        )
    with without_collection():
        from treadle.mcp.server import serve_stdio

    # A thread that waits for the client's next line cannot be cancelled. Ctrl-C therefore ends the
    # process at once, which is safe for all stores.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve_stdio(root, groups, all_traces=options.all_traces))
    return 0


COMMAND = Command(
    "Serve the tools over MCP to an editor or agent (standard input and output).", configure, run
)
