"""Runs `treadle mcp` in a process, and connects a client over standard streams."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mcp import Client, types
from mcp.client.stdio import StdioServerParameters

from tests.cli.command import environment, start_of, treadle


def client(
    home: Path,
    *,
    repo: Path | None = None,
    folder: Path | None = None,
    tools: str | None = None,
    flags: Sequence[str] = (),
    **options: Any,
) -> Client:
    """A client of a server for `repo`, or for the repository of `folder`."""
    chosen = ["--tools", tools] if tools else []
    program, *words = start_of({})
    server = StdioServerParameters(
        command=program,
        args=[*words, "mcp", *(["--repo", str(repo)] if repo else []), *chosen, *flags],
        env=environment(home, HOME=str(home)),
        cwd=folder,
    )
    return Client(server, **options)


def roots(*folders: Path) -> Callable[[object], Any]:
    """The answer of a client with these roots."""

    async def answer(_context: object) -> types.ListRootsResult:
        return types.ListRootsResult(
            roots=[types.Root.model_validate({"uri": folder.as_uri()}) for folder in folders]
        )

    return answer


def ok(result: types.CallToolResult) -> dict[str, Any]:
    """The structure of a successful result, which equals its text."""
    assert not result.is_error, result
    assert text(result) == result.structured_content
    return text(result)


def failure(result: types.CallToolResult) -> dict[str, Any]:
    """The object of a failed result."""
    assert result.is_error
    assert result.structured_content is None
    return text(result)


def text(result: types.CallToolResult) -> dict[str, Any]:
    """The text of a result, parsed as JSON."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    value: dict[str, Any] = json.loads(content.text)
    return value


def recorded(home: Path) -> list[dict[str, Any]]:
    """The runs of `treadle traces list`, newest first."""
    runs: list[dict[str, Any]] = json.loads(treadle("traces", "list", "--json", home=home).out)[
        "data"
    ]
    return runs


def spoken(home: Path, repo: Path, *messages: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """The output of a server that receives `messages`. Its input closes after it has answered all
    messages with an id, since closing cancels running calls.
    """
    words = [*start_of({}), "mcp", "--repo", str(repo)]
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        out = [process.stdout.readline() for message in messages if "id" in message]
        process.stdin.close()
        out.append(process.stdout.read())
        errors = process.stderr.read()
    return subprocess.CompletedProcess(words, process.returncode, "".join(out), errors)
