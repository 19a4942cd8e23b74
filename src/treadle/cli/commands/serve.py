"""The command `treadle serve`: serves a repository over HTTP."""

import argparse
import asyncio
import contextlib
import gc
import os
from html import escape
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from treadle.app.running_server import DEFAULT_PORT
from treadle.cli.command import Command, repository
from treadle.cli.large_imports import without_collection
from treadle.cli.output import print_json, print_text, report, report_line
from treadle.owner_only import open_output
from treadle.paths import data_path

if TYPE_CHECKING:
    from treadle.server.startup import Ready

VARIABLE = "TREADLE_SERVE_TOKEN"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options for the address and the access to the parser."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to bind to (default: %(default)s)"
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        metavar="N",
        help="the port; 0 selects a free port (default: %(default)s)",
    )
    parser.add_argument(
        "--require-token",
        action="store_true",
        help="require the token from every program, including your own on this machine",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(options: argparse.Namespace) -> int:
    """Serve until the user presses Ctrl-C, and return the exit status."""
    with without_collection():
        from treadle.config.loader import load
        from treadle.server import serve

    root = repository(options)
    loaded = load(root, os.environ, {})
    for warning in loaded.warnings:
        report_line(f"! {warning}")

    def ready(served: "Ready") -> None:
        for warning in served.warnings:
            report_line(f"! {warning}")
        if options.json:
            print_json({
                "type": "ready",
                "address": served.address,
                "page": served.page,
                "token": served.token,
                "root": str(root),
            })  # fmt: skip
        else:
            _print_addresses(root, served)
        if options.open:
            # A thread opens the browser, so that the server can answer the browser meanwhile.
            Thread(target=_open, args=(served,), daemon=True).start()
        gc.freeze()  # otherwise the garbage collection of loaded modules delays requests by 70 ms

    serving = serve(
        root,
        loaded,
        os.environ,
        host=options.host,
        port=options.port,
        require_token=options.require_token,
        ready=ready,
    )
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is the normal way to stop the server
        asyncio.run(serving)
    return 0


def _print_addresses(root: Path, served: "Ready") -> None:
    address = served.address
    print_text(f"Serving {root} at {address}  (Ctrl-C stops it)")
    print_text(f"  page  {served.page}\n  API   {address}/api/openapi.json\n  MCP   {address}/mcp")
    where = served.token_path or f"the variable {VARIABLE}"
    if served.knows_user:
        print_text(
            "  Your own programs on this machine need no token; all others need the token in "
            f"{where}"
        )
    else:
        print_text(f"  Every program needs the token in {where}, as `Authorization: Bearer TOKEN`")


def _open(served: "Ready") -> None:
    """Open the page in a browser, or report that this failed.

    All users of the machine can read the command line of the browser, so it must not contain the
    page key. If the browser needs the page key, it opens a private file that redirects to the link
    with the page key.
    """
    import webbrowser

    link = served.address if served.knows_user else _redirect(served.page)
    try:
        opened = webbrowser.open(link)
    except webbrowser.Error:
        opened = False
    if not opened:
        report(f"! Treadle could not open a browser. Open {served.page} yourself.")


def _redirect(page: str) -> str:
    """Write a private file that redirects a browser to the page, and return the URL of the file."""
    path = data_path("open-page.html")
    to = escape(page)
    with open_output(path) as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={to}">'.encode())
    return path.as_uri()


def _port(text: str) -> int:
    value = int(text) if text.isdecimal() and len(text) <= 5 else -1
    if not 0 <= value <= 65_535:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a port from 0 to 65535")
    return value


COMMAND = Command("Serve a repository over HTTP on this machine.", configure, run)
