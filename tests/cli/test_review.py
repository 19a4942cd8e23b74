"""`treadle review` on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.command import treadle
from tests.commits.repository import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.create(tmp_path / "repo")
    made.commit("Begin", {"a.py": "def one():\n    return 1\n", "b.py": "from a import one\n"})
    made.write("a.py", "def two():\n    return 2\n")
    return made


def test_findings_decide_the_exit_status(repository: Repository) -> None:
    home = repository.root.parent / "home"
    ran = treadle("review", home=home, repo=repository.root)
    assert ran.status == 1
    assert "error    b.py:1  one is used here" in ran.out
    assert "a.py:1  a.two: added" in ran.out
    assert treadle("review", "--fail-on", "never", home=home, repo=repository.root).status == 0
    answer = json.loads(treadle("review", "--json", home=home, repo=repository.root).out)
    assert answer["findings"][0]["rule"] == "broken-use"
    assert {item["item"]["change"] for item in answer["items"]} == {"added", "removed"}
    log = json.loads(treadle("review", "--sarif", home=home, repo=repository.root).out)
    assert log["version"] == "2.1.0"


def test_unknown_base_is_an_error_of_usage(repository: Repository) -> None:
    ran = treadle("review", "nosuch", home=repository.root.parent / "home", repo=repository.root)
    assert ran.status == 2
    assert "git finds no commit 'nosuch'" in ran.err
