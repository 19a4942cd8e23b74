"""Conversations with agents over HTTP: saved, continued, shown, renamed and deleted."""

from pathlib import Path
from typing import Any

from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Call
from tests.server.serving import Served, serving
from tests.server.test_traces_reading import made, seeded
from treadle.app.agents import NEEDS_MODEL

DATA = "/agents/data/ask"
KEPT = "/agents/conversations"


async def asked(served: Served, path: str, question: str, **more: Any) -> Any:
    begun = await served.post(path, {"question": question, **more})
    return await served.ended(begun["request_id"])


async def test_conversation_is_saved_and_continued(repo: Path) -> None:
    replies: list[Reply] = [
        Answer("Let me see.", (Call("list_labels"),)),
        Answer("", (Call("final", {"answer": "There are none."}),)),
        Answer("Because nothing is labelled."),
    ]
    async with FakeProvider(replies) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "sk-local"}
        async with serving(repo, **env) as served:
            first = await asked(served, DATA, "Which labels?")
            place = first["conversation_id"]
            assert (first["agent"], first["session_id"]) == ("data", None)
            second = await asked(served, DATA, "And why?", conversation=place[:8])
            assert second["conversation_id"] == place

            told = await served.get(f"{KEPT}/{place}")
            one, two = told["exchanges"]
            assert (one["question"], one["answer"]) == ("Which labels?", "There are none.")
            assert one["request_id"] == first["request_id"]
            assert one["trace_id"] == first["final"]["trace_id"]
            called = one["steps"][0]["calls"][0]
            assert (one["steps"][0]["text"], called["name"]) == ("Let me see.", "list_labels")
            assert called["ok"] is True
            assert called["summary"]
            assert (two["answer"], two["stop_reason"]) == (second["final"]["text"], "completed")

            (row,) = (await served.get(KEPT))["data"]
            assert (row["title"], row["questions"], row["agent"]) == ("Which labels?", 2, "data")
            assert (await served.get("/sessions"))["data"] == []
            assert (await served.http.get(f"/api/v1/sessions/{place}")).status_code == 404
            other = {"question": "x", "conversation": place}
            refused = await served.http.post("/api/v1/agents/ui/ask", json=other)
            assert (refused.status_code, "data" in refused.text) == (422, True)

            renamed = await served.http.patch(f"/api/v1{KEPT}/{place}", json={"title": "Labels"})
            assert renamed.json()["title"] == "Labels"
            assert (await served.http.delete(f"/api/v1{KEPT}/{place}")).status_code == 204
            assert (await served.http.get(f"/api/v1{KEPT}/{place}")).status_code == 404
    told_before = [message["content"] for message in provider.requests[2].messages]
    assert "Which labels?" in str(told_before)
    assert "There are none." in str(told_before)


async def test_a_conversation_of_reports_survives_a_restart(repo: Path) -> None:
    seeded(
        repo,
        made("one", trace_id="t1", thread_id="th1", run_id="r1"),
        made("two", trace_id="t2", thread_id="th2", run_id="r2"),
    )
    ask = "/agents/orchestrator/ask"
    async with serving(repo, TREADLE_MODEL="embedded/any") as served:
        first = await asked(served, ask, "what went wrong?", context={"thread_id": "th1"})
        conversation_id = first["conversation_id"]
        second = await asked(served, ask, "and why?", conversation=conversation_id)
        assert NEEDS_MODEL in second["final"]["text"]

        shown = await served.get(f"{KEPT}/last")
        assert shown["model"] == "treadle/rules"
        one, two = shown["exchanges"]
        assert [one["question"], two["question"]] == ["what went wrong?", "and why?"]
        assert (one["answer"], two["answer"]) == (first["final"]["text"], second["final"]["text"])
        assert "th1" in one["context"]
    async with serving(repo, TREADLE_MODEL="embedded/any") as served:
        assert await served.get(f"{KEPT}/last") == shown


async def test_question_whose_session_does_not_start_is_saved(repo: Path) -> None:
    async with serving(repo) as served:
        turn = await asked(served, DATA, "What?", model="nobody/none")
        assert turn["state"] == "failed"
        (exchange,) = (await served.get(f"{KEPT}/{turn['conversation_id']}"))["exchanges"]
        assert (exchange["question"], exchange["stop_reason"]) == ("What?", "failed")
        assert (exchange["steps"], exchange["answer"]) == ([], "")
