"""The served repository: the given root, the root of the client, or the working directory."""

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
    """A folder with a file of that name."""
    made = tmp_path / name
    made.mkdir(parents=True)
    (made / f"{name}.txt").write_text("text\n")
    return made


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_given_root_precedes_the_root_of_the_client(
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


async def test_changed_roots_are_requested_again(tmp_path: Path, home: Path) -> None:
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


async def test_client_without_usable_roots_gets_the_folder(tmp_path: Path, home: Path) -> None:
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


async def test_home_directory_is_refused(tmp_path: Path, home: Path) -> None:
    folder(tmp_path, home.name)
    async with client(home, folder=tmp_path) as connected:
        assert len((await connected.list_tools()).tools) > 0
        told = failure(await connected.call_tool("list_dir", HERE))
    assert told["kind"] == "unavailable"
    assert "--repo" in told["hint"]


def test_missing_repository_is_refused_at_the_start(tmp_path: Path, home: Path) -> None:
    ran = treadle("mcp", home=home, repo=tmp_path / "gone")
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
