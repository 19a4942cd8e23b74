"""Usage, cost and sources of earlier turns, read from their traces."""

import json
from pathlib import Path

import pytest

from tests.fakes.model import FakeModel, Say
from treadle.app.application import open_app
from treadle.app.assistant import Assistant
from treadle.app.choices import Choices
from treadle.app.turn_records import turn_records
from treadle.config.model import ContextSettings, Settings
from treadle.events.types import CallKey
from treadle.ids import new_id
from treadle.spans.span_builder import call_span_id


async def test_recorded_turns_have_their_calls_and_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREADLE_CONTEXT__EMBEDDER", "none")
    root = tmp_path / "repo"
    root.mkdir()
    (root / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    settings = Settings(context=ContextSettings(automatic="light"))
    read = json.dumps({"path": "calc.py"})
    async with open_app(root, settings=settings, env={}) as app:
        app.index.refresh()
        model = FakeModel(Say("", calls=(("read_file", read),)), Say("It adds."))
        assistant = Assistant(app, Choices(), model)
        conversation = await assistant.conversation()
        request_id = new_id()
        session = await assistant.session(conversation, request_id)
        outcome = await session.run("What does add do?")
    async with open_app(root, settings=settings, env={}) as app:  # the traces are written now
        store = await app.conversations.open_store()
        records = await turn_records(app.traces, store, conversation.id)
        assert await turn_records(app.traces, store, new_id()) == {}
    record = records[request_id]
    assert (record.usage.input, record.usage.output, record.cost) == (20, 10, outcome.cost)
    assert record.tool_calls == 1
    assert record.sources == outcome.sources
    assert {source.file for source in record.context} == {"calc.py"}
    key = CallKey(0, 0)
    call = record.calls[call_span_id(request_id, key.turn, key.slot)]
    assert [source.file for source in call.sources] == ["calc.py"]
    assert call.duration is not None
    assert "calc.py" in call.summary
