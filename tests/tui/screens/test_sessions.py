"""The picker of sessions: it resumes, renames, branches, exports and deletes."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.fakes.replies import Answer, Pause
from tests.tui.screens.saved import on, opened, rows_shown, saved
from tests.tui.terminal import Terminal, running
from treadle.app.choices import Choices
from treadle.tui.conversation.items import PromptItem
from treadle.tui.screens.branches import BranchesScreen
from treadle.tui.screens.sessions import SessionsScreen
from treadle.tui.screens.words import WordsScreen

SIZES = [(80, 24), (120, 40), (40, 10)]


def prompts(terminal: Terminal) -> list[str]:
    return [item.text for item in terminal.app.state.items if isinstance(item, PromptItem)]


async def two_sessions(terminal: Terminal) -> None:
    """Save two conversations: the older with two turns, the newer with one."""
    await saved(terminal, ["first question", "second question"])
    await saved(terminal, ["another topic"])


async def shown(terminal: Terminal, questions: list[str]) -> None:
    """Save a conversation and show it."""
    await saved(terminal, questions)
    workbench = terminal.app._workbench.result()
    terminal.app.show_session(await workbench.conversation("last"))


@pytest.mark.parametrize("size", SIZES)
async def test_chosen_session_is_resumed(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(tmp_path, [Answer("three")], size=size) as terminal:
        await two_sessions(terminal)
        await opened(terminal, "sessions")
        assert "another topic" in terminal.text()
        await terminal.write("first")
        await terminal.until(lambda: "another topic" not in terminal.text())
        await terminal.pilot.press("enter")
        await terminal.until(lambda: prompts(terminal) == ["first question", "second question"])
        await terminal.ask("third question")
    assert [m["content"] for m in terminal.provider.requests[-1].messages[-3:]] == [
        "second question", "Answer to second question", "third question",
    ]  # fmt: skip


async def test_session_is_renamed_and_its_title_is_shown_literally(tmp_path: Path) -> None:
    async with running(tmp_path, size=(120, 40)) as terminal:
        await shown(terminal, ["first question"])
        await opened(terminal, "sessions")
        await terminal.pilot.press("ctrl+r")
        await on(terminal, WordsScreen)
        await terminal.pilot.press("ctrl+u")
        await terminal.write("[b")
        await terminal.pilot.press("right_square_bracket")
        await terminal.write(" [/x")
        await terminal.pilot.press("right_square_bracket", "enter")
        await terminal.until(lambda: terminal.text().count("[b] [/x]") == 2)
        assert terminal.app.state.title == "[b] [/x]"


async def test_deleted_session_is_gone_after_the_question(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await two_sessions(terminal)
        await opened(terminal, "sessions")
        await terminal.pilot.press("down", "ctrl+d")
        await terminal.until(lambda: "2 turns will be lost." in terminal.text())
        await terminal.pilot.press("escape")
        await rows_shown(terminal, SessionsScreen)
        assert "first question" in terminal.text()
        await terminal.pilot.press("ctrl+d", "y")
        await terminal.until(lambda: "first question" not in terminal.text())
        assert "another topic" in terminal.text()


async def test_deleting_the_session_on_the_screen_begins_a_new_one(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await shown(terminal, ["first question"])
        await opened(terminal, "sessions")
        await terminal.pilot.press("ctrl+d", "y")
        await terminal.until(lambda: terminal.app.state.conversation_id is None)
        await terminal.pilot.press("escape")
        await terminal.until(lambda: "This conversation was deleted." in terminal.text())


async def test_branches_are_walked_and_the_conversation_continues_there(tmp_path: Path) -> None:
    async with running(tmp_path, size=(120, 40)) as terminal:
        await shown(terminal, ["first question", "second question"])
        await opened(terminal, "sessions")
        await terminal.pilot.press("ctrl+b")
        await rows_shown(terminal, BranchesScreen)
        await terminal.pilot.press("ctrl+home", "enter")
        await terminal.until(lambda: prompts(terminal) == ["first question"])
        await saved(terminal, ["other question"], at=1)
        await opened(terminal, "sessions")
        assert "2 branches" in terminal.text()
        await terminal.pilot.press("ctrl+b")
        await terminal.until(lambda: "├ second question" in terminal.text())
        assert "└ ● other question" in terminal.text()
        await terminal.pilot.press("up", "enter")
        await terminal.until(lambda: prompts(terminal) == ["first question", "second question"])


@pytest.mark.parametrize(("name", "begins"), [("it.md", "# first question"), ("it.json", "{")])
async def test_session_is_exported_to_a_new_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, begins: str
) -> None:
    monkeypatch.chdir(tmp_path)
    async with running(tmp_path) as terminal:
        await shown(terminal, ["first question"])
        await opened(terminal, "sessions")
        for outcome in ("Written to", "already exists"):
            await terminal.pilot.press("ctrl+e")
            await on(terminal, WordsScreen)
            terminal.app.screen.query_one(Input).value = name
            await terminal.pilot.press("enter")
            await terminal.until(lambda outcome=outcome: outcome in terminal.text())  # type: ignore[misc]
    assert (tmp_path / name).read_text().startswith(begins)


async def test_cost_of_a_session_comes_from_its_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, size=(120, 40)) as terminal:
        await shown(terminal, ["first question"])
        workbench = terminal.app._workbench.result()
        (listed,) = await workbench.conversations()
        assert await workbench.conversation_costs([listed.id]) == {}
        monkeypatch.setattr(type(workbench), "conversation_costs", lambda *_: _costs(listed.id))
        await opened(terminal, "sessions")
        await terminal.until(lambda: "$0.25" in terminal.text())


async def _costs(identity: object) -> dict[object, float]:
    return {identity: 0.25}


async def test_answer_of_a_turn_that_began_elsewhere_appears_when_it_ends(tmp_path: Path) -> None:
    gate = asyncio.Event()
    slow = replace(Answer("the late answer").script(stream=True), before=(Pause(event=gate),))
    async with running(tmp_path, [slow]) as terminal:
        workbench = terminal.app._workbench.result()
        started = await workbench.send("asked elsewhere", conversation=None, choices=Choices())
        await terminal.provider.wait_for_requests(1)
        session = await workbench.conversation(str(started.conversation_id))
        terminal.app.show_session(session)
        await terminal.until(lambda: "asked elsewhere" in terminal.text())
        gate.set()
        await terminal.until(lambda: "the late answer" in terminal.text())
        assert "interrupted" not in terminal.text()
