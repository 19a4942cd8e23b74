"""Which repository is served: the one given, the client's root, or the folder of the start."""

from pathlib import Path

import pytest
from mcp import types
from mcp.shared.exceptions import MCPDeprecationWarning

from tests.cli.command import treadle
from tests.mcp.serving import client, failure, ok, roots

HERE = {"path": "."}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def folder(tmp_path: Path, name: str) -> Path:
    """A folder with one file of that name in it."""
    made = tmp_path / name
    made.mkdir(parents=True)
    (made / f"{name}.txt").write_text("text\n")
    return made


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_root_of_the_client_is_served_unless_one_is_given(
    tmp_path: Path, home: Path, mode: str
) -> None:
    given, offered = folder(tmp_path, "given"), folder(tmp_path, "offered")
    answer = roots(tmp_path / "gone", offered)
    async with client(
        home, repo=given, folder=tmp_path, mode=mode, list_roots_callback=answer
    ) as connected:
        entries = ok(await connected.call_tool("list_dir", HERE))["entries"]
        assert [entry["name"] for entry in entries] == ["given.txt"]
    async with client(home, folder=given, mode=mode, list_roots_callback=answer) as connected:
        for _ in range(2):
            entries = ok(await connected.call_tool("list_dir", HERE))["entries"]
            assert [entry["name"] for entry in entries] == ["offered.txt"]


async def test_a_client_that_changes_its_roots_is_asked_again(tmp_path: Path, home: Path) -> None:
    current = [folder(tmp_path, "one")]

    async def answer(context: object) -> object:
        return await roots(*current)(context)

    async with client(
        home, folder=tmp_path, mode="legacy", list_roots_callback=answer
    ) as connected:
        entries = ok(await connected.call_tool("list_dir", HERE))["entries"]
        assert [entry["name"] for entry in entries] == ["one.txt"]
        current[:] = [folder(tmp_path, "two")]
        with pytest.warns(MCPDeprecationWarning):
            await connected.send_roots_list_changed()
        entries = ok(await connected.call_tool("list_dir", HERE))["entries"]
        assert [entry["name"] for entry in entries] == ["two.txt"]


async def test_a_client_that_cannot_tell_the_roots_that_it_says_it_has_is_no_obstacle(
    tmp_path: Path, home: Path
) -> None:
    async def refuse(_context: object) -> types.ErrorData:
        return types.ErrorData(code=types.METHOD_NOT_FOUND, message="Method not found")

    repo = folder(tmp_path, "repo")
    async with client(home, folder=repo, mode="legacy", list_roots_callback=refuse) as connected:
        entries = ok(await connected.call_tool("list_dir", HERE))["entries"]
    assert [entry["name"] for entry in entries] == ["repo.txt"]


async def test_without_roots_the_repository_around_the_folder_is_served(
    tmp_path: Path, home: Path
) -> None:
    repo = folder(tmp_path, "repo")
    (repo / ".git").mkdir()
    inside = folder(repo, "inside")
    async with client(home, folder=inside) as connected:
        entries = ok(await connected.call_tool("list_dir", HERE))["entries"]
    assert {entry["name"] for entry in entries} == {"inside", "repo.txt"}


async def test_a_whole_home_is_not_taken_for_a_repository(tmp_path: Path, home: Path) -> None:
    folder(tmp_path, home.name)
    async with client(home, folder=tmp_path) as connected:
        assert len((await connected.list_tools()).tools) > 0
        told = failure(await connected.call_tool("list_dir", HERE))
    assert told["kind"] == "unavailable"
    assert "--repo" in told["hint"]


def test_a_repository_that_is_not_there_is_refused_at_the_start(tmp_path: Path, home: Path) -> None:
    ran = treadle("mcp", home=home, repo=tmp_path / "gone")
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
