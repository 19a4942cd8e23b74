"""A conversation that a person resumes has the records of its turns."""

from pathlib import Path

from tests.fakes.replies import Answer, Call, error
from tests.tui.approvals.asking import ask, stop
from tests.tui.approvals.scripts import READ as PRIVATE_READ
from tests.tui.approvals.scripts import repository
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


async def test_a_cancelled_call_states_the_cancellation_once(tmp_path: Path) -> None:
    def lines(text: str) -> list[str]:
        return [line.strip() for line in text.split("\n") if "⊘" in line or "ancel" in line]

    repository(tmp_path)
    async with running(tmp_path, [PRIVATE_READ]) as terminal:
        await ask(terminal)
        await stop(terminal)
        await terminal.until(lambda: "! Cancelled." in terminal.text())
        assert lines(terminal.text())[0].startswith("⊘ read_file .env")
        assert lines(terminal.text())[1:] == ["! Cancelled."]
        assert "without an answer" not in terminal.text()
    async with running(tmp_path) as terminal:
        workbench = terminal.app._workbench.result()
        terminal.app.show_session(await workbench.conversation("last"))
        await terminal.until(lambda: "tokens in" in terminal.text())
        assert lines(terminal.text())[0].startswith("⊘ read_file .env")
        assert lines(terminal.text())[1:] == ["! Cancelled."]


async def test_a_failed_turn_states_its_reason_after_a_resumption(tmp_path: Path) -> None:
    async with running(tmp_path, [error(400, "the model is broken")]) as terminal:
        await terminal.ask("What does add do?")
        assert "the model is broken" in terminal.text()
    async with running(tmp_path) as terminal:
        workbench = terminal.app._workbench.result()
        terminal.app.show_session(await workbench.conversation("last"))
        await terminal.until(lambda: "the model is broken" in terminal.text())


async def test_a_resumed_question_to_the_analyst_has_its_usage(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Yes."), Answer("The run is fine.")]) as terminal:
        await terminal.ask("Hello?")
        await terminal.app.run_named("analyse", "Was it fine?")
        await terminal.until(lambda: terminal.text().count("tokens in") == 2)
    async with running(tmp_path) as terminal:
        workbench = terminal.app._workbench.result()
        terminal.app.show_session(await workbench.conversation("last"))
        await terminal.until(lambda: terminal.text().count("tokens in") == 2)
