"""The search of the code in the terminal."""

from pathlib import Path
from unittest import mock

import pytest

from tests.fakes.clock import FakeClock
from tests.tui.terminal import Terminal, running
from treadle.session.attachments import CodeAttachment, ItemAttachment
from treadle.tui.screens.search import PAUSE_SECONDS, FoundCode, SearchScreen

CODE = '''def side(shape):
    """The length of one side."""
    return 2


class Square:
    def area(self):
        return side(self) ** 2
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "shapes.py").write_text(CODE)
    return tmp_path


async def search(terminal: Terminal, query: str) -> SearchScreen:
    """Open the search with a query, and wait for its results."""
    await terminal.until(lambda: bool(terminal.app._workbench.result()))
    assert await terminal.app.run_named("search", query)
    await terminal.until(lambda: isinstance(terminal.app.screen, SearchScreen))
    screen = terminal.app.screen
    assert isinstance(screen, SearchScreen)
    for _ in range(20):  # the index may still be empty
        await terminal.pilot.pause(0.2)
        if screen.highlighted is not None:
            return screen
        screen.reload()
    raise AssertionError(f"nothing was found for {query!r}")


async def test_results_have_a_preview_with_line_numbers(folder: Path) -> None:
    async with running(folder, size=(120, 30)) as terminal:
        await search(terminal, "side")
        await terminal.until(lambda: "1  def side(shape):" in terminal.text())
        assert "side  function" in terminal.text()
        assert "shapes.py:1-3" in terminal.text()


async def test_enter_attaches_exactly_the_item(folder: Path) -> None:
    async with running(folder) as terminal:
        await search(terminal, "side")
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "@shapes.side" in terminal.text())
        attached = terminal.app.area.prompt.draft.attachments
        assert list(attached) == [ItemAttachment("shapes.side", "shapes.py")]


def test_lines_of_text_are_attached_as_lines() -> None:
    found = FoundCode("README.md:3-9", "README.md:3-9", "chunk", "README.md", 3, 9)
    assert found.attachment == CodeAttachment("README.md", 3, 9)


async def test_walk_to_the_callers_and_back(folder: Path) -> None:
    async with running(folder, size=(120, 30)) as terminal:
        screen = await search(terminal, "side")
        await terminal.pilot.press("f5")
        await terminal.until(lambda: "callers of shapes.side" in terminal.text())
        assert screen.highlighted is not None
        assert screen.highlighted.canonical_path == "shapes.Square.area"
        await terminal.pilot.press("f6")
        await terminal.until(lambda: "called by shapes.Square.area" in terminal.text())
        await terminal.pilot.press("f7")
        await terminal.until(lambda: "There are no implementations of side." in terminal.text())
        await terminal.pilot.press("f8", "f8")
        await terminal.until(lambda: "results in" in terminal.text())
        assert screen.highlighted.canonical_path == "shapes.side"


async def test_code_opens_in_the_editor_at_its_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = folder / "code"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/opened\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", f"{editor} --wait")
    async with running(folder) as terminal:
        await search(terminal, "Square")
        await terminal.pilot.press("f4")
        opened = folder / "opened"
        await terminal.until(opened.exists)
        assert opened.read_text().split() == ["--wait", "-g", f"{folder}/repo/shapes.py:6"]


async def test_an_editor_that_fails_is_reported_in_the_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", str(folder / "absent"))
    async with running(folder) as terminal:
        await search(terminal, "Square")
        await terminal.pilot.press("f4")
        await terminal.until(lambda: "cannot be started" in terminal.text())


async def test_only_the_last_text_of_quick_typing_is_searched(folder: Path) -> None:
    clock = FakeClock()
    async with running(folder, clock=clock) as terminal:
        workbench = terminal.app._workbench.result()
        with mock.patch.object(workbench, "search", wraps=workbench.search) as searched:
            await terminal.pilot.press("ctrl+f")
            await terminal.until(lambda: isinstance(terminal.app.screen, SearchScreen))
            await terminal.write("squ")
            await clock.advance(PAUSE_SECONDS / 2)
            await terminal.write("are")
            for _ in range(5):
                await clock.advance(PAUSE_SECONDS)
                await terminal.pilot.pause(0.05)
            assert [call.args[0] for call in searched.call_args_list] == ["square"]


@pytest.mark.parametrize(
    ("name", "canonical_path", "kind", "title"),
    [
        ("__repr__", "attr.validators._MinLength.__repr__", "method", "_MinLength.__repr__"),
        ("parse", "crate::syntax::Parser::parse", "method", "Parser::parse"),
        ("min_len", "attr.validators.min_len", "function", "min_len"),
        ("docs/api.rst:1-9", "docs/api.rst:1-9", "chunk", "api.rst"),
    ],
)
def test_result_is_named_so_that_a_person_knows_it(
    name: str, canonical_path: str, kind: str, title: str
) -> None:
    assert FoundCode(name, canonical_path, kind, "docs/api.rst", 1, 9).title == title
