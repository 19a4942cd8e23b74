"""`treadle agent`: stores, resumes and lists conversations."""

import json
from pathlib import Path

import pytest

from tests.cli.command import treadle


@pytest.mark.slow
def test_conversation_with_an_agent_is_continued(tmp_path: Path) -> None:
    home, repo = tmp_path / "home", tmp_path / "repo"
    repo.mkdir()
    assert treadle("agent", "hello", home=home, repo=repo).status == 0
    again = treadle("agent", "and why?", "--conversation", "last", home=home, repo=repo)
    assert again.status == 0, again.err
    listed = treadle("agent", "--conversations", "--json", home=home, repo=repo)
    (only,) = json.loads(listed.out)["conversations"]
    assert (only["title"], only["turns"], only["agent"]) == ("hello", 2, "orchestrator")
    unknown = treadle("agent", "x", "--conversation", "nope", home=home, repo=repo)
    assert unknown.status != 0
    assert "treadle agent --conversations" in unknown.err
    sessions = treadle("sessions", "list", "--json", home=home, repo=repo)
    assert json.loads(sessions.out) == {"sessions": []}
