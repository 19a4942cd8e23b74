"""`treadle ask --record` and `--replay`: a session once more, with no provider and no tool."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Ran, ended, start, treadle
from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Call, Cut, delta, error, sse

KEY = "sk-very-secret-0123456789abcdefghij"
CALLS = (
    Call("request_code_context", {"token_budget": 2000, "hint": "add"}, id="c1"),
    Call("read_file", {"path": "no_such.py"}, id="c2"),
    Call("invented", {}, id="c3"),
)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    return folder


async def record(provider: FakeProvider, repo: Path, *options: str, question: str = "Add?") -> Ran:
    process = await start(
        "ask",
        question,
        "--record",
        str(repo.parent / "tape.jsonl"),
        *options,
        home=repo.parent / "home",
        repo=repo,
        TREADLE_BASE_URL=provider.base_url,
        TREADLE_API_KEY=KEY,
    )
    return await ended(process)


def replay(repo: Path, *options: str) -> Ran:
    """Elsewhere: another home, another folder, no provider."""
    elsewhere = repo.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    tape = str(repo.parent / "tape.jsonl")
    return treadle("ask", "--replay", tape, *options, home=repo.parent / "other", repo=elsewhere)


def kinds(ran: Ran) -> list[str]:
    return [json.loads(line)["type"] for line in ran.out.splitlines()]


@pytest.mark.parametrize("options", [[], ["--no-stream", "--attach", "calc.py:1-2"]])
async def test_replay_shows_the_recorded_session(repo: Path, options: list[str]) -> None:
    async with FakeProvider([Answer("Let me see.", CALLS), Answer("It **adds**.")]) as provider:
        first = await record(provider, repo, *options)
    (repo / "calc.py").write_text("changed = True\n")
    again = replay(repo)
    assert (first.status, again.status) == (0, 0)
    assert again.out == first.out
    assert "calc.py:1-2" in again.out
    assert "✗" in again.err


@pytest.mark.slow
async def test_two_replays_are_equal_byte_for_byte(repo: Path) -> None:
    replies: list[Reply] = [error(503, "busy", retry_after="0"), Answer("", CALLS), Answer("Done.")]
    async with FakeProvider(replies) as provider:
        first = await record(provider, repo, "--json")
    one, two = replay(repo, "--json"), replay(repo, "--json")
    assert one.out == two.out
    # But for the order in which results of one reply came, and for what takes time.
    took_time = {"IndexProgress", "ModelWaiting"}
    assert sorted(kind for kind in kinds(first) if kind not in took_time) == sorted(kinds(one))
    assert not (repo.parent / "other" / "data").exists()


async def test_secrets_never_enter_a_cassette(repo: Path) -> None:
    other = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    (repo / "conf.py").write_text(f'TOKEN = "{other}"\n')
    call = Call("read_file", {"path": "conf.py"}, id="c1")
    async with FakeProvider([Answer("", [call]), Answer(f"It is {other}.")]) as provider:
        await record(provider, repo, question=f"Is {KEY} or {other} used?")
    tape = (repo.parent / "tape.jsonl").read_text()
    assert KEY not in tape
    assert other not in tape
    assert replay(repo).status == 0


async def test_a_failed_session_fails_again(repo: Path) -> None:
    async with FakeProvider([sse(delta(content="Half an ans"), Cut(), done=False)]) as provider:
        first = await record(provider, repo)
    again = replay(repo)
    assert (first.status, again.status) == (4, 4)
    assert again.out == first.out == "Half an ans\n"


async def test_different_request_is_reported_with_its_difference(repo: Path) -> None:
    async with FakeProvider([Answer("", CALLS), Answer("It adds.")]) as provider:
        await record(provider, repo)
    tape = repo.parent / "tape.jsonl"
    lines: list[dict[str, Any]] = [json.loads(line) for line in tape.read_text().splitlines()]
    for line in lines:
        if line["line"] == "outcome" and line["slot"] == 1:
            line["event"]["error"]["message"] = "Another error."
    tape.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    ran = replay(repo)
    assert ran.status == 1
    assert "Request 2 of the replay differs" in ran.err
    assert "messages[4].content" in ran.err
    assert "Another error." in ran.err


@pytest.mark.slow
async def test_recording_includes_the_earlier_conversation(repo: Path) -> None:
    async with FakeProvider([Answer("One."), Answer("Two.")]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url}
        home = repo.parent / "home"
        await ended(await start("ask", "First?", home=home, repo=repo, **env))
        await record(provider, repo, "--session", "last", question="Second?")
    assert replay(repo).out.startswith("Two.")


@pytest.mark.slow
def test_file_that_is_not_a_recording_is_reported(repo: Path) -> None:
    tape = repo.parent / "tape.jsonl"
    for content in ("", "{}\n", "no json\n", '{"line": "head", "version": 1}\n'):
        tape.write_text(content)
        ran = replay(repo)
        assert ran.status == 2
        assert "is not a readable cassette" in ran.err
    tape.write_text('{"line": "head", "version": 99, "treadle": "9.9"}\n')
    assert "newer version of Treadle (9.9)" in replay(repo).err


async def test_existing_file_is_not_overwritten(repo: Path) -> None:
    (repo.parent / "tape.jsonl").write_text("mine")
    async with FakeProvider() as provider:
        ran = await record(provider, repo)
    assert ran.status == 2
    assert "already exists" in ran.err
    assert (repo.parent / "tape.jsonl").read_text() == "mine"
