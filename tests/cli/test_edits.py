"""`treadle edits`, and approving changes at a real terminal."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.cli.command import Ran, treadle
from tests.cli.test_approval_prompts import asking
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call

TEXT = "".join(f"value_{number} = {number}\n" for number in range(40))


def edit(*pairs: tuple[str, str], file: str = "a.py") -> dict[str, object]:
    return {"edits": [{"file": file, "replace": {"old": old, "new": new}} for old, new in pairs]}


TWO = edit(("value_1 = 1\n", "value_1 = 'one'\n"), ("value_30 = 30\n", "value_30 = 'thirty'\n"))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "a.py").write_text(TEXT)
    return folder


def run(repo: Path, *words: str) -> Ran:
    return treadle("edits", *words, home=repo.parent / "home", repo=repo)


def stage(repo: Path, arguments: object = TWO) -> str:
    called = treadle(
        "tools", "call", "apply_code_edit", "--args", json.dumps(arguments), "--json",
        home=repo.parent / "home", repo=repo,
    )  # fmt: skip
    assert called.status == 0, called.err
    result = json.loads(called.out)
    assert result["state"] == "staged"
    return str(result["proposal_id"])


def test_proposal_is_listed_shown_applied_undone_and_redone(repo: Path) -> None:
    assert run(repo, "list").out == "This repository has no proposals.\n"
    proposal = stage(repo)
    listed = run(repo, "list").out.splitlines()
    assert listed[0].split() == ["ID", "STATE", "STAGED", "LINES", "WHAT"]
    assert "staged" in listed[1]
    assert "a.py" in listed[1]
    shown = run(repo, "show", "LAST")
    assert "[hunks 1 to 2]" in shown.out
    assert "-value_30 = 30\n+value_30 = 'thirty'\n" in shown.out
    beside = run(repo, "show", proposal[:13], "--side-by-side").out
    assert any("value_30 = 30" in line and "'thirty'" in line for line in beside.splitlines())
    assert "\x1b" not in shown.out + beside
    assert (repo / "a.py").read_text() == TEXT
    applied = run(repo, "approve", proposal)
    assert applied.out == "applied: a.py\n"
    assert "edits undo" in applied.err
    changed = (repo / "a.py").read_text()
    assert changed == TEXT.replace("= 1\n", "= 'one'\n").replace("= 30\n", "= 'thirty'\n")
    (repo / "a.py").write_text("# mine\n" + changed)
    assert run(repo, "undo", "LAST").out == "undone: a.py\n"
    assert (repo / "a.py").read_text() == "# mine\n" + TEXT
    assert run(repo, "redo", "LAST").status == 0
    assert (repo / "a.py").read_text() == "# mine\n" + changed
    (repo / "a.py").write_text(changed.replace("'one'", "'uno'"))
    conflict = run(repo, "undo", "LAST")
    assert conflict.status == 1
    assert "a.py" in conflict.err
    assert len(conflict.err.splitlines()) == 1
    assert (repo / "a.py").read_text() == changed.replace("'one'", "'uno'")


def test_selected_hunks_are_applied_and_the_others_denied(repo: Path) -> None:
    stage(repo)
    assert run(repo, "approve", "LAST", "--hunk", "3").status == 2
    answer = json.loads(run(repo, "approve", "LAST", "--hunk", "2", "--json").out)
    assert answer["state"] == "applied"
    assert (answer["files"][0]["added"], answer["files"][0]["removed"]) == (1, 1)
    assert (repo / "a.py").read_text() == TEXT.replace("= 30\n", "= 'thirty'\n")
    assert json.loads(run(repo, "show", "LAST", "--json").out)["files"][0]["denied_hunks"] == [1]
    assert "+1 -1" in run(repo, "list").out, "what was denied has changed no line"
    assert run(repo, "undo", "LAST").out == "undone: a.py; denied: 1 hunk\n"


@pytest.mark.slow
def test_stale_proposal_is_reported_and_restaged(repo: Path) -> None:
    stage(repo)
    (repo / "a.py").write_text("import os\n" + TEXT)
    assert "! a.py: it has changed since" in run(repo, "show", "LAST").out
    assert run(repo, "approve", "LAST").status == 1
    assert "conflicted" in run(repo, "list", "--state", "conflicted").out
    assert run(repo, "restage", "LAST").status == 0
    assert run(repo, "approve", "LAST").status == 0
    assert (repo / "a.py").read_text().startswith("import os\nvalue_0 = 0\nvalue_1 = 'one'\n")


@pytest.mark.slow
def test_denied_proposal_is_not_applied_later(repo: Path) -> None:
    stage(repo)
    assert run(repo, "deny", "LAST", "--because", "not now").out == "denied: a.py\n"
    refused = run(repo, "approve", "LAST")
    assert refused.status == 1
    assert "denied" in refused.err
    assert "You said: not now" in run(repo, "show", "LAST").out
    assert run(repo, "show", "ffff").status == 1


@pytest.mark.slow
def test_denying_every_hunk_denies_the_proposal(repo: Path) -> None:
    stage(repo)
    assert run(repo, "deny", "LAST", "--hunk", "1").out == "staged: a.py; denied: 1 hunk\n"
    assert run(repo, "deny", "LAST", "--hunk", "2").out == "denied: a.py\n"


def test_proposal_is_checked_in_a_copy_before_approval(repo: Path) -> None:
    (repo / "Makefile").write_text("check:\n\tgrep -q thirty a.py\n")
    stage(repo)
    assert run(repo, "check", "LAST").out.splitlines()[1].startswith("make check ")
    checked = json.loads(run(repo, "check", "LAST", "make check", "--json").out)
    assert (checked["status"], checked["scratch"]) == ("passed", True)
    assert (repo / "a.py").read_text() == TEXT
    run(repo, "deny", "LAST")


def test_checks_are_listed_and_run(repo: Path) -> None:
    (repo / "Makefile").write_text(
        "check:\n\tgrep -q value_3 a.py\ntest:\n\t@echo 'a.c:1:1: error: x'; false\n"
    )

    def checks(*words: str) -> Ran:
        return treadle("checks", *words, home=repo.parent / "home", repo=repo)

    listed = checks("list").out.splitlines()
    assert listed[0].split() == ["NAME", "KIND", "FROM", "COMMAND"]
    assert {line.partition("  ")[0] for line in listed[1:]} == {"make check", "make test"}
    passed = checks("run", "make check")
    assert (passed.status, "passed" in passed.out) == (0, True)
    failed = checks("run", "make test", "--json")
    assert (failed.status, json.loads(failed.out)["status"]) == (1, "failed")
    assert "· 1 error\n" in checks("run", "make test").out
    unknown = checks("run", "make chekc")
    assert unknown.status == 1
    assert "make check" in unknown.err


def test_program_inside_the_repository_needs_consent(repo: Path) -> None:
    own = repo / ".venv" / "bin" / "ruff"
    own.parent.mkdir(parents=True)
    own.write_text(f"#!/bin/sh\ntouch {repo}/ran\n")
    own.chmod(0o755)
    (repo / "ruff.toml").touch()
    stage(repo)

    def checks(*words: str) -> Ran:
        return treadle("checks", "run", "ruff", *words, home=repo.parent / "home", repo=repo)

    for refused in (checks(), run(repo, "check", "LAST", "ruff")):
        assert refused.status == 2
        assert ".venv/bin/ruff, which is inside this repository" in refused.err
        assert "--yes" in refused.err
    assert not (repo / "ran").exists()
    assert checks("--yes").status == 0
    assert (repo / "ran").exists()


async def test_user_accepts_one_hunk_and_denies_the_other_with_a_reason(repo: Path) -> None:
    replies = [Answer("", (Call("apply_code_edit", TWO, id="c1"),)), Answer("Half of it.")]
    async with FakeProvider(replies) as provider, asking(provider, repo) as (terminal, process):
        await terminal.until("n: no")
        assert "+value_30 = 'thirty'" in terminal.shown
        terminal.type("v\n")
        await terminal.until("modify a.py")
        terminal.type("h\n")
        await terminal.until("hunk 1 of 2")
        await terminal.until("y/n")
        seen = len(terminal.shown)
        terminal.type("n\n")
        await terminal.until("y/n", seen)
        terminal.type("y\n")
        await terminal.until("Why not?")
        terminal.type("numbers stay\n")
        await terminal.until("trace ")
        assert await asyncio.wait_for(process.wait(), 30) == 0
    assert (repo / "a.py").read_text() == TEXT.replace("= 30\n", "= 'thirty'\n")
    result = json.loads(str(provider.requests[1].messages[-1]["content"]))
    assert (result["state"], result["said"]) == ("applied", "numbers stay")
    assert result["files"][0]["denied"] == 1


async def test_user_edits_the_proposal_first(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/thirty/XXX/' \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    replies = [Answer("", (Call("apply_code_edit", TWO, id="c1"),)), Answer("Done.")]
    async with FakeProvider(replies) as provider, asking(provider, repo) as (terminal, process):
        await terminal.until("n: no")
        seen = len(terminal.shown)
        terminal.type("e\n")
        await terminal.until("n: no", seen)
        assert "+value_30 = 'XXX'" in terminal.shown[seen:]
        terminal.type("y\n")
        await terminal.until("trace ")
        assert await asyncio.wait_for(process.wait(), 30) == 0
    assert "value_30 = 'XXX'\n" in (repo / "a.py").read_text()
    result = json.loads(str(provider.requests[1].messages[-1]["content"]))
    assert any("changed the edit" in warning for warning in result["warnings"])
    assert os.environ["VISUAL"] == str(editor)


@pytest.mark.slow
async def test_session_approval_covers_the_next_change_of_the_file(repo: Path) -> None:
    first = edit(("value_1 = 1\n", "value_1 = 'one'\n"))
    second = edit(("value_2 = 2\n", "value_2 = 'two'\n"))
    replies = [
        Answer("", (Call("apply_code_edit", first, id="c1"),)),
        Answer("", (Call("apply_code_edit", second, id="c2"),)),
        Answer("Done."),
    ]
    async with FakeProvider(replies) as provider, asking(provider, repo) as (terminal, process):
        await terminal.until("n: no")
        terminal.type("s\n")
        await terminal.until("trace ")
        assert await asyncio.wait_for(process.wait(), 30) == 0
    text = (repo / "a.py").read_text()
    assert "value_1 = 'one'\nvalue_2 = 'two'\n" in text


@pytest.mark.parametrize("editor", ["no-such-editor", "ed 'open"])
@pytest.mark.slow
async def test_missing_editor_keeps_the_question_open(
    repo: Path, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    replies = [Answer("", (Call("apply_code_edit", TWO, id="c1"),)), Answer("Done.")]
    async with FakeProvider(replies) as provider, asking(provider, repo) as (terminal, process):
        await terminal.until("n: no")
        seen = len(terminal.shown)
        terminal.type("e\n")
        await terminal.until("Set EDITOR", seen)
        await terminal.until("n: no", seen)
        terminal.type("n later\n")
        await terminal.until("trace ")
        assert await asyncio.wait_for(process.wait(), 30) == 0
    assert (repo / "a.py").read_text() == TEXT


@pytest.mark.parametrize(
    ("keys", "meanwhile"),
    [
        ("e\n", "saved"),
        ("y\n", "saved"),
        ("h\ny\nn\n\n", "approved"),
        ("n no\n", "approved"),
        ("h\ny\nn\n\n", "denied"),
        ("y\n", "denied"),
    ],
)
async def test_events_during_a_question_are_shown_afterwards(
    repo: Path, monkeypatch: pytest.MonkeyPatch, keys: str, meanwhile: str
) -> None:
    monkeypatch.setenv("VISUAL", "true")
    replies = [Answer("", (Call("apply_code_edit", TWO, id="c1"),)), Answer("Done.")]
    async with FakeProvider(replies) as provider, asking(provider, repo) as (terminal, process):
        await terminal.until("n: no")
        if meanwhile == "saved":
            (repo / "a.py").write_text("# mine\n" + TEXT)
        else:
            word = "approve" if meanwhile == "approved" else "deny"
            assert (await asyncio.to_thread(run, repo, word, "LAST")).status == 0
        before = (repo / "a.py").read_text()
        terminal.type(keys if keys != "e\n" else "e\nn no\n")
        await terminal.until("trace ")
        assert await asyncio.wait_for(process.wait(), 30) == 0
    assert "Unexpected" not in terminal.shown
    assert "Traceback" not in terminal.shown
    assert (repo / "a.py").read_text() == before
    result = json.loads(str(provider.requests[1].messages[-1]["content"]))
    if meanwhile == "approved":
        assert (result["ok"], result["state"]) == (True, "applied"), "it is on the disk"
    else:
        by_words = meanwhile == "denied" or keys in {"e\n", "n no\n"}
        assert result["kind"] == ("denied" if by_words else "conflict")
        assert result["effect"] == "none"
        assert "estage" not in result["hint"], "no tool does that"


MANY = {
    "edits": [
        {"file": f"{name}.py", "replace": {"old": old, "new": new}}
        for name in "abc"
        for old, new in (("value_1 = 1\n", "value_1 = 'one'\n"), ("value_30 = 30\n", "x = 3\n"))
    ]
}
CHANGED = TEXT.replace("value_1 = 1\n", "value_1 = 'one'\n").replace("value_30 = 30\n", "x = 3\n")


@pytest.fixture
def three(repo: Path) -> Path:
    for name in "bc":
        (repo / f"{name}.py").write_text(TEXT)
    return repo


def texts(repo: Path) -> list[str]:
    return [(repo / f"{name}.py").read_text() for name in "abc"]


def test_selected_files_are_approved_and_the_others_denied(three: Path) -> None:
    stage(three, MANY)
    wrong = run(three, "approve", "LAST", "--file", "d.py")
    assert wrong.status != 0
    assert "'d.py'" in wrong.err
    assert "a.py, b.py, c.py" in wrong.err
    approved = run(three, "approve", "LAST", "--file", "./a.py", "--file", str(three / "c.py"))
    assert approved.status == 0, approved.err
    assert texts(three) == [CHANGED, TEXT, CHANGED]
    assert "denied: 2 hunks" in approved.out


def test_file_and_hunk_of_another_file_are_approved_together(three: Path) -> None:
    stage(three, MANY)
    assert run(three, "approve", "LAST", "--file", "b.py", "--hunk", "1").status == 0
    assert texts(three) == [TEXT.replace("= 1\n", "= 'one'\n"), CHANGED, TEXT]


def test_later_approval_excludes_a_denied_file(three: Path) -> None:
    stage(three, MANY)
    assert run(three, "deny", "LAST", "--file", "b.py").status == 0
    assert run(three, "deny", "LAST", "--hunk", "5").status == 0
    assert run(three, "approve", "LAST", "--file", "c.py").status == 0
    assert texts(three) == [TEXT, TEXT, TEXT.replace("value_30 = 30\n", "x = 3\n")]


def test_undo_names_changed_files_and_undoes_the_others_on_request(three: Path) -> None:
    stage(three, MANY)
    run(three, "approve", "LAST")
    mine = CHANGED.replace("value_1 = 'one'", "value_1 = 'mine'")
    (three / "b.py").write_text(mine)
    refused = run(three, "undo", "LAST")
    assert refused.status == 1
    assert "Conflict in 1 of 3 files" in refused.err
    assert "b.py" in refused.err
    assert "line 2" in refused.err
    assert "--keep-changed" in refused.err
    assert texts(three) == [CHANGED, mine, CHANGED]
    undone = run(three, "undo", "LAST", "--keep-changed")
    assert undone.status == 0
    assert undone.out == "partly undone: a.py, c.py\n"
    assert "b.py" in undone.err
    assert texts(three) == [TEXT, mine, TEXT]
    shown = json.loads(run(three, "show", "LAST", "--json").out)
    assert shown["state"] == "partly undone"
    assert [file["undone"] for file in shown["files"]] == [True, False, True]
    assert run(three, "undo", "LAST").status == 1
    assert run(three, "undo", "LAST", "--keep-changed").status == 1
    (three / "b.py").write_text(CHANGED)
    assert run(three, "undo", "LAST").out == "undone: a.py, b.py, c.py\n"
    assert texts(three) == [TEXT] * 3
    assert run(three, "redo", "LAST").status == 0
    assert texts(three) == [CHANGED] * 3
    assert run(three, "undo", "LAST").status == 0
    assert texts(three) == [TEXT] * 3


def test_partly_undone_proposal_is_redone(three: Path) -> None:
    stage(three, MANY)
    run(three, "approve", "LAST")
    (three / "c.py").unlink()
    refused = run(three, "undo", "LAST")
    assert "c.py" in refused.err
    assert run(three, "undo", "LAST", "--keep-changed").status == 0
    assert (three / "a.py").read_text() == TEXT
    redone = run(three, "redo", "LAST")
    assert redone.out.startswith("applied:")
    assert (three / "a.py").read_text() == CHANGED
    assert (three / "b.py").read_text() == CHANGED
    assert not (three / "c.py").exists()


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_undo_continues_if_one_path_is_not_a_file(three: Path, kind: str) -> None:
    stage(three, MANY)
    run(three, "approve", "LAST")
    (three / "b.py").unlink()
    if kind == "folder":
        (three / "b.py").mkdir()
    else:
        (three / "b.py").symlink_to(three / "a.py")
    refused = run(three, "undo", "LAST")
    assert "Conflict in 1 of 3 files" in refused.err
    assert run(three, "undo", "LAST", "--keep-changed").out == "partly undone: a.py, c.py\n"
    assert (three / "c.py").read_text() == TEXT


def test_undo_writes_nothing_if_all_files_changed(three: Path) -> None:
    stage(three, MANY)
    run(three, "approve", "LAST")
    for name in "abc":
        (three / f"{name}.py").write_text("gone\n")
    refused = run(three, "undo", "LAST", "--keep-changed")
    assert refused.status == 1
    assert "3 of 3 files" in refused.err
    assert json.loads(run(three, "show", "LAST", "--json").out)["state"] == "applied"
