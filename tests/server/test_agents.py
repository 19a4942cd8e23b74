"""Agents over HTTP: listed, asked, followed and cancelled, with and without a model."""

from pathlib import Path

import pytest

from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Call, Pause, Script
from tests.server.serving import serving
from treadle.app.agents import NEEDS_MODEL


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


async def test_agents_are_listed_and_answer(repo: Path) -> None:
    replies: list[Reply] = [
        Answer("", (Call("call_data", {"task": "labels"}),)),
        Answer("", (Call("list_labels"),)),
        Answer("", (Call("final", {"answer": "There are none."}),)),
        Answer("", (Call("final", {"pass_on": "data"}),)),
        Script(before=(Pause(),)),
    ]
    async with FakeProvider(replies) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "sk-local"}
        async with serving(repo, **env) as served:
            listed = await served.get("/agents")
            assert [each["name"] for each in listed["data"]] == [
                "data", "experiment", "orchestrator", "ui",
            ]  # fmt: skip
            asked = await served.post(
                "/agents/orchestrator/ask",
                {"question": "which labels?", "context": {"thread_id": "t", "page": "/threads/t"}},
            )
            turn = await served.ended(asked["request_id"])
            assert (turn["state"], turn["final"]["text"]) == ("done", "There are none.")
            assert turn["session_id"] is None
            told = (await served.get(f"/turns/{asked['request_id']}/events"))["data"]
            assert "ToolCallCompleted" in {event["type"] for event in told}
            started = [event for event in told if event["type"] == "SessionStarted"]
            assert [each["agent"] for each in started] == ["orchestrator", "data"]
            assert started[1]["parent_key"] == {"turn": 0, "slot": 0}
            assert not any(event.get("input_text") for event in told)
            place = await served.get(f"/turns/{started[1]['request_id']}/calls/0/0")
            trace_id = asked["request_id"].replace("-", "")
            span = await served.span(trace_id, place["span_id"])
            assert "list_labels" in str(span)
            unknown = await served.http.post("/api/v1/agents/none/ask", json={"question": "x"})
            assert unknown.status_code == 404
            wrong = await served.http.post(
                "/api/v1/agents/data/ask", json={"question": "x", "context": {"thred": "t"}}
            )
            assert (wrong.status_code, "thred" in wrong.text) == (422, True)
            slow = await served.post("/agents/data/ask", {"question": "wait"})
            assert await served.post(f"/turns/{slow['request_id']}/cancel") == {"cancelled": True}
            assert (await served.ended(slow["request_id"]))["state"] == "cancelled"
    first = provider.requests[0]
    assert 'thread id: "t"' in str(first.messages[-1]["content"])


async def test_without_a_model_the_answer_is_the_report(repo: Path) -> None:
    async with serving(repo, TREADLE_MODEL="embedded/any") as served:
        asked = await served.post("/agents/orchestrator/ask", {"question": "which labels?"})
        turn = await served.ended(asked["request_id"])
    assert NEEDS_MODEL in turn["final"]["text"]
    assert "No recorded span matches the query." in turn["final"]["text"]
