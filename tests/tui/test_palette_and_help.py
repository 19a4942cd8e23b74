"""The command palette, the help and the choice of a theme."""

from pathlib import Path

import pytest

from tests.tui.pictures import Picture
from tests.tui.terminal import Terminal, running
from treadle.tui.actions import ACTIONS, Where
from treadle.tui.key_bindings import key_label
from treadle.tui.screens.conversation import ConversationScreen
from treadle.tui.screens.help import Help
from treadle.tui.screens.palette import Palette
from treadle.tui.themes import THEMES


def shows(terminal: Terminal, text: str) -> bool:
    return any(text in line for line in Picture.of(terminal.app).lines)


async def test_palette_finds_an_action_by_scattered_characters(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.pilot.press("ctrl+p")
        await terminal.write("kycm")
        await terminal.until(lambda: shows(terminal, "Keys and commands"))
        await terminal.pilot.press("enter")
        await terminal.until(lambda: isinstance(terminal.app.screen, Help))


async def test_palette_closes_without_an_action(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.pilot.press("ctrl+p")
        await terminal.until(lambda: isinstance(terminal.app.screen, Palette))
        await terminal.pilot.press("escape")
        await terminal.until(lambda: isinstance(terminal.app.screen, ConversationScreen))


async def test_help_lists_every_key_of_the_screen(tmp_path: Path) -> None:
    async with running(tmp_path, size=(120, 200)) as terminal:
        await terminal.pilot.press("f1")
        await terminal.until(lambda: shows(terminal, "Keys anywhere"))
        lines = Picture.of(terminal.app).lines
        places = {Where.ANYWHERE, Where.CONVERSATION, Where.PROMPT, Where.TRANSCRIPT}
        for action in ACTIONS:
            if action.where in places and action.keys:
                key = key_label(action.keys[0])
                assert any(key in line and action.title in line for line in lines), action.name
        assert shows(terminal, "Delete character left")


async def test_help_of_an_overlay_lists_the_keys_of_the_overlay(tmp_path: Path) -> None:
    async with running(tmp_path, size=(80, 60)) as terminal:
        assert await terminal.app.run_named("theme")
        await terminal.pilot.press("f1")
        await terminal.until(lambda: shows(terminal, "Keys in a list"))
        assert not shows(terminal, "Keys in the conversation")


async def test_theme_is_shown_while_it_is_highlighted(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        assert await terminal.app.run_named("theme")
        await terminal.until(lambda: shows(terminal, "high-contrast"))
        await terminal.pilot.press("down")
        await terminal.until(lambda: terminal.app.theme == "light")
        assert THEMES["light"].variables["text-muted"] in Picture.of(terminal.app).svg()
        await terminal.pilot.press("escape")
        await terminal.until(lambda: terminal.app.theme == "dark")


async def test_theme_is_chosen_by_its_name(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        assert await terminal.app.run_named("theme", "light")
        assert terminal.app.theme == "light"
        assert await terminal.app.run_named("theme", "purple")
        assert terminal.app.theme == "light"
        await terminal.until(lambda: shows(terminal, "That is not a theme."))


@pytest.mark.parametrize("key", ["ctrl+p", "f1"])
async def test_enter_in_a_new_list_of_actions_does_not_end_the_terminal(
    tmp_path: Path, key: str
) -> None:
    async with running(tmp_path) as terminal:
        await terminal.pilot.press(key, "enter")
        await terminal.pilot.pause(0.2)
        assert terminal.app.is_running
        assert terminal.app.return_code is None
