"""Definitions of agents: validation, call cycles, and the order of their sources."""

from pathlib import Path

import pytest

from treadle.agents.definitions import Agents, Origin, find_agents, packaged_agents, parse_agent
from treadle.app.toolsets import listed_registry
from treadle.errors import ConfigError

GOOD = """+++
name = "mine"
description = "Looks at my things."
tools = ["list_labels"]
agents = ["data"]
[limits]
turns = 3
+++
You look at things.
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("TREADLE_HOME", str(home))
    (home / "config" / "agents").mkdir(parents=True)
    return home


def test_agents_of_the_package_name_existing_tools(home: Path, tmp_path: Path) -> None:
    registry = listed_registry(tmp_path)
    for agent in packaged_agents():
        assert set(agent.header.tools) <= set(registry.names()), agent.name
    assert {agent.name for agent in packaged_agents()} == {
        "orchestrator", "ui", "data", "experiment",
    }  # fmt: skip


@pytest.mark.parametrize("fence", ["+++", "---"])
def test_definition_is_parsed(fence: str) -> None:
    agent = parse_agent(GOOD.replace("+++", fence), origin=Origin.USER, source="mine.md")
    assert (agent.name, agent.header.limits.turns, agent.prompt) == (
        "mine", 3, "You look at things.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("You look.", "front matter is missing"),
        ("+++\nname = \n+++\nx", "not valid TOML"),
        ("+++\nname = 'mine'\n+++\nx", "description"),
        (GOOD.replace("turns = 3", "turns = 0"), "limits.turns"),
        (GOOD.replace("tools =", "tolls ="), "tolls"),
        (GOOD.replace("You look at things.", " "), "prompt is missing"),
        (GOOD.replace('"mine"', '"../mine"'), "name"),
        (GOOD.replace("list_labels", "final"), "every agent has `final`"),
        (GOOD.replace("list_labels", "call_data"), "name 'data' in `agents`"),
    ],
)
def test_invalid_definition_is_refused_with_its_file_and_field(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        parse_agent(text, origin=Origin.USER, source="mine.md")
    assert "mine.md" in str(caught.value)


def test_call_cycle_is_refused() -> None:
    def agent(name: str, *calls: str) -> str:
        return f'+++\nname = "{name}"\ndescription = "x"\nagents = {list(calls)}\n+++\nx'

    def all_of(*texts: str) -> Agents:
        parsed = [parse_agent(text, origin=Origin.USER, source="x.md") for text in texts]
        return Agents({each.name: each for each in parsed})

    assert len(all_of(agent("a", "b", "c"), agent("b", "c"), agent("c"))) == 3
    with pytest.raises(ConfigError, match="a → b → c → a"):
        all_of(agent("a", "b"), agent("b", "c"), agent("c", "a"))
    with pytest.raises(ConfigError, match="a → a"):
        all_of(agent("a", "a"))
    with pytest.raises(ConfigError, match="calls the agent 'b', which does not exist"):
        all_of(agent("a", "b"))


def test_agents_of_a_repository_need_trust(home: Path, tmp_path: Path) -> None:
    (home / "config" / "agents" / "mine.md").write_text(GOOD)
    own = tmp_path / ".treadle" / "agents"
    own.mkdir(parents=True)
    (own / "data.md").write_text(GOOD.replace('"mine"', '"data"').replace('["data"]', "[]"))
    found = find_agents(tmp_path, trusted=False)
    assert found.agents["mine"].origin is Origin.USER
    assert found.agents["data"].origin is Origin.PACKAGE
    assert "trusted_roots" in found.warnings[0]
    trusted = find_agents(tmp_path, trusted=True)
    assert trusted.agents["data"].origin is Origin.REPOSITORY
    assert trusted.warnings == ()


def test_link_that_leaves_the_repository_is_ignored(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(GOOD)
    own = tmp_path / "repo" / ".treadle" / "agents"
    own.mkdir(parents=True)
    (own / "mine.md").symlink_to(outside)
    assert "mine" not in find_agents(tmp_path / "repo", trusted=True).agents


def test_invalid_file_is_ignored_with_a_warning(home: Path, tmp_path: Path) -> None:
    folder = home / "config" / "agents"
    (folder / "a.md").write_text("no definition")
    (folder / "b.md").write_bytes(b"+++\xff")
    (folder / "c.md").write_text("+" * 300_000)
    (folder / "mine.md").write_text(GOOD)
    found = find_agents(tmp_path, trusted=False)
    assert "mine" in found.agents
    assert len(found.warnings) == 3
    (folder / "circle.md").write_text(GOOD.replace('"mine"', '"data"'))
    circled = find_agents(tmp_path, trusted=False)
    assert "data → data" in circled.warnings[-1]
    assert circled.agents["data"].origin is Origin.PACKAGE
    assert circled.agents["mine"].origin is Origin.USER
