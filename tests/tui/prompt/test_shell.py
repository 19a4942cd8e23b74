"""A message that begins with an exclamation mark runs in a shell."""

from pathlib import Path

import pytest

from tests.fakes.replies import Answer
from tests.tui.terminal import Terminal, running
from treadle.session.attachments import CodeAttachment
from treadle.tui.conversation.items import CallItem, CallState
from treadle.tui.prompt.draft import CommandOutput, Draft, Part, PastedText
from treadle.tui.prompt.entries import SlashCommand, entry_of
from treadle.tui.screens.context_plan import ContextPlanScreen

OUTPUT = CommandOutput("make", "it failed")


@pytest.fixture(autouse=True)
def _shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")


def command(terminal: Terminal) -> CallItem:
    """The item of the newest command."""
    return next(item for item in reversed(terminal.app.state.items) if isinstance(item, CallItem))


async def test_output_is_shown_and_attached_to_the_next_message(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        prompt = terminal.app.area.prompt
        await terminal.enter("!ls; printf '\\033[31mred\\n'; exit 3")
        await terminal.until(lambda: bool(prompt.text))
        assert command(terminal).summary == "exit status 3"
        assert "calc.py" in terminal.text()
        output = CommandOutput("ls; printf '\\033[31mred\\n'; exit 3", "calc.py\nred")
        assert prompt.draft.parts == (output, " ")
        await terminal.ask("why?")
        content = str(terminal.provider.requests[-1].messages[-1]["content"])
        assert "calc.py\nred" in content
        assert content.endswith("exit 3: 2 lines] why?")


async def test_output_can_be_removed(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        prompt = terminal.app.area.prompt
        await terminal.enter("!echo x")
        await terminal.until(lambda: bool(prompt.text))
        await terminal.pilot.press("backspace", "backspace")
        assert prompt.draft.parts == ()


async def test_output_goes_before_the_text_that_the_person_writes(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        await terminal.enter("!read -t 0.2 x; sleep 0.2; echo x")
        await terminal.write("fix ")
        await terminal.until(lambda: not isinstance(prompt.draft.parts[0], str))
        await terminal.write("it")
        assert prompt.draft.parts[1] == " fix it"


async def test_escape_stops_the_command_and_its_children(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.enter("!echo begun; sleep 1000 & sleep 1000; echo never")
        await terminal.until(lambda: "begun" in terminal.text().split("sleep 1000; echo")[-1])
        await terminal.pilot.press("escape")
        await terminal.until(lambda: command(terminal).state is CallState.CANCELLED)
        assert command(terminal).details == "begun"


async def test_long_output_is_bounded(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.enter("!seq 5000")
        await terminal.until(lambda: command(terminal).state is CallState.DONE)
        lines = command(terminal).details.split("\n")
        assert len(lines) < 400
        assert (lines[0], lines[-1]) == ("1", "5000")
        assert "… 4,640 lines are not kept …" in lines


async def test_a_slash_command_next_to_the_output_runs_and_keeps_it(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        await terminal.enter("!echo x")
        await terminal.until(lambda: bool(prompt.text))
        await terminal.enter("/theme light")
        await terminal.until(lambda: terminal.app.theme == "light")
        assert prompt.draft.parts == (CommandOutput("echo x", "x"), " ")
        await terminal.enter("/context")
        await terminal.until(lambda: isinstance(terminal.app.screen, ContextPlanScreen))
        assert not terminal.provider.requests


@pytest.mark.parametrize(
    ("parts", "is_command"),
    [
        ((OUTPUT, " /new"), True),
        (("/new ", OUTPUT, " "), True),
        ((CodeAttachment("a.py"), " ", OUTPUT, " /new"), True),
        ((OUTPUT, " why /new"), False),
        ((OUTPUT, " /tmp"), False),
        ((OUTPUT, " /new\nmore"), False),
        ((PastedText(1, "x"), OUTPUT, "/new"), False),
        ((OUTPUT, PastedText(1, "/new")), False),
    ],
)
def test_only_chips_may_precede_a_command(parts: tuple[Part, ...], is_command: bool) -> None:
    entry = entry_of(Draft(parts))
    assert isinstance(entry, SlashCommand) is is_command
    if isinstance(entry, SlashCommand):
        assert list(entry.chips) == [part for part in parts if not isinstance(part, str)]
        assert entry.argument == ""
