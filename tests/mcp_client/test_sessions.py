"""Sessions use the tools of MCP servers: `treadle ask` with a real server and a strict provider."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Ran, ended, start, treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call
from tests.fakes.schema_rules import schema_violations
from tests.mcp_client.conftest import HOSTILE


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    return folder


def configure(repo: Path, behaviour: str, extra: str = "", rules: str = "") -> None:
    config = repo.parent / "home" / "config"
    config.mkdir(parents=True)
    folder = repo.parent / "server"
    folder.mkdir()
    (config / "config.toml").write_text(f"{rules}\n{table(behaviour, folder)}\n{extra}\n")
    (config / "config.toml").chmod(0o600)


def table(behaviour: str, folder: Path) -> str:
    command = json.dumps([sys.executable, str(HOSTILE), behaviour, str(folder)])
    return f"[mcp.servers.s]\ncommand = {command}\n"


async def ask(provider: FakeProvider, repo: Path, *options: str) -> Ran:
    process = await start(
        "ask",
        "Use the tools.",
        *options,
        home=repo.parent / "home",
        repo=repo,
        TREADLE_BASE_URL=provider.base_url,
        TREADLE_API_KEY="sk-very-secret-0123456789abcdefghij",
    )
    return await ended(process)


def offered(provider: FakeProvider) -> dict[str, Any]:
    tools = provider.requests[0].body["tools"]
    assert isinstance(tools, list)
    return {each["function"]["name"]: each["function"] for each in tools}


async def test_the_model_calls_a_tool_and_gets_its_result(repo: Path) -> None:
    configure(repo, "plain", rules='[approvals]\nallow = ["s__null"]')
    called = Answer("", (Call("s__null", {}, id="c1"),))
    async with FakeProvider([called, Answer("Done.")]) as provider:
        ran = await ask(provider, repo)

    assert ran.status == 0
    message = provider.requests[1].messages[-1]
    result = json.loads(str(message["content"]))
    assert (result["ok"], result["server"], result["text"]) == (True, "s", "a\\x00b\\u200bc")
    shown = treadle("traces", "show", "last", "--json", home=repo.parent / "home")
    assert '"treadle.mcp.server": "s"' in shown.out
    assert '"treadle.mcp.transport": "stdio"' in shown.out


async def test_a_call_without_a_rule_is_refused_where_nobody_can_be_asked(repo: Path) -> None:
    configure(repo, "plain")
    called = Answer("", (Call("s__die", {}, id="c1"),))
    async with FakeProvider([called, Answer("Done.")]) as provider:
        await ask(provider, repo, "--json")

    result = json.loads(str(provider.requests[1].messages[-1]["content"]))
    assert result["kind"] == "denied"
    assert "tools/call" not in (repo.parent / "server" / "received").read_text()


async def test_a_strict_provider_accepts_the_tools_of_an_odd_server(repo: Path) -> None:
    configure(repo, "odd")
    async with FakeProvider([Answer("Done.")]) as provider:
        ran = await ask(provider, repo)

    assert ran.status == 0
    foreign = {name: tool for name, tool in offered(provider).items() if "__" in name}
    assert len(foreign) == 4
    for tool in foreign.values():
        assert schema_violations(tool["parameters"]) == []
    assert "INSTRUCTIONS" not in str(provider.requests[0].body)
    assert "twice" in ran.err


async def test_a_silent_server_does_not_keep_the_question_back(repo: Path) -> None:
    configure(repo, "silent", extra="[mcp]\nask_wait = 0.0")
    async with FakeProvider([Answer("Done.")]) as provider:
        ran = await ask(provider, repo)

    assert ran.status == 0
    assert "The MCP server s is being started" in ran.err
    assert not any("__" in name for name in offered(provider))


async def test_a_server_that_is_switched_off_fills_no_window(repo: Path) -> None:
    configure(repo, "plain", extra="enabled = false")
    async with FakeProvider([Answer("Done.")]) as provider:
        ran = await ask(provider, repo)

    assert ran.status == 0
    assert not any("__" in name for name in offered(provider))
    assert not (repo.parent / "server" / "starts").exists()


async def test_a_repository_cannot_start_a_server_without_consent(repo: Path) -> None:
    folder = repo.parent / "server"
    folder.mkdir()
    (repo / ".treadle").mkdir()
    (repo / ".treadle" / "config.toml").write_text(table("plain", folder))
    async with FakeProvider([Answer("Done.")]) as provider:
        ran = await ask(provider, repo)

    assert ran.status == 0
    assert "mcp.servers.s.command" in ran.err
    assert not (folder / "starts").exists()


async def test_a_large_result_is_cut_to_the_budget_of_the_model(repo: Path) -> None:
    configure(repo, "plain", rules='[approvals]\nallow = ["s__big"]')
    called = Answer("", (Call("s__big", {}, id="c1"),))
    async with FakeProvider([called, Answer("Done.")]) as provider:
        ran = await ask(provider, repo)

    assert ran.status == 0
    result = json.loads(str(provider.requests[1].messages[-1]["content"]))
    assert result["type"] == "excerpt"
    assert "begin" in result["head"]
    assert "end" in result["tail"]


def test_the_list_of_tools_and_the_doctor_show_servers_and_their_state(repo: Path) -> None:
    home = repo.parent / "home"
    configure(repo, "odd", extra='[mcp.servers.gone]\ncommand = ["no-such-program-here"]')

    listed = treadle("tools", "list", home=home, repo=repo)
    examined = treadle("doctor", home=home, repo=repo)

    assert "s__union" in listed.out
    assert "MCP server gone (stdio): failed" in listed.err
    assert "mcp s" in examined.out + examined.err
    assert "no-such-program-here was not found" in examined.out + examined.err


def test_a_foreign_tool_can_be_called_from_the_command_line(repo: Path) -> None:
    configure(repo, "plain", rules='[approvals]\nallow = ["s__*"]')

    ran = treadle("tools", "call", "s__null", "--json", home=repo.parent / "home", repo=repo)

    assert json.loads(ran.out)["text"] == "a\\x00b\\u200bc"
