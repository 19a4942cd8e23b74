"""Keys run the actions of the registry."""

from pathlib import Path

from tests.fakes.replies import Answer
from tests.tui.terminal import running
from treadle.tui.transcript.transcript import Transcript


async def test_a_key_of_the_conversation_works_in_the_prompt(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.pilot.press("escape")
        assert "Esc again: rewind" in terminal.text()


async def test_escape_in_the_transcript_goes_back_to_the_prompt(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("It adds.")]) as terminal:
        await terminal.ask("Hello")
        terminal.app.screen.query_one(Transcript).focus()
        await terminal.pilot.press("escape", "escape")
        assert terminal.app.area.prompt.has_focus
        assert "Esc again: rewind" in terminal.text()


async def test_keys_of_the_prompt_scroll_the_transcript(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("word\n\n" * 40)]) as terminal:
        await terminal.ask("Hello")
        transcript = terminal.app.screen.query_one(Transcript)
        end = transcript.scroll_y
        await terminal.pilot.press("pageup")
        assert transcript.scroll_y == end - transcript.size.height
        await terminal.pilot.press("ctrl+home")
        assert transcript.scroll_y == 0
        await terminal.pilot.press("pagedown")
        assert transcript.scroll_y == transcript.size.height
        await terminal.pilot.press("ctrl+end")
        assert transcript.scroll_y == transcript.max_scroll_y > 0
        assert transcript.following
        assert terminal.app.area.prompt.has_focus


async def test_a_page_key_scrolls_a_long_prompt_first(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("word\n\n" * 40)]) as terminal:
        await terminal.ask("Hello")
        transcript, prompt = terminal.app.screen.query_one(Transcript), terminal.app.area.prompt
        await terminal.write("\n" * 30)
        end, bottom = transcript.scroll_y, prompt.scroll_y
        await terminal.pilot.press("pageup")
        assert prompt.scroll_y < bottom
        assert transcript.scroll_y == end


async def test_an_action_runs_by_its_name(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("word\n\n" * 40)]) as terminal:
        await terminal.ask("Hello")
        transcript = terminal.app.screen.query_one(Transcript)
        transcript.scroll_to(y=0, animate=False, force=True)
        assert not transcript.following
        assert await terminal.app.run_named("follow")
        assert transcript.following


async def test_an_action_of_another_screen_does_not_run(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        assert not await terminal.app.run_named("no_such_action")
