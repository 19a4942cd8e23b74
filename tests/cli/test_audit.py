"""The audit log has exactly one entry for each action on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Ran, ended, start, treadle
from tests.cli.test_approval_prompts import asking
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call
from treadle.identity.records import Action

EDIT = {"edits": [{"file": "a.py", "replace": {"old": "x = 1", "new": "x = 2"}}]}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.py").write_text("x = 1\n")
    check = folder / "check.sh"
    check.write_text("#!/bin/sh\n")
    check.chmod(0o755)
    (folder / ".env").write_text("TOKEN=abc\n")
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        '[checks.commands.own]\ncommand = ["./check.sh"]\nparser = "none"\n'
    )
    return folder


def command(repo: Path, *words: str) -> Ran:
    return treadle(*words, home=repo.parent / "home", repo=repo)


def log(repo: Path) -> list[dict[str, Any]]:
    """All entries, oldest first."""
    shown = treadle("audit", "--limit", "1000", "--json", home=repo.parent / "home")
    entries: list[dict[str, Any]] = json.loads(shown.out)["entries"]
    return entries[::-1]


def stage(repo: Path) -> None:
    called = command(repo, "tools", "call", "apply_code_edit", "--args", json.dumps(EDIT), "--json")
    assert called.status == 0, called.err


async def fill(repo: Path) -> None:
    """Record a conversation with a run, create an experiment, and stage a proposal."""
    async with FakeProvider([Answer("One."), Answer("Two.")]) as provider:
        for question in ("First?", "Second?"):
            ran = await ended(
                await start(
                    "ask", question, "--no-tools", home=repo.parent / "home", repo=repo,
                    TREADLE_BASE_URL=provider.base_url, TREADLE_API_KEY="k" * 12,
                )
            )  # fmt: skip
            assert ran.status == 0, ran.err
    made = command(repo, "experiment", "new", "LAST")
    assert made.status == 0, made.err
    stage(repo)


ACTIONS: tuple[tuple[Action | None, tuple[str, ...]], ...] = (
    (None, ("keys", "list")),
    (Action.KEY_CREATED, ("keys", "create", "ci")),
    (Action.KEY_REVOKED, ("keys", "revoke", "ci")),
    (Action.PROJECT_ADDED, ("projects", "add", "web")),
    (Action.USER_INVITED, ("users", "invite", "ada@example.com")),
    (None, ("traces", "list")),
    (Action.EXPORT, ("traces", "list", "--export", "csv", "-o", "list.csv")),
    (Action.EXPORT, ("traces", "export", "-o", "spans.jsonl")),
    (Action.EXPORT, ("traces", "export")),
    (Action.EXPORT, ("traces", "export", "--html", "LAST", "-o", "page.html")),
    (Action.EXPORT, ("experiment", "export", "last")),
    (None, ("sessions", "show", "last")),
    (Action.EXPORT, ("sessions", "export", "last")),
    (Action.EXPORT, ("sessions", "export", "last", "--output", "talk.md")),
    (Action.EXPORT, ("store", "backup", "backup")),
    (None, ("edits", "show", "LAST")),
    (Action.APPROVAL, ("edits", "approve", "LAST")),
    (Action.APPROVAL, ("edits", "undo", "LAST")),
    (Action.APPROVAL, ("edits", "redo", "LAST")),
    (Action.APPROVAL, ("checks", "run", "own", "--yes")),
    (None, ("traces", "prune", "--older-than", "1d", "--dry-run")),
    (Action.DELETION, ("sessions", "delete", "last", "--yes")),
    (Action.DELETION, ("traces", "delete", "run", "--query", "name:*", "--yes")),
    (None, ("traces", "delete", "run", "--query", "name:*", "--yes")),
)
"""The action of each command in the audit log. The commands run in this order."""


@pytest.mark.slow
async def test_each_action_has_one_entry(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(repo)
    monkeypatch.chdir(repo)
    assert treadle("keys", "create", "first", home=repo.parent / "home").status == 0
    known = len(log(repo))
    for action, words in ACTIONS:
        ran = treadle(*words, home=repo.parent / "home")
        assert ran.status == 0, (words, ran.err)
        new = log(repo)[known:]
        assert [each["action"] for each in new] == ([] if action is None else [action]), words
        assert all(each["who"] == "command line" for each in new)
        known += len(new)


@pytest.mark.slow
async def test_answers_in_the_terminal_have_one_entry_each(repo: Path) -> None:
    assert treadle("keys", "create", "first", home=repo.parent / "home").status == 0
    read = Answer("", (Call("read_file", {"path": ".env"}, id="c1"),))
    async with (
        FakeProvider([read, Answer("No.")]) as provider,
        asking(provider, repo) as (terminal, process),
    ):
        await terminal.until("Allow it?")
        terminal.type("n not this one\n")
        await process.wait()
    *_, entry = log(repo)
    assert (entry["action"], entry["who"]) == (Action.APPROVAL, "command line")
    assert entry["subject"].startswith("denied: ")
    assert [each["action"] for each in log(repo)].count(Action.APPROVAL) == 1


def test_action_without_an_identity_store_creates_none(repo: Path) -> None:
    stage(repo)
    assert command(repo, "edits", "deny", "LAST").status == 0
    assert not list((repo.parent / "home").rglob("identity.db*"))
