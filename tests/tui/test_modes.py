"""The read-only mode in the terminal."""

from pathlib import Path

from tests.fakes.replies import Answer
from tests.tui.terminal import running
from treadle.events.types import Mode


async def test_slash_commands_enter_and_leave_the_read_only_mode(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("One."), Answer("Two.")]) as terminal:
        app = terminal.app
        assert await app.run_named("read_only")
        await terminal.until(lambda: "read-only" in terminal.text())
        workbench = app._workbench.result()
        await terminal.ask("Look")
        await terminal.until(lambda: "One." in terminal.text())
        assert app.state.conversation_id is not None
        reference = str(app.state.conversation_id)
        assert (await workbench.conversation(reference)).conversation.mode is Mode.READ_ONLY
        assert await app.run_named("normal_mode")
        await terminal.until(lambda: app.status.mode is Mode.NORMAL)
        assert (await workbench.conversation(reference)).conversation.mode is Mode.NORMAL
        await workbench.change_mode(app.state.conversation_id, Mode.READ_ONLY)
        await terminal.until(lambda: app.status.mode is Mode.READ_ONLY)
