"""Unusual repositories: the tools and the index answer anyway."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import treadle
from treadle.code.files.walk import walk


def _found(root: Path) -> list[str]:
    return [entry.path for entry in walk(root)]


@pytest.mark.parametrize("pattern", ["inner/", "*", "/inner", "*.py"])
@pytest.mark.parametrize("own_git", [True, False])
def test_a_root_ignored_by_a_parent_folder_is_read(
    pattern: str, tmp_path: Path, *, own_git: bool
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    if own_git:
        subprocess.run(["git", "init", "-q", str(inner)], check=True)
    (tmp_path / ".gitignore").write_text(f"{pattern}\n")
    (inner / ".gitignore").write_text("mine.txt\n")
    for name in ("a.py", "mine.txt"):
        (inner / name).write_text("x = 1\n")
    ignored = pattern == "*.py" and not own_git  # a rule for files, not for the root
    assert ("a.py" in _found(inner)) is not ignored
    assert "mine.txt" not in _found(inner)


def test_a_root_in_an_ignored_folder_is_read(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("build\n*.log\n")
    deep = tmp_path / "build" / "lib"
    deep.mkdir(parents=True)
    (deep / "a.log").write_text("x\n")
    assert _found(deep) == ["a.log"]
    assert _found(tmp_path) == [".gitignore"]


def test_grep_with_a_glob_among_undecodable_names(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "fine.py").write_text("needle = 1\n")
    (repo / os.fsdecode(b"bad\xff.py")).write_text("needle = 2\n")
    arguments = json.dumps({"pattern": "needle", "glob": "*.py"})
    ran = treadle(
        "tools", "call", "grep", "--json", "--args", arguments, home=tmp_path / "h", repo=repo
    )
    assert ran.status == 0
    assert {file["file"] for file in json.loads(ran.out)["files"]} == {"fine.py", "bad?.py"}


@pytest.mark.parametrize(
    ("tool", "arguments", "status"),
    [
        ("grep", {"pattern": "x", "glob": "{a,b}" * 60}, 2),
        ("grep", {"pattern": "x", "path": "a" * 50_000}, 1),
        ("read_file", {"path": "a" * 50_000}, 1),
        ("read_file", {"path": "../" + "a" * 50_000}, 3),
        ("list_dir", {"path": "\ud800"}, 3),
    ],
)
def test_hostile_arguments_get_a_short_answer(
    tool: str, arguments: dict[str, str], status: int, tmp_path: Path
) -> None:
    (tmp_path / "repo").mkdir()
    words = ("tools", "call", tool, "--json", "--args", json.dumps(arguments))
    ran = treadle(*words, home=tmp_path / "h", repo=tmp_path / "repo")
    assert (ran.status, ran.err) == (status, "")
    assert json.loads(ran.out)["ok"] is False
    assert len(ran.out) < 6_000
