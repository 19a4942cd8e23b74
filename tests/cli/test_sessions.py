"""`treadle sessions` as a user runs it, and what a killed process leaves."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.cli.command import Ran, ended, start, treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, Cut, Pause, delta, error, sse

READ = Call("read_file", {"path": "calc.py"}, id="c1")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    return folder


async def ask(provider: FakeProvider, repo: Path, *words: str) -> Ran:
    env = {"TREADLE_BASE_URL": provider.base_url}
    return await ended(await start("ask", *words, home=repo.parent / "home", repo=repo, **env))


def sessions(repo: Path, *words: str) -> Ran:
    return treadle("sessions", *words, home=repo.parent / "home", repo=repo)


def said(provider: FakeProvider, request: int = -1) -> list[str]:
    """What the user and the assistant said in a request, without the context."""
    roles = ("user", "assistant")
    messages = provider.requests[request].messages
    return [str(m["content"]).splitlines()[-1] for m in messages if m["role"] in roles]


@pytest.mark.slow
async def test_conversation_continues_from_any_message(repo: Path) -> None:
    replies = [Answer("One."), Answer("Two."), Answer("Other two."), Answer("Three.")]
    async with FakeProvider(replies) as provider:
        await ask(provider, repo, "First?")
        await ask(provider, repo, "Second?", "--session", "last")
        await ask(provider, repo, "Otherwise?", "--session", "last", "--at", "1")
        assert said(provider) == ["First?", "One.", "Otherwise?"]
        shown = sessions(repo, "show", "last").out
        assert "[4] You: Otherwise?" in shown
        assert "Second?" not in shown
        assert "Another branch ends at message 3" in shown
        assert "[2] You: Second?" in sessions(repo, "show", "last", "--at", "3").out
        ran = sessions(repo, "branch", "last", "--at", "3")
        assert "continues from message 3" in ran.out
        await ask(provider, repo, "Third?", "--session", "last")
        assert said(provider) == ["First?", "One.", "Second?", "Two.", "Third?"]


@pytest.mark.slow
async def test_branch_keeps_a_call_with_its_result(repo: Path) -> None:
    async with FakeProvider([Answer("", [READ]), Answer("Done.")]) as provider:
        await ask(provider, repo, "Read?")
    ran = sessions(repo, "branch", "last", "--at", "1")
    assert ran.status == 2
    assert "between a tool call and its result" in ran.err
    assert sessions(repo, "branch", "last", "--at", "2").status == 0
    assert "has no message 9" in sessions(repo, "branch", "last", "--at", "9").err


@pytest.mark.slow
async def test_given_title_is_kept(repo: Path) -> None:
    async with FakeProvider([Answer("One."), Answer("Two.")]) as provider:
        await ask(provider, repo, "First?")
        renamed = sessions(repo, "rename", "last", " Adding  numbers ")
        await ask(provider, repo, "Second?", "--session", "last")
    assert renamed.out == "The conversation “First?” is renamed to “Adding numbers”.\n"
    assert "Adding numbers" in sessions(repo, "list").out


@pytest.mark.slow
async def test_export_contains_the_whole_conversation(repo: Path) -> None:
    async with FakeProvider([Answer("", [READ]), Answer("It `adds`."), Answer("No.")]) as provider:
        await ask(provider, repo, "What?")
        await ask(provider, repo, "Not so?", "--session", "last", "--at", "0")
    whole = json.loads(sessions(repo, "export", "last", "--format", "json").out)
    assert (whole["version"], whole["branch"]) == (1, [0, 4, 5])
    assert [m["parent"] for m in whole["messages"]] == [None, 0, 1, 2, 0, 4]
    assert {m["state"] for m in whole["messages"]} == {"completed"}
    assert whole["messages"][2]["content"].startswith('{"ok":true')
    target = repo.parent / "told.md"
    first = ("export", "last", "--at", "3", "--output", str(target))
    assert sessions(repo, *first).status == 0
    text = target.read_text()
    for part in ("## You\n\nWhat?", '- `read_file` `{"path": "calc.py"}`', "It `adds`."):
        assert part in text
    assert "already exists" in sessions(repo, *first).err


@pytest.mark.slow
async def test_deleting_a_conversation_needs_confirmation(repo: Path) -> None:
    async with FakeProvider([Answer("One.")]) as provider:
        await ask(provider, repo, "First?")
    assert sessions(repo, "delete", "last").status == 2
    assert "Deleted: First?" in sessions(repo, "delete", "last", "--yes").out
    assert "There are no conversations" in sessions(repo, "list").err


@pytest.mark.parametrize("way", ["killed", "cut"])
async def test_shown_part_of_a_reply_is_kept_and_marked(repo: Path, way: str) -> None:
    end = Pause() if way == "killed" else Cut()
    half = sse(delta(content="Half an ans"), end, done=False)
    async with FakeProvider([half, Answer("Whole.")]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url}
        home = repo.parent / "home"
        process = await start("ask", "First?", home=home, repo=repo, **env)
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readexactly(11), 60) == b"Half an ans"
        if way == "killed":
            process.send_signal(signal.SIGKILL)
        await ended(process)
        shown = sessions(repo, "show", "last").out
        assert "[1] Treadle: Half an ans\n  (incomplete: " in shown
        again = await ask(provider, repo, "Second?", "--session", "last")
    assert again.out.startswith("Whole.")
    told = [str(message["content"]) for message in provider.requests[1].messages[1:]]
    assert told[1] == "Half an ans"
    assert told[2].startswith("The reply above was interrupted")
    assert told[2].endswith("Second?")


async def test_reply_without_shown_text_leaves_no_message(repo: Path) -> None:
    async with FakeProvider([error(400, "no")]) as provider:
        await ask(provider, repo, "First?")
    whole = json.loads(sessions(repo, "show", "last", "--json").out)
    assert [m["role"] for m in whole["messages"]] == ["user"]
    assert whole["messages"][0]["stop_reason"] == "failed"
