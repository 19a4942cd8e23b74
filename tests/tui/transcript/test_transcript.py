"""A transcript in the terminal: sources, excerpts, the editor, search and copies."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.fakes.replies import Answer, Call
from tests.tui.terminal import Terminal, running
from treadle.tui.conversation.items import CallItem, OutcomeItem, PromptItem
from treadle.tui.prompt.area import PromptArea
from treadle.tui.prompt.draft import Draft
from treadle.tui.transcript.transcript import Transcript

READ = Answer("Let me look.", (Call("read_file", {"path": "calc.py"}),))
CODE = "Use it:\n\n```python\nadd(1, 2)\n```\n\nor\n\n```sh\n$ python calc.py\n```\n"


def transcript(terminal: Terminal) -> Transcript:
    return terminal.app.screen.query_one(Transcript)


async def select(terminal: Terminal, kind: type[object]) -> None:
    """Select the last item of a class with the keys of a person."""
    await terminal.pilot.press("ctrl+up", "end")
    for _ in range(20):
        await terminal.pilot.press("up")
        if isinstance(transcript(terminal).selected_item, kind):
            return
    raise AssertionError(f"no {kind.__name__} is selected")


async def test_a_source_unfolds_to_its_lines(tmp_path: Path) -> None:
    async with running(tmp_path, [READ, Answer("It adds.")]) as terminal:
        await terminal.ask("What does add do?")
        await terminal.until(lambda: "1 source · 1 tool call" in terminal.text())
        await select(terminal, OutcomeItem)
        await terminal.pilot.press("enter", "down")
        assert "▸ calc.py:1-3" in terminal.text()
        await terminal.pilot.press("enter")
        await terminal.until(lambda: '2      """Sum of two numbers.' in terminal.text())
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "Sum of two numbers." not in terminal.text())


async def test_lines_that_unfold_below_the_window_scroll_into_it(tmp_path: Path) -> None:
    async with running(tmp_path, [READ, Answer("It adds.")], size=(80, 14)) as terminal:
        await terminal.ask("What does add do?")
        await terminal.until(lambda: "1 source · 1 tool call" in terminal.text())
        await select(terminal, OutcomeItem)
        await terminal.pilot.press("enter", "down", "enter")
        await terminal.until(lambda: "3      return left + right" in terminal.text())
        assert "▾ calc.py:1-3" in terminal.text()


async def click(terminal: Terminal, line: str) -> None:
    """Click on the line of the terminal that contains a text."""
    rows = terminal.text().splitlines()
    row = next(number for number, text in enumerate(rows) if line in text)
    await terminal.pilot.click(offset=(8, row))


async def test_a_click_unfolds_a_call_and_shows_its_source(tmp_path: Path) -> None:
    async with running(tmp_path, [READ, Answer("It adds.")]) as terminal:
        await terminal.ask("What does add do?")
        await click(terminal, "● read_file")
        await terminal.until(lambda: "▸ calc.py:1-3" in terminal.text())
        await click(terminal, "▸ calc.py:1-3")
        await terminal.until(lambda: "1  def add(" in terminal.text())
        await click(terminal, "It adds")
        assert "1  def add(" in terminal.text()


async def test_a_missing_source_states_the_reason(tmp_path: Path) -> None:
    async with running(tmp_path, [READ, Answer("It adds.")]) as terminal:
        await terminal.ask("What does add do?")
        (tmp_path / "repo" / "calc.py").unlink()
        await select(terminal, CallItem)
        await terminal.pilot.press("enter", "down", "enter")
        await terminal.until(lambda: "There is no file or folder" in terminal.text())


async def test_a_source_opens_in_the_editor_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "vim"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/opened\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    lines = Call("read_file", {"path": "calc.py", "start_line": 2, "end_line": 3})
    async with running(tmp_path, [Answer("", (lines,)), Answer("It adds.")]) as terminal:
        await terminal.ask("What does add do?")
        await select(terminal, CallItem)
        opened = tmp_path / "opened"
        await terminal.pilot.press("o")
        await terminal.until(opened.exists)
        assert opened.read_text().split() == ["+2", str(tmp_path / "repo" / "calc.py")]


async def test_the_time_of_a_call_is_at_the_right_edge(tmp_path: Path) -> None:
    path = "a/" * 60 + "missing.py"
    replies = [Answer("", (Call("read_file", {"path": path}),)), Answer("No.")]
    async with running(tmp_path, replies, size=(50, 20)) as terminal:
        await terminal.ask("Read it")
        (line,) = [line for line in terminal.text().splitlines() if "read_file" in line]
        assert line.rstrip().endswith((" ms", " µs", " s"))
        assert "…" in line


async def test_find_counts_and_visits_the_matches(tmp_path: Path) -> None:
    replies = [Answer("The needle."), Answer("Hay."), Answer("A NEEDLE again.")]
    async with running(tmp_path, replies) as terminal:
        for text in ("one", "two", "three"):
            await terminal.ask(text)
        assert await terminal.app.run_named("find", "needle")
        await terminal.until(lambda: "2 of 2" in terminal.text())
        newest = transcript(terminal).selected
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "1 of 2" in terminal.text())
        assert (transcript(terminal).selected or 0) < (newest or 0)
        await terminal.pilot.press("f3")
        await terminal.until(lambda: "2 of 2" in terminal.text())
        await terminal.pilot.press("backspace", *"absent")
        await terminal.until(lambda: "no match" in terminal.text())
        await terminal.pilot.press("escape")
        await terminal.until(lambda: "no match" not in terminal.text())


async def test_find_unfolds_the_result_that_contains_the_text(tmp_path: Path) -> None:
    async with running(tmp_path, [READ, Answer("It adds.")]) as terminal:
        await terminal.ask("What does add do?")
        assert "Sum of two" not in terminal.text()
        await terminal.app.run_named("find", "Sum of two")
        await terminal.until(lambda: "Sum of two" in terminal.text().replace("find", "", 1))
        item = transcript(terminal).selected_item
        assert isinstance(item, CallItem)
        assert item.unfolded


async def test_prompts_are_visited_in_order(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("A."), Answer("B.")]) as terminal:
        await terminal.ask("first")
        await terminal.ask("second")
        texts = []
        for key in ("ctrl+up", "ctrl+up", "ctrl+down"):
            await terminal.pilot.press(key)
            item = transcript(terminal).selected_item
            assert isinstance(item, PromptItem)
            texts.append(item.text)
        assert texts == ["second", "first", "second"]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("copy_message", CODE.strip("\n") + "\n"),
        ("copy_code", "$ python calc.py\n"),
        ("copy_command", "python calc.py"),
    ],
)
async def test_copy_reaches_the_terminal_and_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, expected: str
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    program = tools / "xclip"
    program.write_text(f"#!/bin/sh\n/bin/cat > {tmp_path}/clipboard\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    async with running(tmp_path, [Answer(CODE)]) as terminal:
        await terminal.ask("How?")
        assert await terminal.app.run_named(action)
        await terminal.until(lambda: "xclip" in terminal.text())
        assert terminal.app.clipboard == expected
    assert (tmp_path / "clipboard").read_text() == expected


async def test_copy_without_a_program_uses_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    async with running(tmp_path, [Answer("Word.")]) as terminal:
        await terminal.ask("How?")
        await terminal.app.run_named("copy_message")
        await terminal.until(lambda: "(OSC 52)" in terminal.text())


async def test_a_cut_reply_is_shown_as_cut_with_the_reason_once(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("It ad", finish_reason="length")]) as terminal:
        await terminal.ask("What does add do?")
        shown = " ".join(terminal.text().split())
        assert "! The answer is incomplete: it reached the provider's length limit." in shown
        assert "truncated at" not in shown


async def test_sending_a_message_follows_the_answer_again(tmp_path: Path) -> None:
    replies: Sequence[Answer] = [Answer("word\n\n" * 40), Answer("Second.")]
    async with running(tmp_path, replies) as terminal:
        await terminal.ask("one")
        transcript(terminal).scroll_to(y=0, animate=False, force=True)
        await terminal.ask("two")
        assert "Second." in terminal.text()


async def test_sending_a_message_that_shrinks_the_prompt_follows_it(tmp_path: Path) -> None:
    replies: Sequence[Answer] = [Answer("word\n\n" * 40), Answer("Second.")]
    async with running(tmp_path, replies) as terminal:
        await terminal.ask("one")
        await terminal.write("a message that\nhas two lines")
        transcript(terminal).scroll_to(y=0, animate=False, force=True)
        await terminal.ask("")
        assert "Second." in terminal.text()


async def test_a_shell_command_is_followed_and_shown_once(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("word\n\n" * 40)]) as terminal:
        await terminal.ask("one")
        transcript(terminal).scroll_to(y=0, animate=False, force=True)
        await terminal.enter("!echo sum is $((1 + 2))")
        await terminal.until(lambda: "sum is 3" in terminal.text())
        await terminal.until(lambda: "[output of echo" in terminal.text())
        shown = terminal.text()
        assert shown.count("$((1 + 2))") - shown.count("[output of echo sum is $((1 + 2))") == 1


async def test_a_long_message_is_folded_and_found(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        terminal.app.area.prompt.paste("\n".join(f"row {number} of it" for number in range(500)))
        await terminal.ask(" ok")
        assert "row 9 of it" in terminal.text()
        assert "row 10 of it" not in terminal.text()
        assert "▸ the message has 500 lines" in terminal.text()
        await terminal.app.run_named("find", "row 300 of")
        await terminal.until(
            lambda: "▾ the message" in terminal.text() or "row 300" in terminal.text()
        )
        item = transcript(terminal).selected_item
        assert isinstance(item, PromptItem)
        assert item.unfolded


async def test_items_can_be_selected_right_after_the_conversation_changed(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("It adds.")]) as terminal:
        await terminal.ask("What does add do?")
        await terminal.pilot.press("ctrl+up")
        await terminal.app.run_named("new")
        transcript(terminal).select_next(1)  # the next refresh shows the new conversation
        await terminal.pilot.resize_terminal(60, 20)
        await terminal.until(lambda: "What does add do?" not in terminal.text())
        transcript(terminal).select_next(-1)
        assert transcript(terminal).selected_item is None


async def test_another_conversation_of_the_same_length_replaces_each_line(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Same."), Answer("Same.")]) as terminal:
        sessions = []
        for question in ("first question", "other question"):
            await terminal.app.run_named("new")
            await terminal.ask(question)
            workbench = await terminal.app.opened()
            sessions.append(await workbench.conversation(str(terminal.app.state.conversation_id)))
        for session in sessions:
            terminal.app.show_session(session)
            await terminal.pilot.pause(0.2)
        assert "other question" in terminal.text()
        assert "first question" not in terminal.text()


async def test_a_shell_command_may_end_after_the_conversation_changed(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.enter("!until [ -e go ]; do sleep 0.05; done; echo ended")
        await terminal.until(lambda: "◌ $" in terminal.text())
        await terminal.app.run_named("new")
        (tmp_path / "repo" / "go").touch()
        await terminal.until(lambda: "ended" in terminal.app.area.prompt.draft.message)


async def test_a_new_conversation_waits_for_the_message_that_is_sent(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("It adds.")]) as terminal:
        draft = Draft(("What does add do?",))
        terminal.app.on_prompt_area_send(PromptArea.Send(draft))
        await terminal.app.run_named("new")
        await terminal.until(lambda: "It adds." in terminal.text())
        assert "> What does add do?" in terminal.text()


async def test_pages_of_the_transcript_can_be_scrolled_to_the_end(tmp_path: Path) -> None:
    long = "\n\n".join(f"Line {number} has **words**. " + "x " * 90 for number in range(60))
    async with running(tmp_path, [Answer(long), Answer(long)]) as terminal:
        await terminal.ask("one")
        await terminal.ask("two")
        transcript(terminal).focus()
        for key in ("home", *["pagedown"] * 40, *["pageup"] * 5, *["pagedown"] * 8):
            await terminal.pilot.press(key)
        await terminal.until(lambda: "Line 59" in terminal.text())
        assert transcript(terminal).following
