"""The prompt sends what the person wrote, and everything that belongs to it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual import events
from textual.document._document import Document

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.tui.terminal import Terminal, running
from treadle.tui.prompt.chips import Chips, is_plain
from treadle.tui.prompt.draft import Draft, PastedText
from treadle.tui.prompt.prompt import Prompt


def sent(provider: FakeProvider) -> str:
    """The content of the newest message of the person."""
    return str(provider.requests[-1].messages[-1]["content"])


async def paste(terminal: Terminal, text: str) -> None:
    """Paste a text as a terminal does."""
    terminal.app.area.prompt.post_message(events.Paste(text))
    await terminal.pilot.pause()


async def test_keys_for_a_line_break_do_not_send(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.pilot.press("a", "shift+enter", "b", "alt+enter", "c", "ctrl+j", "d")
        assert terminal.app.area.prompt.draft.message == "a\nb\nc\nd"


async def test_long_paste_is_shown_as_one_chip_and_sent_as_text(tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(120))
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        await terminal.write("see ")
        await paste(terminal, text)
        assert "see [paste 1: 120 lines]" in terminal.text()
        await terminal.ask(" ok")
        assert sent(terminal.provider).endswith(f"see {text} ok")


async def test_backspace_removes_a_whole_chip_and_undo_restores_it(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        await paste(terminal, "x\n" * 50)
        await terminal.pilot.press("backspace")
        assert prompt.draft == Draft()
        prompt.undo()
        assert prompt.draft == Draft((PastedText(1, "x\n" * 50),))


async def test_cursor_never_stops_inside_a_chip(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        await terminal.write("a")
        await paste(terminal, "x\n" * 50)
        await terminal.pilot.press("left")
        assert prompt.cursor_location == (0, 1)
        await terminal.pilot.press("right", "b")
        assert prompt.draft.parts == ("a", PastedText(1, "x\n" * 50), "b")


async def test_chip_opens_in_place(tmp_path: Path) -> None:
    text = "\n".join(map(str, range(15)))
    async with running(tmp_path) as terminal:
        await paste(terminal, text)
        await terminal.pilot.press("f2")
        assert terminal.app.area.prompt.draft.parts == (text,)


@pytest.mark.parametrize("text", ["/quit", "!rm file", "//x", "\x1b[2Jboo", "a\x00b", "a\u2028b"])
async def test_paste_is_never_a_command(tmp_path: Path, text: str) -> None:
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        await paste(terminal, text)
        assert "\x1b" not in terminal.text()
        await terminal.ask("")
        assert sent(terminal.provider).endswith(text)


async def test_paste_with_other_line_ends_is_sent_with_line_feeds(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await paste(terminal, "a\r\nb\rc")
        assert terminal.app.area.prompt.draft.message == "a\nb\nc"


@pytest.mark.parametrize(
    ("typed", "message"), [("//help me", "/help me"), (" /help", " /help"), (" !ls", " !ls")]
)
async def test_a_message_may_begin_with_a_slash(tmp_path: Path, typed: str, message: str) -> None:
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        await terminal.ask(typed)
        assert sent(terminal.provider).endswith(message)


async def test_unknown_command_is_kept_and_not_sent(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.write("/serch x")
        await terminal.pilot.press("enter")
        await terminal.pilot.pause()
        assert "/serch is not a command. Do you mean /search" in terminal.text()
        assert terminal.app.area.prompt.text == "/serch x"
        assert not terminal.provider.requests


PASTES = st.lists(st.text(max_size=60) | st.just("y\n" * 20), max_size=4)


async def test_any_pasted_string_is_sent_exactly(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt

        @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(PASTES)
        def check(texts: list[str]) -> None:
            prompt.reset()
            for text in texts:
                prompt.paste(text)
            expected = "".join(text.replace("\r\n", "\n").replace("\r", "\n") for text in texts)
            assert prompt.draft.message == expected
            assert all(
                is_plain(prompt.get_line(row).plain) for row in range(prompt.document.line_count)
            )

        check()


@given(
    st.lists(
        st.text(max_size=30) | st.builds(PastedText, st.integers(1, 9), st.text(min_size=1)),
        max_size=5,
    )
)
def test_a_draft_survives_the_editor_text(parts: list[str | PastedText]) -> None:
    chips = Chips()
    draft = Draft(tuple(parts))
    assert chips.draft(chips.text(draft)).message == draft.message


async def test_edits_around_chips_leave_them_whole(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt

        @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(st.integers(0, 60), st.integers(0, 60), st.text("ab\n", max_size=3))
        def check(start: int, end: int, text: str) -> None:
            prompt.reset()
            prompt.load(Draft(("a", PastedText(1, "x" * 2000), "b\nc", PastedText(2, "y\n" * 20))))
            lines = prompt.document
            assert isinstance(lines, Document)
            prompt.replace(
                text,
                lines.get_location_from_index(min(start, len(prompt.text))),
                lines.get_location_from_index(min(end, len(prompt.text))),
            )
            for part in prompt.draft.parts:
                assert not isinstance(part, str) or "paste" not in part

        check()


async def test_typed_text_is_never_a_chip(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await paste(terminal, "x\n" * 50)
        terminal.app.area.prompt.insert("[paste 1: 50 lines]")
        assert terminal.app.area.prompt.draft.message == "x\n" * 50 + "[paste 1: 50 lines]"
        assert isinstance(terminal.app.focused, Prompt)
