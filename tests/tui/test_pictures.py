"""The picture of a terminal: its comparison, and its size."""

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Static

from tests.tui import pictures
from tests.tui.pictures import Picture, check_picture

WORDS = "Grüße <b> & 漢字"


class Sample(App[None]):
    """Shows one text."""

    def __init__(self, text: Content) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Static(self._text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    return tmp_path


async def test_same_picture_is_accepted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Sample(Content(WORDS)).run_test(size=(40, 10)) as pilot:
        monkeypatch.setenv("UPDATE_PICTURES", "1")
        check_picture(pilot.app, "sample")
        monkeypatch.delenv("UPDATE_PICTURES")
        check_picture(pilot.app, "sample")
    assert (folder / "sample.svg").stat().st_size < 1_500


@pytest.mark.usefixtures("folder")
async def test_changed_text_is_reported_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Sample(Content(WORDS)).run_test(size=(40, 10)) as pilot:
        monkeypatch.setenv("UPDATE_PICTURES", "1")
        check_picture(pilot.app, "sample")
        monkeypatch.delenv("UPDATE_PICTURES")
        pilot.app.query_one(Static).update(Content("Hello"))
        await pilot.pause()
        with pytest.raises(AssertionError, match=f"-{WORDS}\n\\+Hello"):
            check_picture(pilot.app, "sample")


@pytest.mark.usefixtures("folder")
async def test_changed_colour_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Sample(Content(WORDS)).run_test(size=(40, 10)) as pilot:
        monkeypatch.setenv("UPDATE_PICTURES", "1")
        check_picture(pilot.app, "sample")
        monkeypatch.delenv("UPDATE_PICTURES")
        pilot.app.query_one(Static).update(Content.styled(WORDS, "red"))
        await pilot.pause()
        with pytest.raises(AssertionError, match="The text is the same"):
            check_picture(pilot.app, "sample")


@pytest.mark.usefixtures("folder")
async def test_missing_picture_is_reported() -> None:
    async with Sample(Content(WORDS)).run_test(size=(40, 10)) as pilot:
        with pytest.raises(AssertionError, match=r"UPDATE_PICTURES=1"):
            check_picture(pilot.app, "absent")


async def test_lines_have_the_text_of_the_terminal() -> None:
    async with Sample(Content("took 2.5 s\n  two")).run_test(size=(40, 3)) as pilot:
        assert Picture.of(pilot.app).lines == ["took 0.0 s", "  two", ""]
