"""A question for approval in the terminal: shown without taking the keyboard, then answered."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.fakes.replies import Answer, Call
from tests.tui.approvals.asking import ask, finish, open_answers, open_proposal, result, stop
from tests.tui.approvals.scripts import CALC, DONE, EDIT, READ, UTIL, repository
from tests.tui.terminal import running
from treadle.tui.approvals.panel import ApprovalPanel
from treadle.tui.prompt.prompt import Prompt
from treadle.tui.screens.answer import AnswerScreen


async def test_question_leaves_the_keyboard_to_the_prompt(tmp_path: Path) -> None:
    repository(tmp_path)
    async with running(tmp_path, [READ, DONE]) as terminal:
        await ask(terminal)
        await terminal.write("yes and no")
        assert terminal.app.screen.query_one(Prompt).text == "yes and no"
        shown = terminal.text()
        assert "? read_file .env" in shown
        assert "It needs consent" in shown
        assert '"path": ".env"' in shown
        assert "Tab: answer" in shown
        await open_answers(terminal)
        await terminal.pilot.press("n")
        await terminal.write("not that file")
        await terminal.pilot.press("enter")
        await finish(terminal)
        assert isinstance(terminal.app.focused, Prompt)
        assert not terminal.app.screen.query_one(ApprovalPanel).display
        assert "not that file" in str(result(terminal))


async def test_each_answer_states_what_it_allows_before_it_is_chosen(tmp_path: Path) -> None:
    repository(tmp_path)
    async with running(tmp_path, [READ, DONE]) as terminal:
        await ask(terminal)
        await open_answers(terminal, "f4")
        shown = " ".join(terminal.text().replace("│", "").split())
        assert "In this conversation, also read .env with read_file without a question" in shown
        assert "In this repository, also read .env with read_file without a question" in shown
        await terminal.pilot.press("y")
        await finish(terminal)
        assert "COLOUR=blue" in str(result(terminal))


@pytest.mark.parametrize(("key", "scope"), [("s", "this session"), ("a", "always")])
async def test_allowed_call_is_not_asked_again_and_can_be_revoked(
    tmp_path: Path, key: str, scope: str
) -> None:
    repository(tmp_path)
    async with running(tmp_path, [READ, DONE, READ, DONE, READ, DONE]) as terminal:
        await ask(terminal)
        await open_answers(terminal)
        await terminal.pilot.press(key)
        await finish(terminal)
        await terminal.ask("again")  # nobody is asked
        await terminal.app.run_named("permissions")
        await terminal.until(lambda: "Read .env with read_file" in terminal.text())
        assert scope in terminal.text()
        await terminal.pilot.press("x")
        await terminal.until(lambda: "Revoked: Read .env with read_file" in terminal.text())
        await terminal.pilot.press("escape")
        await ask(terminal, "third")
        await open_answers(terminal)
        await terminal.pilot.press("y")
        await finish(terminal)


async def test_only_taken_hunks_are_written(tmp_path: Path) -> None:
    root = repository(tmp_path)
    async with running(tmp_path, [EDIT, DONE]) as terminal:
        await ask(terminal)
        assert "change 2 files" in terminal.text()
        screen = await open_proposal(terminal)
        await terminal.pilot.press("n", "space")
        assert screen.review is not None
        assert (screen.review.taken, screen.review.left_out) == ([1, 3], [2])
        assert "1 left out" in terminal.text()
        await open_answers(terminal, "a")
        assert "Applies 2 hunks." in terminal.text()
        await terminal.pilot.press("y")
        await terminal.until(lambda: "Why not this hunk?" in terminal.text())
        await terminal.write("keep its name")
        await terminal.pilot.press("enter")
        await finish(terminal)
    assert (root / "calc.py").read_text() == CALC.replace("LIMIT = 10", "LIMIT = 20")
    assert (root / "util.py").read_text() == UTIL.replace("strip()", "strip().lower()")
    assert "denied" in str(result(terminal))
    assert "keep its name" in str(result(terminal))


async def test_denied_proposal_writes_nothing_and_passes_the_words(tmp_path: Path) -> None:
    root = repository(tmp_path)
    async with running(tmp_path, [EDIT, DONE]) as terminal:
        await ask(terminal)
        await open_proposal(terminal)
        await terminal.pilot.press("d")
        await terminal.write("too much")
        await terminal.pilot.press("enter")
        await finish(terminal)
    assert (root / "calc.py").read_text() == CALC
    assert "too much" in str(result(terminal))


async def test_proposal_without_a_taken_hunk_is_not_applied(tmp_path: Path) -> None:
    root = repository(tmp_path)
    async with running(tmp_path, [EDIT, DONE]) as terminal:
        await ask(terminal)
        await open_proposal(terminal)
        await terminal.pilot.press("f", "right_square_bracket", "f", "a")
        await terminal.until(lambda: "No hunk is taken" in terminal.text())
        await terminal.pilot.press("escape")
        assert terminal.app.questions.first is not None  # the question still waits
        await stop(terminal)
    assert (root / "util.py").read_text() == UTIL


async def test_edited_result_is_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path)
    editor = tmp_path / "vi"
    editor.write_text('#!/bin/sh\necho "$1" > opened\nsed -i "s/LIMIT = 20/LIMIT = 30/" "$2"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    async with running(tmp_path, [EDIT, DONE]) as terminal:
        monkeypatch.setattr(terminal.app, "suspend", nullcontext)  # there is no real terminal
        await ask(terminal)
        screen = await open_proposal(terminal)
        monkeypatch.chdir(tmp_path)
        await terminal.pilot.press("n", "space", "e")
        await terminal.until(lambda: "has your content of calc.py" in terminal.text())
        assert "LIMIT = 30" in terminal.text()
        assert screen.review is not None
        assert screen.review.left_out == [2]  # the decision stays
        await open_answers(terminal, "a")
        await terminal.pilot.press("y")
        await terminal.until(lambda: "Why not this hunk?" in terminal.text())
        await terminal.pilot.press("enter")
        await finish(terminal)
    assert (tmp_path / "opened").read_text() == "+19\n"  # the line of the second hunk
    assert (root / "calc.py").read_text() == CALC.replace("LIMIT = 10", "LIMIT = 30")


async def test_end_of_the_turn_closes_the_question(tmp_path: Path) -> None:
    repository(tmp_path)
    async with running(tmp_path, [READ, DONE]) as terminal:
        await ask(terminal)
        await open_answers(terminal)
        await stop(terminal)
        await terminal.until(lambda: not isinstance(terminal.app.screen, AnswerScreen))


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
async def test_hostile_question_is_shown_literally(tmp_path: Path, size: tuple[int, int]) -> None:
    repository(tmp_path)
    call = Answer("", (Call("create_file", {"path": "new[/].py", "content": "[red]\x1b[31m\n"}),))
    async with running(tmp_path, [call, DONE], size=size) as terminal:
        await ask(terminal)
        assert "new[/].py" in terminal.text()
        await open_proposal(terminal)
        shown = terminal.text()
        assert "[red]␛[31m" in shown
        assert "\x1b" not in shown
        await open_answers(terminal, "a")
        await terminal.pilot.press("n", "enter")
        await finish(terminal)
