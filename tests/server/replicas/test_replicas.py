import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from tests.engines import NatsServer, nats_server
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, Pause, delta, sse
from tests.server.replicas.running import (
    know_each_other,
    replica,
    replicas,
    wait_until,
)
from treadle.events.types import ToolCallCompleted, ToolView
from treadle.ids import new_id

pytestmark = pytest.mark.usefixtures("either_engine")

PICK = {
    "name": "pick_colour",
    "description": "Ask the person for a colour.",
    "type": "function",
    "parameters": {
        "type": "object",
        "properties": {"of": {"type": "string"}},
        "required": ["of"],
    },
}
STORE_EVENTS = {"SpanStarted", "SpanEnded", "SpansLeftOut"}
"""Each server reads these changes from the store."""


def of(provider: FakeProvider) -> dict[str, str]:
    return {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "sk-secret-0123456789"}


def slow(event: asyncio.Event) -> Any:
    """A reply that waits for `event`."""
    return sse(delta(content="Wait"), Pause(event=event), delta(content=".", finish_reason="stop"))


async def test_pages_of_all_servers_receive_each_event_once_and_in_order(
    repo: Path, nats: NatsServer
) -> None:
    call = Call("read_file", {"path": "calc.py"}, id="c1")
    async with (
        FakeProvider([Answer("", (call,)), Answer("It adds numbers.")]) as provider,
        replicas(2, repo, nats.url, **of(provider)) as (one, two),
        one.page() as near,
        two.page() as far,
    ):
        begun = await one.post("/turns", {"text": "What does add do?"})
        own, foreign = [
            [
                event
                for event in await page.all_until("SessionFinished")
                if event.get("request_id") == begun["request_id"]
                and event["type"] not in STORE_EVENTS
            ]
            for page in (near, far)
        ]
        assert [event["type"] for event in own] == [event["type"] for event in foreign]
        assert [event["seq"] for event in own] == [event["origin_seq"] for event in foreign]
        assert "ToolCallCompleted" in [event["type"] for event in foreign]
        numbers = [event["seq"] for event in foreign]
        assert numbers == sorted(set(numbers))
        replayed = (await two.get(f"/turns/{begun['request_id']}/events"))["data"]
        shared = [event for event in replayed if event["type"] not in STORE_EVENTS]
        assert [event["origin_seq"] for event in shared][: len(own)] == [e["seq"] for e in own]
        assert replayed[-1]["seq"] < numbers[0]
        trace = begun["request_id"].replace("-", "")
        assert await two.get(f"/turns/{begun['request_id']}", wait=20) == await one.get(
            f"/turns/{begun['request_id']}", wait=20
        )
        spans: list[Any] = []
        for _ in range(200):
            spans = (await two.get("/spans", trace_ids=trace))["data"]
            if len(spans) == 5:
                break
            await asyncio.sleep(0.02)
        # The recorder of the other server ignored the events, so each span exists once.
        kinds = sorted(span["kind"] for span in spans)
        assert kinds == ["model", "model", "retrieval", "run", "tool"]


async def test_large_event_arrives_at_the_other_server(repo: Path, nats: NatsServer) -> None:
    content = "x" * 3_000_000  # more than a message of NATS
    async with replicas(2, repo, nats.url) as (one, two), two.page() as far:
        event = ToolCallCompleted(
            request_id=new_id(), key=(0, 0), call_id="c", content=content,  # type: ignore[arg-type]
            ui=ToolView("s"), duration=0.1,
        )  # fmt: skip
        await one.state.app.bus.publish(event)
        late = await far.until("ToolCallLate")  # nobody waits for this outcome
        assert late["request_id"] == str(event.request_id)


async def test_client_that_changes_its_server_gets_a_gap(repo: Path, nats: NatsServer) -> None:
    async with (
        replicas(2, repo, nats.url) as (one, two),
        two.socket(f"/events/socket?after={one.state.log.newest}") as socket,
    ):
        assert json.loads(await socket.recv())["type"] == "open"
        assert json.loads(await socket.recv())["type"] == "gap"


async def test_question_of_one_server_is_answered_at_another(repo: Path, nats: NatsServer) -> None:
    (repo / ".env").write_text("TOKEN=abc\n")
    call = Answer("", (Call("read_file", {"path": ".env"}, id="c1"),))
    async with (
        FakeProvider([call, Answer("No."), call, Answer("So be it.")]) as provider,
        replicas(2, repo, nats.url, **of(provider)) as (one, two),
    ):
        async with two.page("?approve=true") as page:
            begun = await one.post("/turns", {"text": "Read it."})
            asked = await page.until("ApprovalRequested")
            path = f"/approvals/{asked['approval_id']}"
            for server in (one, two):
                (waiting,) = (await server.get("/approvals"))["data"]
                assert waiting["approval_id"] == asked["approval_id"]
                choices = (await server.get(f"{path}/choices"))["data"]
                assert len(choices) == 4
            answer = {"scope": "denied", "words": "Not that one."}
            assert await two.post(path, answer) == {"taken": True}
            assert await two.post(path, answer) == {"taken": False}
            assert await one.post(path, answer) == {"taken": False}
            assert (await two.http.get(f"/api/v1{path}/choices")).status_code == 404
            resolved = await page.until("ApprovalResolved")
            assert resolved["words"] == "Not that one."
            ended = await two.get(f"/turns/{begun['request_id']}", wait=20)
            assert ended["final"]["text"] == "No."
        await wait_until(lambda: not one.state.app.approvals.questions_allowed)
        refused = await one.post("/turns", {"text": "Read it."})  # no page approves any more
        await one.get(f"/turns/{refused['request_id']}", wait=20)
        assert "No person can be asked" in str(provider.requests[3].messages[-1]["content"])


async def test_permission_of_one_server_is_revoked_at_another(repo: Path, nats: NatsServer) -> None:
    (repo / ".env").write_text("TOKEN=abc\n")
    call = Answer("", (Call("read_file", {"path": ".env"}, id="c1"),))
    async with (
        FakeProvider([call, Answer("Read."), call, Answer("Read.")]) as provider,
        replicas(2, repo, nats.url, **of(provider)) as (one, two),
        two.page("?approve=true") as page,
    ):
        for scope in ("session", "always"):
            await one.post("/turns", {"text": "Read it."})
            asked = await page.until("ApprovalRequested")
            await two.post(f"/approvals/{asked['approval_id']}", {"scope": scope})
            await page.until("SessionFinished")
            (permission,) = (await two.get("/permissions"))["data"]
            assert permission["scope"] == scope
            assert (await one.get("/permissions"))["data"] == [permission]
            path = f"/api/v1/permissions/{permission['id']}"
            assert (await two.http.delete(path)).json() == {"revoked": 1}
            assert (await two.http.delete(path)).status_code == 404
            assert one.state.app.approvals.session_grants() == ()


async def test_turn_of_one_server_is_steered_and_cancelled_at_another(
    repo: Path, nats: NatsServer
) -> None:
    go = asyncio.Event()
    never = asyncio.Event()
    first = sse(delta(content="Look"), Pause(event=go), delta(content=".", finish_reason="stop"))
    async with (
        FakeProvider([first, Answer("Steered."), slow(never)]) as provider,
        replicas(2, repo, nats.url, **of(provider)) as (one, two),
    ):
        begun = await one.post("/turns", {"text": "Look."})
        turn = f"/turns/{begun['request_id']}"
        await provider.wait_for_requests(1)
        assert [each["request_id"] for each in (await two.get("/turns"))["data"]] == [
            begun["request_id"]
        ]
        assert await two.post(f"{turn}/steer", {"text": "Left!"}) == {"taken": True}
        empty = await two.http.post(f"/api/v1{turn}/steer", json={"text": " "})
        assert empty.status_code == 422
        go.set()
        ended = await two.get(turn, wait=20)
        assert ended["state"] == "done"
        assert await two.post(f"{turn}/steer", {"text": "Late"}) == {"taken": False}
        assert await two.post(f"{turn}/cancel") == {"cancelled": False}
        other = await one.post("/turns", {"text": "Wait."})
        await provider.wait_for_requests(3)
        turn = f"/turns/{other['request_id']}"
        assert await two.post(f"{turn}/cancel") == {"cancelled": True}
        assert (await two.get(turn, wait=20))["state"] == "cancelled"
        unknown = await two.http.post(f"/api/v1/turns/{new_id()}/cancel")
        assert unknown.status_code == 404


async def test_messages_of_a_conversation_are_served_in_order_by_one_server(
    repo: Path, nats: NatsServer
) -> None:
    go = asyncio.Event()
    async with (
        FakeProvider([slow(go), Answer("Second.")]) as provider,
        replicas(2, repo, nats.url, **of(provider)) as (one, two),
    ):
        first = await one.post("/turns", {"text": "One?"})
        await provider.wait_for_requests(1)
        session = first["session_id"]
        second = await two.post("/turns", {"text": "Two?", "session": session})
        running = [turn["request_id"] for turn in (await two.get("/turns"))["data"]]
        assert running == [first["request_id"], second["request_id"]]
        refused = await two.http.delete(f"/api/v1/sessions/{session}")
        assert refused.status_code == 409
        go.set()
        ended = await two.get(f"/turns/{second['request_id']}", wait=20)
        assert ended["final"]["text"] == "Second."
        *_, one_text, _, two_text = provider.requests[1].messages
        assert str(one_text["content"]).endswith("One?")
        assert str(two_text["content"]).endswith("Two?")
        assert (await two.http.delete(f"/api/v1/sessions/{session}")).is_success


async def test_questions_of_a_conversation_are_answered_in_order_by_one_server(
    repo: Path, nats: NatsServer
) -> None:
    go, never = asyncio.Event(), asyncio.Event()
    async with (
        FakeProvider([slow(go), Answer("Second."), slow(never)]) as provider,
        replicas(2, repo, nats.url, **of(provider)) as (one, two),
    ):
        path = "/agents/orchestrator/ask"
        first = await one.post(path, {"question": "One?"})
        await provider.wait_for_requests(1)
        conversation = first["conversation_id"]
        second = await two.post(path, {"question": "Two?", "conversation": "last"})
        assert second["conversation_id"] == conversation
        running = [turn["request_id"] for turn in (await two.get("/turns"))["data"]]
        assert running == [first["request_id"], second["request_id"]]
        deleting = f"/api/v1/agents/conversations/{conversation}"
        assert (await two.http.delete(deleting)).status_code == 409
        go.set()
        ended = await two.get(f"/turns/{second['request_id']}", wait=20)
        assert ended["final"]["text"] == "Second."
        sent = str(provider.requests[1].messages)
        assert sent.index("One?") < sent.index("Two?")
        shown = await two.get(f"/agents/conversations/{conversation}")
        assert [each["question"] for each in shown["exchanges"]] == ["One?", "Two?"]
        third = await one.post(path, {"question": "Three?", "conversation": conversation})
        await provider.wait_for_requests(3)
        wrong = await two.http.post(
            "/api/v1/agents/data/ask",
            json={"question": "x", "conversation": conversation},
        )
        assert wrong.status_code == 422, wrong.text
        cancelled = await two.post(f"/turns/{third['request_id']}/cancel")
        assert cancelled == {"cancelled": True}


async def hello(socket: ClientConnection, *tools: object) -> Any:
    await socket.send(json.dumps({"type": "hello", "tools": tools}))
    return json.loads(await socket.recv())


async def test_front_end_of_one_server_runs_tools_for_another(repo: Path, nats: NatsServer) -> None:
    call = Call("pick_colour", {"of": "wall"}, id="c1")
    async with (
        FakeProvider([Answer("", (call,)), Answer("Red it is.")]) as provider,
        replicas(3, repo, nats.url, **of(provider)) as (one, two, three),
        one.page() as page,
    ):
        async with two.socket("/front_ends/editor") as socket:
            assert (await hello(socket, PICK))["type"] == "ready"
            begun = await one.post("/turns", {"text": "Which?", "front_end": "editor"})
            offer = json.loads(await asyncio.wait_for(socket.recv(), 60))
            assert (offer["arguments"], offer["again"]) == ({"of": "wall"}, False)
        async with three.socket("/front_ends/editor") as socket:  # it returns to another server
            await hello(socket, PICK)
            again = json.loads(await asyncio.wait_for(socket.recv(), 60))
            assert again == {**offer, "again": True}
            result = {"request_id": offer["request_id"], "key": offer["key"]}
            progress = {**result, "type": "tool_progress", "text": "half"}
            await socket.send(json.dumps(progress))
            assert (await page.until("ToolProgress"))["text"] == "half"
            await socket.send(json.dumps({**result, "type": "tool_result", "result": "red"}))
            ended = await two.get(f"/turns/{begun['request_id']}", wait=20)
        assert ended["final"]["text"] == "Red it is."
        told = json.loads(str(provider.requests[1].messages[-1]["content"]))
        assert told["result"] == "red"


async def test_front_end_that_reconnects_elsewhere_replaces_its_connection(
    repo: Path, nats: NatsServer
) -> None:
    async with (
        replicas(2, repo, nats.url) as (one, two),
        one.socket("/front_ends/editor") as old,
    ):
        await hello(old, PICK)
        async with two.socket("/front_ends/editor") as new:
            await hello(new, PICK)
            await asyncio.wait_for(old.wait_closed(), 60)
            assert "replaced" in str(old.close_reason)


async def test_turn_of_a_stopped_server_is_unavailable(repo: Path, nats: NatsServer) -> None:
    async with (
        FakeProvider([slow(asyncio.Event())]) as provider,
        replica(repo, nats.url, **of(provider)) as two,
        two.page() as page,
    ):
        async with replica(repo, nats.url, **of(provider)) as one:
            await know_each_other([one, two])
            begun = await one.post("/turns", {"text": "Wait."})
            await page.until("ModelDelta")
        await page.until("gap")  # the page reads the running turns again
        assert (await two.get("/turns"))["data"] == []
        answer = await two.http.post(f"/api/v1/turns/{begun['request_id']}/cancel")
        assert answer.status_code == 503
        assert "has stopped" in answer.json()["error"]["message"]


async def test_servers_find_each_other_again_after_a_restart_of_nats(
    repo: Path, tmp_path: Path
) -> None:
    go = asyncio.Event()
    with nats_server(tmp_path) as bus:
        async with (
            FakeProvider([slow(go), Answer("More.")]) as provider,
            replicas(2, repo, bus.url, **of(provider)) as (one, two),
            two.page() as page,
        ):
            begun = await one.post("/turns", {"text": "Wait."})
            await page.until("ModelDelta")
            bus.kill()
            bus.start()
            assert (await page.until("gap"))["type"] == "gap"  # the page reads everything again
            assert (await two.get(f"/turns/{begun['request_id']}"))["state"] == "running"
            go.set()
            assert (await two.get(f"/turns/{begun['request_id']}", wait=20))["state"] == "done"
            later = await one.post("/turns", {"text": "More?"})
            finished = await page.until("SessionFinished")
            while finished["request_id"] != later["request_id"]:
                finished = await page.until("SessionFinished")


@pytest.mark.parametrize("verb", ["cancel", "steer"])
async def test_request_without_nats_is_unavailable(repo: Path, tmp_path: Path, verb: str) -> None:
    path = f"/api/v1/turns/{new_id()}/{verb}"
    with nats_server(tmp_path) as bus:
        async with replica(repo, bus.url) as one:
            assert (await one.http.post(path, json={"text": "a"})).status_code == 404
            bus.kill()
            async with asyncio.timeout(60):
                while (await one.http.post(path, json={"text": "a"})).status_code == 404:
                    pass
            answer = await one.http.post(path, json={"text": "a"})
            assert answer.status_code == 503
            assert (await one.get("/approvals"))["data"] == []
            bus.start()
