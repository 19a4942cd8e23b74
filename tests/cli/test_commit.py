"""`treadle commit`: real repositories, a scripted model, and answers at a terminal."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.command import ended, start, treadle
from tests.cli.test_approval_prompts import asking
from tests.commits.repository import Repository
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.create(tmp_path / "repo")
    made.commit("feat: begin", {"shop.py": "def price():\n    return 1\n", "notes.txt": "a\n"})
    return made


async def proposed(
    repository: Repository, replies: Sequence[Answer], *arguments: str
) -> tuple[int, str, FakeProvider]:
    async with FakeProvider(replies) as provider:
        process = await start(
            "commit", *arguments, home=repository.root.parent / "home", repo=repository.root,
            TREADLE_BASE_URL=provider.base_url,
        )  # fmt: skip
        ran = await ended(process)
    return ran.status, ran.out, provider


async def test_message_is_printed_and_nothing_is_committed(repository: Repository) -> None:
    repository.stage("shop.py", "def price():\n    return 2\n")
    status, out, provider = await proposed(
        repository, [Answer("feat: raise the price\n\nIt was too low.")], "--print"
    )
    assert status == 0
    assert out == "feat: raise the price\n\nIt was too low.\n\n"
    request = str(provider.requests[0].messages)
    assert "+    return 2" in request
    assert "feat: begin" in request
    assert "notes.txt" not in request
    assert repository.git("log", "--format=%s") == b"feat: begin\n"


async def test_a_message_that_breaks_a_rule_is_requested_again(repository: Repository) -> None:
    repository.stage("shop.py", "def price():\n    return 2\n")
    replies = [Answer("Raise " * 20), Answer("feat: raise the price")]
    status, out, provider = await proposed(repository, replies, "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["subject"] == "feat: raise the price"
    assert answer["files"] == [{"path": "shop.py", "status": "M"}]
    assert "119 characters" in str(provider.requests[1].messages[-1]["content"])
    shown = treadle("traces", "list", "--json", home=repository.root.parent / "home")
    assert shown.status == 0
    assert "commit" in shown.out


async def test_nothing_is_committed_without_a_terminal(repository: Repository) -> None:
    repository.stage("shop.py", "def price():\n    return 2\n")
    status, _, _ = await proposed(repository, [Answer("feat: raise")])
    assert status == 3
    assert repository.git("log", "--format=%s") == b"feat: begin\n"


def test_draft_without_a_model_names_the_files(repository: Repository) -> None:
    repository.stage("shop.py", "def price():\n    return 2\n")
    ran = treadle("commit", "--print", home=repository.root.parent / "home", repo=repository.root)
    assert ran.out == "chore: update shop.py\n\n"
    assert "Only the embedded model is available" in ran.err


@pytest.mark.parametrize(("answer", "subjects"), [("y", 2), ("n", 1), ("maybe\nn", 1)])
async def test_only_a_yes_commits(repository: Repository, answer: str, subjects: int) -> None:
    repository.stage("shop.py", "def price():\n    return 2\n")
    repository.write("notes.txt", "mine\n")
    async with (
        FakeProvider([Answer("feat: raise the price")]) as provider,
        asking(provider, repository.root, "commit") as (terminal, process),
    ):
        await terminal.until("n: no")
        terminal.type(f"{answer}\n")
        await process.wait()
    log = repository.git("log", "--format=%s").decode().splitlines()
    assert len(log) == subjects
    assert repository.git("status", "--porcelain", "notes.txt") == b" M notes.txt\n"
    if subjects == 2:
        assert log[0] == "feat: raise the price"


async def test_changes_that_are_staged_while_the_person_decides_are_not_committed(
    repository: Repository,
) -> None:
    repository.stage("shop.py", "def price():\n    return 2\n")
    async with (
        FakeProvider([Answer("feat: raise the price")]) as provider,
        asking(provider, repository.root, "commit") as (terminal, process),
    ):
        await terminal.until("n: no")
        repository.stage("notes.txt", "staged meanwhile\n")
        terminal.type("y\n")
        await terminal.until("nothing was committed")
        assert await process.wait() != 0
    assert repository.git("log", "--format=%s") == b"feat: begin\n"


async def test_edits_of_a_conversation_become_one_commit(repository: Repository) -> None:
    home = repository.root.parent / "home"
    edit = {"edits": [{"file": "shop.py", "replace": {"old": "return 1", "new": "return 2"}}]}
    replies = [Answer("", (Call("apply_code_edit", edit, id="c1"),)), Answer("Done.")]
    async with (
        FakeProvider(replies) as provider,
        asking(provider, repository.root, "ask", "Raise it") as (terminal, process),
    ):
        await terminal.until("n: no")
        terminal.type("y\n")
        await terminal.until("trace ")
        assert await process.wait() == 0
    repository.stage("notes.txt", "my staged change\n")
    message = [Answer("feat: raise the price")]
    async with (
        FakeProvider(message) as provider,
        asking(provider, repository.root, "commit", "--session", "last") as (terminal, process),
    ):
        await terminal.until("n: no")
        assert "notes.txt" not in terminal.shown
        terminal.type("y\n")
        await terminal.until("Committed ")
        assert await process.wait() == 0
    assert repository.tree() == {
        "shop.py": b"def price():\n    return 2\n", "notes.txt": b"a\n"
    }  # fmt: skip
    assert repository.git("status", "--porcelain") == b"M  notes.txt\n"
    again = treadle("commit", "--session", "last", home=home, repo=repository.root)
    assert again.status != 0
    assert "Nothing" in again.err


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        ("nothing", "Nothing is staged, so there is nothing to commit."),
        ("merge", "a merge is in progress"),
        ("no-git", "not a git repository"),
    ],
)
def test_errors_state_what_to_do(repository: Repository, prepare: str, message: str) -> None:
    root = repository.root
    if prepare == "merge":
        (root / ".git/MERGE_HEAD").write_bytes(repository.git("rev-parse", "HEAD"))
    elif prepare == "no-git":
        root = root.parent / "plain"
        root.mkdir()
    ran = treadle("commit", home=repository.root.parent / "home", repo=root)
    assert ran.status != 0
    assert message in ran.err
    assert "Traceback" not in ran.err
