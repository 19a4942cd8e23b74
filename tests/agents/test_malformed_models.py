"""Sessions of agents end and run only allowed tools, whatever the model replies."""

from pathlib import Path

import pytest

from tests.agents.harness import agent_harness
from tests.fakes.replies import Answer, Call
from tests.toolbox.traces.flights import THREAD, flights
from treadle.agents.agent_tools import MAX_CALLS
from treadle.agents.page_context import PageContext
from treadle.events.types import ApprovalScope, StopReason
from treadle.spans.span import ANALYST_LABEL
from treadle.traces.query import Query

FOREVER = 200
PAGE = PageContext(thread_id=THREAD)
DONE = Answer("", (Call("final", {"answer": "Nothing."}),))


def calls(name: str, **arguments: object) -> Answer:
    return Answer("", (Call(name, arguments),))


async def test_agent_cannot_call_itself_or_its_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = [
        calls("call_orchestrator", task="go"),
        calls("call_data", task="look"),
        calls("call_data", task="look"),  # a reply of the agent data
        calls("call_orchestrator", task="look"),  # a reply of the agent data
        DONE,
        DONE,
    ]
    async with agent_harness(tmp_path, monkeypatch, replies, flights()) as at:
        outcome = await at.ask("go", PAGE)
    assert outcome.stop_reason is StopReason.COMPLETED
    assert [each.agent for each in at.sessions] == ["orchestrator", "data"]
    assert sum("There is no tool named" in each for each in at.failures) == 3


async def test_repeated_task_is_refused_and_the_session_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def either(request: object) -> Answer:
        names = getattr(request, "tool_names", [])
        return calls("call_data", task="Look!") if "call_data" in names else DONE

    async with agent_harness(tmp_path, monkeypatch, [either] * FOREVER, flights()) as at:
        outcome = await at.ask("go", PAGE)
        assert at.provider is not None
        asked = len(at.provider.requests)
    assert outcome.stop_reason is StopReason.REPEATED_CALLS
    assert [each.agent for each in at.sessions] == ["orchestrator", "data"]
    assert "already received exactly this task" in at.failures[0]
    assert asked <= 6


async def test_number_of_tasks_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = iter(range(FOREVER))

    def either(request: object) -> Answer:
        names = getattr(request, "tool_names", [])
        return calls("call_data", task=f"Look {next(tasks)}") if "call_data" in names else DONE

    async with agent_harness(tmp_path, monkeypatch, [either] * FOREVER, flights()) as at:
        outcome = await at.ask("go", PAGE)
    assert outcome.stop_reason in {StopReason.TURN_LIMIT, StopReason.TOOL_CALL_LIMIT}
    assert [each.agent for each in at.sessions].count("data") == MAX_CALLS


@pytest.mark.parametrize("name", ["run_experiment", "read_file", "apply_code_edit", "made_up"])
async def test_tool_of_another_agent_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with agent_harness(tmp_path, monkeypatch, [calls(name), DONE], flights()) as at:
        outcome = await at.ask("go", PAGE, agent="data")
    assert outcome.text == "Nothing."
    assert at.failures == [f"There is no tool named '{name}'."]


async def test_change_waits_for_approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An instruction in a trace is not an approval (R26)."""
    replies = [
        calls("get_experiment_data", spanId="m3"),
        calls("apply_experiment_data", spanId="m3", data={"model": "cheaper"}),
        DONE,
    ]
    async with agent_harness(
        tmp_path, monkeypatch, replies, flights(), answer=ApprovalScope.DENIED
    ) as at:
        await at.ask("improve it", PageContext(span_id="m3"), agent="experiment")
    assert len(at.failures) == 1
    assert at.completed == 2  # the data of the experiment, and final


async def test_wrong_quote_is_refused_once_and_then_omitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = 'It says "timeout after 3000 ms": [x0](/traces/t1?span=x0)'
    false = 'It says "the disk is full today": [x0](/traces/t1?span=x0)'
    answer = calls("final", answer=f"{true}\n{false}\nMend it.")
    async with agent_harness(tmp_path, monkeypatch, [answer, answer], flights()) as at:
        outcome = await at.ask("what went wrong?", PAGE, agent="data")
    assert "the disk is full today" in at.failures[0]
    assert outcome.text.startswith(f"{true}\nMend it.")
    assert "the disk is full" not in outcome.text
    assert "1 line is omitted" in outcome.text


async def test_pass_on_requires_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [calls("final", pass_on="data"), calls("final"), DONE]
    async with agent_harness(tmp_path, monkeypatch, replies, flights()) as at:
        outcome = await at.ask("go", PAGE)
    assert outcome.text == "Nothing."
    assert at.failures == [
        "That agent has no answer to pass on.",
        "The answer is empty.",
    ]


async def test_sessions_of_agents_form_one_labelled_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = [
        calls("call_data", task="look"),
        calls("list_labels"),
        DONE,
        calls("final", pass_on="data"),
    ]
    async with agent_harness(tmp_path, monkeypatch, replies, flights()) as at:
        outcome = await at.ask("go", PAGE)
        assert outcome.text == "Nothing."
    from treadle.app.stores import Stores

    store = Stores.of_user().open_traces()
    try:
        recorded = [each for each in store.spans(Query(), limit=100).data if each.trace_id != "t1"]
        trace = store.trace(at.sessions[0].request_id.hex)
    finally:
        store.close()
    assert {each.labels for each in recorded} == {(ANALYST_LABEL,)}
    assert len({each.trace_id for each in recorded}) == 1
    parents = {span.name: span.parent_id for span in trace.spans}
    ids = {span.name: span.span_id for span in trace.spans}
    assert parents["invoke_agent data"] == ids["execute_tool call_data"]
    assert "execute_tool list_labels" in parents
