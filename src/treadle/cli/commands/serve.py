"""`treadle serve`: serve a repository to pages, editors and other programs over HTTP."""

import argparse
import asyncio
import contextlib
import gc
import os
from threading import Thread

from treadle.cli.command import Command, repository
from treadle.cli.output import print_json, say, tell


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the address."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to bind to (default: %(default)s)"
    )
    parser.add_argument(
        "--port", type=_port, default=7070, metavar="N", help="0: any (default: %(default)s)"
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from treadle.config.loader import load
    from treadle.server import serve

    root = repository(options)
    loaded = load(root, os.environ, {})
    for warning in loaded.warnings:
        tell(f"! {warning}")

    def ready(address: str, token: str | None) -> None:
        page = address if token is None else f"{_reachable(address)}/?token={token}"
        if options.json:
            print_json({"type": "ready", "address": address, "token": token, "root": str(root)})
        else:
            say(f"Serving {root} at {address}  (Ctrl-C ends it)")
            say(f"  page  {page}\n  API   {address}/api/openapi.json\n  MCP   {address}/mcp")
            if token is not None:
                say(f"  Every request of a program needs the token {token}")
        if options.open:
            # Beside the server, which has to answer meanwhile; a browser may be the one that ends.
            Thread(target=_open, args=(page,), daemon=True).start()
        gc.freeze()  # all that is there stays: each look through it held up requests for 70 ms

    serving = serve(root, loaded, os.environ, host=options.host, port=options.port, ready=ready)
    with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
        asyncio.run(serving)
    return 0


def _reachable(address: str) -> str:
    """The same server at an address that every browser takes, if it is bound to all of them."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _open(page: str) -> None:
    """Show the page to the person, or tell that it could not be shown."""
    import webbrowser

    try:
        opened = webbrowser.open(page)
    except webbrowser.Error:
        opened = False
    if not opened:
        tell(f"! No browser could be opened here. Open {page} yourself.")


def _port(text: str) -> int:
    value = int(text) if text.isdecimal() and len(text) <= 5 else -1
    if not 0 <= value <= 65_535:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a port from 0 to 65535")
    return value


COMMAND = Command("Serve a repository over HTTP, on this machine.", configure, run)
