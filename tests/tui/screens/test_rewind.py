"""Going back to a prompt: the conversation, the code, or both, and the undo of it."""

import shutil
from pathlib import Path

import pytest

from tests.app.rewinding import Scene
from tests.fakes.replies import Answer
from tests.tui.screens.saved import on, opened, rows_shown, saved
from tests.tui.terminal import Terminal, running
from treadle.edits.requests import ReplaceEdit
from treadle.tui.conversation.items import PromptItem
from treadle.tui.local_workbench import LocalWorkbench
from treadle.tui.prompt.draft import CommandOutput, Draft, ImageFile
from treadle.tui.screens.conversation import ConversationScreen
from treadle.tui.screens.rewind import RewindScreen
from treadle.tui.screens.rewind_plan import RewindPlanScreen, UndoRewindScreen

SIZES = [(80, 24), (120, 40), (40, 10)]


def prompts(terminal: Terminal) -> list[str]:
    return [item.text for item in terminal.app.state.items if isinstance(item, PromptItem)]


async def edited(terminal: Terminal) -> Scene:
    """Show a conversation whose second prompt changed calc.py."""
    conversation = await saved(terminal, ["first question"])
    workbench = terminal.app._workbench.result()
    assert isinstance(workbench, LocalWorkbench)
    scene = Scene(workbench._app, conversation)
    await scene.prompt(
        "rename the result", [ReplaceEdit("calc.py", "return left +", "return right +")]
    )
    terminal.app.show_session(await workbench.conversation("last"))
    await terminal.until(lambda: "rename the result" in terminal.text())
    return scene


@pytest.mark.parametrize("size", SIZES)
async def test_conversation_and_code_go_back_and_return(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with running(tmp_path, size=size) as terminal:
        await edited(terminal)
        file = terminal.root / "calc.py"
        before = file.read_text()
        await opened(terminal, "rewind")
        await terminal.pilot.press("enter")
        await on(terminal, RewindPlanScreen)
        await terminal.until(lambda: "calc.py" in terminal.text())
        await terminal.pilot.press("enter")
        await on(terminal, ConversationScreen)
        await terminal.until(lambda: terminal.app.area.prompt.text == "rename the result")
        assert file.read_text() == before.replace("return right", "return left")
        assert prompts(terminal) == ["first question"]
        assert await terminal.app.run_named("undo_rewind")
        await terminal.until(lambda: "calc.py" in terminal.text())
        await terminal.pilot.press("enter")
        await terminal.until(lambda: len(prompts(terminal)) == 2)
        assert file.read_text() == before
        assert terminal.app.area.prompt.draft.is_empty


async def test_conflict_is_listed_and_keeps_the_file_only_on_request(tmp_path: Path) -> None:
    async with running(tmp_path, size=(120, 40)) as terminal:
        await edited(terminal)
        file = terminal.root / "calc.py"
        file.write_text(file.read_text().replace("return right", "return 2 * right"))
        mine = file.read_text()
        await opened(terminal, "rewind")
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "✗ calc.py" in terminal.text())
        await terminal.pilot.press("enter")
        await terminal.until(lambda: "nothing is undone" in terminal.text())
        assert prompts(terminal) == ["first question", "rename the result"]
        await terminal.pilot.press("k")
        await terminal.until(lambda: prompts(terminal) == ["first question"])
        await terminal.until(lambda: "These files stay as they were: calc.py." in terminal.text())
        assert file.read_text() == mine


async def test_conversation_alone_leaves_the_files(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await edited(terminal)
        before = (terminal.root / "calc.py").read_text()
        await opened(terminal, "rewind")
        await terminal.pilot.press("enter")
        await rows_shown(terminal, RewindPlanScreen)
        await terminal.pilot.press("down")
        await terminal.until(lambda: "No file changes." in terminal.text())
        await terminal.pilot.press("enter")
        await terminal.until(lambda: prompts(terminal) == ["first question"])
        assert (terminal.root / "calc.py").read_text() == before


async def went_back(terminal: Terminal) -> None:
    """Go back to before the only prompt."""
    await opened(terminal, "rewind")
    await terminal.pilot.press("enter")
    await rows_shown(terminal, RewindPlanScreen)
    await terminal.pilot.press("enter")
    await terminal.until(lambda: terminal.app.area.prompt.text != "")


async def test_attached_output_and_images_return_to_the_prompt(tmp_path: Path) -> None:
    image, key = tmp_path / "dot.gif", "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    image.write_bytes(b"GIF89a dot")
    sent = (CommandOutput("make", f"{key}\nerror 2"), " ", ImageFile(str(image)), f" why? {key}")
    async with running(tmp_path, [Answer("A dot.")]) as terminal:
        terminal.app.area.prompt.load(Draft(sent))
        await terminal.ask("")
        await went_back(terminal)
        assert terminal.app.area.prompt.draft.parts == sent
        terminal.app.area.prompt.load(Draft())
        assert await terminal.app.run_named("undo_rewind")
        await on(terminal, UndoRewindScreen)
        await terminal.pilot.press("enter")
        await terminal.until(lambda: len(prompts(terminal)) == 1)
    shutil.rmtree(tmp_path / "home" / "data" / "prompts")
    async with running(tmp_path) as terminal:  # as after a message from the page
        workbench = terminal.app._workbench.result()
        terminal.app.show_session(await workbench.conversation("last"))
        await went_back(terminal)
        output, text = terminal.app.area.prompt.draft.parts
        assert isinstance(output, CommandOutput)
        assert output.text.endswith("error 2")
        assert isinstance(text, str)
        assert text.startswith(" [image dot.gif] why? ")
        assert "Attach these images again: dot.gif." in terminal.text()


async def test_closed_rewind_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        await edited(terminal)
        before = (terminal.root / "calc.py").read_text()
        await opened(terminal, "rewind")
        await terminal.pilot.press("enter")
        await rows_shown(terminal, RewindPlanScreen)
        await terminal.pilot.press("escape")
        await on(terminal, RewindScreen)
        await terminal.pilot.press("escape")
        await on(terminal, ConversationScreen)
        assert (terminal.root / "calc.py").read_text() == before
        assert len(prompts(terminal)) == 2


async def test_rewind_without_a_conversation_says_so(tmp_path: Path) -> None:
    async with running(tmp_path) as terminal:
        assert await terminal.app.run_named("rewind")
        await terminal.until(lambda: "The conversation has no prompt yet." in terminal.text())
