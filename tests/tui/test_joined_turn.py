"""A conversation that is opened while one of its turns runs."""

import asyncio
from pathlib import Path

from tests.fakes.replies import Pause, delta, sse
from tests.tui.terminal import running
from treadle.app.choices import Choices
from treadle.tui.conversation.items import OutcomeItem


async def test_running_turn_continues_and_its_whole_answer_is_shown(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    script = sse(
        delta(content="It adds "),
        Pause(event=go_on),
        delta(content="numbers."),
        delta(finish_reason="stop"),
    )
    async with running(tmp_path, [script]) as terminal:
        workbench = terminal.app._workbench.result()
        turn = await workbench.send("What is it?", conversation=None, choices=Choices())
        await terminal.provider.wait_for_requests(1)
        session = await workbench.conversation(str(turn.conversation_id))
        terminal.app.show_session(session, await workbench.running_turns())
        await terminal.until(lambda: "What is it?" in terminal.text())
        assert "interrupted" not in terminal.text()
        assert terminal.app.state.running == (turn.request_id,)
        go_on.set()
        await terminal.until(lambda: "It adds numbers." in terminal.text())
        assert [type(each) for each in terminal.app.state.items].count(OutcomeItem) == 1
