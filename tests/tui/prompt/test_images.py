"""The path of an image becomes an attached image."""

import asyncio
from pathlib import Path

import pytest

from tests.fakes.replies import Answer
from tests.tui.terminal import running
from treadle.tui.prompt.completion_list import CompletionList
from treadle.tui.prompt.draft import ImageFile
from treadle.tui.prompt.images import pasted_image


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An image outside of the repository, with a space in its name."""
    path = tmp_path / "a dot.gif"
    path.write_bytes(b"GIF89a dot")
    return path


def test_paths_are_recognized_as_terminals_paste_them(image: Path) -> None:
    escaped = str(image).replace(" ", r"\ ")
    for text in (str(image), f"'{image}'", f'"{image}" ', escaped, image.as_uri()):
        assert pasted_image(text) == str(image)


@pytest.mark.parametrize(
    "text",
    ["", "x.gif", "'x.gif", "a\nb.gif", "see /tmp/x.gif", "\0.gif", "~nobody-x/a.gif", ".gif"],
)
def test_other_texts_are_not_images(text: str) -> None:
    assert pasted_image(text) is None


async def test_pasted_path_sends_the_image(tmp_path: Path, image: Path) -> None:
    async with running(tmp_path, [Answer("A dot.")]) as terminal:
        terminal.app.area.prompt.paste(str(image))
        assert "[image a dot.gif]" in terminal.text()
        await terminal.ask("what is it?")
        content = terminal.provider.requests[-1].messages[-1]["content"]
        assert isinstance(content, list)
        assert [part["type"] for part in content] == ["text", "image_url"]
        assert content[0]["text"].endswith("[image a dot.gif] what is it?")


async def test_image_of_the_repository_is_completed(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "dot.gif").write_bytes(b"GIF89a dot")
    async with running(tmp_path) as terminal:
        workbench = await terminal.app._workbench
        while not await workbench.complete("dot"):
            await terminal.pilot.pause(0.02)
        await terminal.write("@dot")
        await terminal.until(lambda: terminal.app.screen.query_one(CompletionList).is_open)
        await terminal.pilot.press("tab")
        assert terminal.app.area.prompt.draft.parts[0] == ImageFile(
            str(tmp_path / "repo" / "dot.gif")
        )


async def test_missing_image_gives_the_message_back(tmp_path: Path, image: Path) -> None:
    async with running(tmp_path) as terminal:
        terminal.app.area.prompt.paste(str(image))
        await asyncio.to_thread(image.unlink)
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "cannot be read" in terminal.text())
        assert terminal.app.area.prompt.draft.images == [str(image)]
