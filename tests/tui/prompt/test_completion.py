"""A word after @ or / is completed, and attaches exactly the chosen code."""

from pathlib import Path

from tests.fakes.replies import Answer
from tests.tui.terminal import Terminal, running
from treadle.app.completion import complete
from treadle.code import CodeIndex
from treadle.session.attachments import CodeAttachment, ItemAttachment
from treadle.tui.prompt.completion_list import CompletionList
from treadle.tui.screens.theme_picker import ThemePicker
from treadle.tui.transcript.transcript import Transcript


def choices(terminal: Terminal) -> CompletionList:
    """The list above the prompt."""
    return terminal.app.screen.query_one(CompletionList)


async def indexed(terminal: Terminal) -> None:
    """Wait until the index has the item of the small repository."""
    workbench = await terminal.app._workbench
    while not await workbench.complete("add"):
        await terminal.pilot.pause(0.02)


async def test_symbol_is_completed_and_attached(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        await indexed(terminal)
        await terminal.write("explain @ad")
        await terminal.until(lambda: choices(terminal).is_open)
        assert "calc.add  function   calc.py:1-3" in terminal.text()
        await terminal.pilot.press("tab")
        assert terminal.app.area.prompt.draft.parts == (
            "explain ", ItemAttachment("calc.add", "calc.py"), " "
        )  # fmt: skip
        await terminal.ask("please")
        content = str(terminal.provider.requests[-1].messages[-1]["content"])
        assert 'source="attached: calc.add (calc.py:1-3)"' in content
        assert content.endswith("explain @calc.add please")


async def test_lines_of_a_file_are_attached(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await indexed(terminal)
        await terminal.write("@calc.py:2-3")
        await terminal.until(lambda: choices(terminal).is_open)
        await terminal.pilot.press("enter")
        assert terminal.app.area.prompt.draft.attachments == [CodeAttachment("calc.py", 2, 3)]
        assert "@calc.py:2-3" in terminal.text()


async def test_escape_closes_the_list_and_enter_then_sends(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        await indexed(terminal)
        await terminal.write("@ad")
        await terminal.until(lambda: choices(terminal).is_open)
        await terminal.pilot.press("escape")
        assert not choices(terminal).is_open
        await terminal.ask("")
        assert str(terminal.provider.requests[-1].messages[-1]["content"]).endswith("@ad")


async def test_slash_lists_commands_with_their_help(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.write("/sea")
        await terminal.until(lambda: choices(terminal).is_open)
        assert "/search QUERY  Find code by name or meaning" in terminal.text()
        await terminal.pilot.press("tab")
        assert terminal.app.area.prompt.text == "/search "


async def test_enter_runs_a_completely_typed_command(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.write("/theme")
        await terminal.until(lambda: choices(terminal).is_open)
        await terminal.pilot.press("enter")
        await terminal.until(lambda: isinstance(terminal.app.screen, ThemePicker))
        assert terminal.app.area.prompt.draft.is_empty


async def test_an_unreadable_attachment_gives_the_message_back(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await indexed(terminal)
        await terminal.write("@calc.py")
        await terminal.until(lambda: choices(terminal).is_open)
        await terminal.pilot.press("tab")
        (tmp_path / "repo" / "calc.py").unlink()
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "does not exist" in terminal.text())
        assert terminal.app.area.prompt.draft.attachments == [CodeAttachment("calc.py")]


def test_names_of_members_paths_and_folders_are_completed(tmp_path: Path) -> None:
    folder = tmp_path / "repo" / "src" / "core"
    folder.mkdir(parents=True)
    (folder / "engine.py").write_text(
        "class Engine:\n    def start(self):\n        pass\n\nENGINE = 1\n"
    )
    with CodeIndex.open(tmp_path / "repo", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        names = {typed: [each.name for each in complete(index, typed)] for typed in (
            "Engine.", "engine.Engine.st", "ENG", "eng", "src/", "core", "",
            "src/core/engine.py:1-2", "src/core/engine.py:3-2", "none", "%", "::", "@",
        )}  # fmt: skip
    assert names["Engine."][0] == "core.engine.Engine.start"
    assert names["engine.Engine.st"] == ["core.engine.Engine.start"]
    assert names["eng"][:3:2] == ["core.engine", "core.engine.Engine"]
    assert names["ENG"][:3:2] == ["core.engine.ENGINE", "core.engine.Engine"]
    assert names["src/"] == ["src/", "src/core/", "src/core/engine.py"]
    assert names["core"][0] == "src/core/"
    assert names[""] == ["src/", "src/core/", "src/core/engine.py"]
    assert names["src/core/engine.py:1-2"] == ["src/core/engine.py:1-2"]
    assert not any(names[each] for each in ("src/core/engine.py:3-2", "none", "%", "::", "@"))


async def test_tab_without_a_list_moves_the_focus(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await terminal.pilot.press("tab")
        assert terminal.app.focused is terminal.app.screen.query_one(Transcript)
