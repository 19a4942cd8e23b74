"""A conversation that a person resumes has the records of its turns."""

from pathlib import Path

from tests.fakes.replies import Answer, Call
from tests.tui.terminal import running
from treadle.tui.conversation.items import CallItem, OutcomeItem, PromptItem

READ = Answer("Let me look.", (Call("read_file", {"path": "calc.py"}),))


async def test_usage_calls_and_sources_come_from_the_traces(tmp_path: Path) -> None:
    async with running(tmp_path, [READ, Answer("It adds.")]) as terminal:
        await terminal.ask("What does add do?")
        conversation_id = terminal.app.state.conversation_id
        await terminal.until(lambda: "1 source" in terminal.text())
        live = [item for item in terminal.app.state.items if isinstance(item, OutcomeItem)]
    async with running(tmp_path) as terminal:
        state = terminal.app.state
        state.load(await terminal.app._workbench.result().conversation(str(conversation_id)))
        terminal.app.read_records()
        terminal.app.plan_sync()
        await terminal.until(lambda: "1 source · 1 tool call · 20 tokens in" in terminal.text())
        (outcome,) = [item for item in state.items if isinstance(item, OutcomeItem)]
        assert outcome.sources == live[0].sources
        (call,) = [item for item in state.items if isinstance(item, CallItem)]
        assert call.duration is not None
        assert call.summary
        assert [source.file for source in call.sources] == ["calc.py"]
        (prompt,) = [item for item in state.items if isinstance(item, PromptItem)]
        assert [source.file for source in prompt.sources] == ["calc.py"]


async def test_a_cut_reply_of_an_earlier_process_is_shown_as_cut(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("It ad", finish_reason="length")]) as terminal:
        await terminal.ask("What does add do?")
        conversation_id = terminal.app.state.conversation_id
    async with running(tmp_path) as terminal:
        workbench = terminal.app._workbench.result()
        terminal.app.state.load(await workbench.conversation(str(conversation_id)))
        terminal.app.plan_sync()
        await terminal.until(lambda: "The answer is incomplete" in terminal.text())
