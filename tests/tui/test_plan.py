"""The plan of the model in the terminal."""

from pathlib import Path

from tests.fakes.replies import Answer, Call
from tests.tui.terminal import running


def plan(state: str) -> Answer:
    steps = [{"id": "1", "text": "Read the parser", "state": state}]
    return Answer("", (Call("update_plan", {"steps": steps}, id="c1"),))


async def test_plan_changes_in_place_and_is_shown_after_a_resume(tmp_path: Path) -> None:
    async with running(tmp_path, [plan("doing"), plan("done"), Answer("Read.")]) as terminal:
        await terminal.ask("Read it")
        shown = terminal.text()
        assert "✓ 1 Read the parser" in shown
        assert "▸ 1 Read the parser" not in shown
        assert shown.count("Plan: ") == 1
        workbench = terminal.app._workbench.result()
        session = await workbench.conversation(str(terminal.app.state.conversation_id))
        terminal.app.show_session(session)
        await terminal.until(lambda: "✓ 1 Read the parser" in terminal.text())
