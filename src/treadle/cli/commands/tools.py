"""The command `treadle tools`: lists and calls tools, and shows statistics and approvals."""

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.app.code_index import open_index
from treadle.app.local_audit import record
from treadle.app.stores import Stores
from treadle.app.toolsets import listed_registry
from treadle.cli.command import Command, positive, repository
from treadle.cli.output import print_json, print_text, report, table
from treadle.cli.progress import IndexBar
from treadle.clock import when
from treadle.config.loader import load
from treadle.errors import NotFoundError, UsageError
from treadle.events import Outcome
from treadle.events.types import ErrorKind, ToolCallCompleted
from treadle.identity.records import Action
from treadle.spans.span import SpanStatus
from treadle.tools.approvals.grants import GrantStore
from treadle.tools.contract import Registry
from treadle.tools.failures import failure_content
from treadle.traces.amounts import duration
from treadle.traces.tool_stats import ToolStats
from treadle.visible import in_json

if TYPE_CHECKING:
    from treadle.mcp_client.servers import McpServers

_SERVER_SECONDS = 30.0
"""The maximum seconds that a call of a foreign tool waits for its MCP server."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the tools, one per line")
    schema = actions.add_parser("schema", help="print the JSON schema of a tool, or of all tools")
    schema.add_argument("name", nargs="?", help="the tool (default: all)")
    call = actions.add_parser("call", help="run a tool and print its result")
    call.add_argument("name", help="the tool")
    call.add_argument(
        "--args",
        default="{}",
        metavar="JSON",
        help="the arguments as JSON; `-` reads them from standard input",
    )
    stats = actions.add_parser(
        "stats", help="show call counts, outcomes and durations of each tool"
    )
    stats.add_argument(
        "--since", metavar="TIME", help="count only calls since this time: 30m, 12h, 7d or a date"
    )
    approvals = actions.add_parser(
        "approvals", help="list the permanent approvals of this repository"
    )
    approvals.add_argument(
        "--revoke", metavar="NUMBER", type=_number_or_all, help="revoke this approval, or `all`"
    )


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    if options.action == "stats":
        return show_stats(options.since, as_json=options.json)
    root = repository(options)
    if options.action == "approvals":
        if options.revoke is not None:
            return _revoke(root, options.revoke, as_json=options.json)
        return _list_approvals(root, as_json=options.json)
    if options.action == "call":
        arguments = sys.stdin.read() if options.args == "-" else options.args
        outcome = call_tool(root, options.name, arguments, quiet=options.json)
        return print_outcome(outcome, as_json=options.json, show=_pretty)
    registry = listed_registry(root)
    servers = asyncio.run(_examine_servers(root))
    registry = registry.with_tools(servers.tools() if servers else ())
    if options.action == "schema":
        return _schema(registry, options)
    return _list(registry, servers, options)


def _number_or_all(text: str) -> str:
    return text if text == "all" else str(positive(text))


async def _examine_servers(root: Path) -> "McpServers | None":
    """Start the MCP servers of the settings and return them, or None if there are none."""
    settings = load(root, os.environ, {}).settings
    if not settings.mcp.servers:
        return None
    from treadle.app.mcp_servers import examined_servers

    return await examined_servers(root, settings, os.environ, Stores.of_user())


def _list(registry: Registry, servers: "McpServers | None", options: argparse.Namespace) -> int:
    statuses = servers.statuses() if servers else ()
    if options.json:
        print_json(
            {
                "tools": [
                    {
                        "name": tool.name,
                        "version": tool.version,
                        "class": tool.tool_class,
                        "place": tool.place,
                        "effect": tool.effect,
                        "policy": tool.asks,
                        "description": tool.description,
                    }
                    for tool in registry
                ],
                "mcp_servers": [asdict(status) for status in statuses],
            }
        )
        return 0
    rows = [(tool.name, tool.effect.value, tool.description.split(". ")[0]) for tool in registry]
    print_text(table(rows, ("NAME", "EFFECT", "PURPOSE")))
    for status in statuses:
        about = (status.reason, *status.problems)
        words = " ".join(filter(None, about))
        report(f"MCP server {status.name} ({status.transport}): {status.state}. {words}".rstrip())
    for text in servers.unused if servers else ():
        report(text)
    return 0


def _schema(registry: Registry, options: argparse.Namespace) -> int:
    chosen = [spec for spec in registry.specs() if options.name in {None, spec.name}]
    if not chosen:
        raise NotFoundError(
            f"There is no tool {options.name!r}.", hint=f"There are: {', '.join(registry.names())}."
        )
    schemas = [
        {"name": s.name, "description": s.description, "parameters": s.parameters} for s in chosen
    ]
    print(
        json.dumps(
            schemas[0] if options.name else {"tools": schemas}, indent=None if options.json else 2
        )
    )
    return 0


def call_tool(root: Path, name: str, arguments: str, *, quiet: bool) -> Outcome:
    """Update the index, then call one tool outside a session.

    The call is recorded as a run of its own. `quiet` hides the progress of the index.
    """
    index = open_index(root)
    try:
        with IndexBar(quiet=quiet) as bar:
            index.refresh(bar)
    finally:
        index.close()
    return asyncio.run(_call(root, name, arguments))


async def _call(root: Path, name: str, arguments: str) -> Outcome:
    from treadle.app.application import open_app
    from treadle.mcp_client.servers import is_of_server

    async with open_app(root, only_tool=name) as app:
        registry = None
        if is_of_server(name):
            app.mcp.start()
            await app.mcp.wait(_SERVER_SECONDS)
            registry = app.registry.with_tools(app.mcp.tools())
            for text in app.mcp.news():
                report(text)
        outcome = await app.executor.call(name, arguments, vendor="command line", registry=registry)
    for text in app.warnings:
        report(text)
    return outcome


def print_outcome(
    outcome: Outcome, *, as_json: bool, show: Callable[[dict[str, object]], str]
) -> int:
    """Print the outcome of a tool call, and return the exit status.

    With `as_json`, it prints the exact message that a model would receive. Otherwise `show` formats
    the result for a person.
    """
    if isinstance(outcome, ToolCallCompleted):
        if as_json:
            print(in_json(outcome.content))
        else:
            print_text(show(json.loads(outcome.content)))
            report(outcome.ui.summary)
        return 0
    error = outcome.error
    if as_json:
        print(in_json(failure_content(error)))
    else:
        said = [text for text in (error.field, error.received) if text]
        where = f" ({': '.join(said)})" if error.field else ""
        report(f"{error.message}{where} {error.hint or ''}".rstrip())
    usage = {ErrorKind.PARSING, ErrorKind.VALIDATION, ErrorKind.UNKNOWN_TOOL}
    if error.kind in usage:
        return 2
    return 3 if error.kind in {ErrorKind.PERMISSION, ErrorKind.DENIED} else 1


def _pretty(result: dict[str, object]) -> str:
    return json.dumps(result, indent=2, ensure_ascii=False)


def _list_approvals(root: Path, *, as_json: bool) -> int:
    grants = GrantStore(Stores.of_user().approvals).list_grants(root)
    if as_json:
        print_json(
            {
                "approvals": [
                    {
                        "number": each.number,
                        "tool": each.grant.tool,
                        "path": each.grant.path or None,
                        "command": each.grant.command or None,
                        "program": each.grant.program or None,
                        "granted_us": each.granted_us,
                    }
                    for each in grants
                ]
            }
        )
    elif grants:
        rows = [
            (
                str(each.number),
                each.grant.tool,
                each.grant.path or each.grant.command or "(every call)",
                each.grant.program,
                when(each.granted_us),
            )
            for each in grants
        ]
        print_text(table(rows, ("NUMBER", "TOOL", "PATH OR COMMAND", "PROGRAM", "ALLOWED")))
    else:
        print_text("This repository has no permanent approvals.")
    return 0


def _revoke(root: Path, which: str, *, as_json: bool) -> int:
    """Revoke the approval with the number `which`, or all approvals if `which` is `all`.

    Raises NotFoundError for an unknown number.
    """
    number = None if which == "all" else int(which)
    count = GrantStore(Stores.of_user().approvals).revoke(root, number)
    if not count and number is not None:
        raise NotFoundError(
            f"This repository has no approval {number}.",
            hint="List the approvals with `treadle tools approvals`.",
        )
    if count:
        record(Action.APPROVAL, f"tools approvals --revoke {which}")
    if as_json:
        print_json({"revoked": count})
    else:
        print_text(f"{count} approval{'s' * (count != 1)} revoked.")
    return 0


_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def show_stats(since: str | None, *, as_json: bool) -> int:
    """Print statistics of the tool calls since `since`, and return the exit status.

    If `since` is None, all recorded calls are included.
    """
    since_us = 0 if since is None else moment(since, time.time())
    with closing(Stores.of_user().open_traces()) as store:
        found = store.tool_stats(since_us=since_us)
    if as_json:
        print_json({"since_us": since_us or None, "tools": [_json(stats) for stats in found]})
    elif found:
        headers = ("TOOL", "CALLS", "SUCCESS", "P50", "P95", "MAX", "NOT DONE")
        print_text(table([_row(stats) for stats in found], headers))
    else:
        print_text("No tool calls are recorded.")
    return 0


def moment(text: str, now: float) -> int:
    """Convert an ISO date or an age such as `12h` into Unix microseconds. Raises UsageError."""
    if ago := re.fullmatch(r"(\d{1,9})([smhdw])", text):
        return int((now - int(ago[1]) * _UNITS[ago[2]]) * 1e6)
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1e6)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since: {text!r} is not a time.",
            hint="Use a form such as 30m, 12h, 7d or 2026-01-31.",
        ) from error


def _json(stats: ToolStats) -> dict[str, object]:
    return {
        "name": stats.name,
        "calls": stats.calls,
        **{status.value: stats.by_status.get(status, 0) for status in SpanStatus},
        "success_rate": None if stats.success_rate is None else round(stats.success_rate, 4),
        "latency_ms": {
            "p50": _milliseconds(stats.p50_us),
            "p95": _milliseconds(stats.p95_us),
            "max": _milliseconds(stats.max_us),
        },
        "failures": stats.failures,
    }


def _milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1_000


def _row(stats: ToolStats) -> tuple[str, ...]:
    rate = "-" if stats.success_rate is None else f"{stats.success_rate:.1%}"
    unfinished = stats.by_status.get(SpanStatus.UNFINISHED, 0)
    ways = dict(sorted(stats.failures.items(), key=lambda way: (-way[1], way[0])))
    if unfinished:
        ways["unfinished"] = unfinished
    return (
        stats.name,
        f"{stats.calls:,}",
        rate,
        duration(stats.p50_us),
        duration(stats.p95_us),
        duration(stats.max_us),
        ", ".join(f"{count:,} {way}" for way, count in ways.items()),
    )


COMMAND = Command(
    "List the tools, show their schemas, call a tool, and show call statistics.", configure, run
)
