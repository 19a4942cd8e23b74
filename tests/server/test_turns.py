import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, Pause, delta, sse
from tests.server.serving import Served, serving
from tests.server.test_key_limits import created

KEY = "sk-very-secret-0123456789abcdefghij"


async def events(served: Served, **parameters: Any) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Events by number until the connection is closed."""
    url = "/api/v1/events"
    async with served.http.stream("GET", url, params=parameters) as answer:
        fields: dict[str, str] = {}
        async for line in answer.aiter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "data" in fields:  # a comment is a sign of life
                yield int(fields["id"]), json.loads(fields["data"])
                fields.clear()


def of(provider: FakeProvider) -> dict[str, str]:
    return {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": KEY}


async def test_client_follows_a_turn(repo: Path) -> None:
    call = Call("read_file", {"path": "calc.py"}, id="c1")
    async with (
        FakeProvider([Answer("", (call,)), Answer("It adds.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        attached = [
            {"kind": "code", "path": "calc.py", "first_line": 1, "last_line": 1},
            {"kind": "item", "name": "calc.add"},
            {"kind": "text", "name": "a paste", "text": "pasted"},
            {"kind": "image", "name": "dot.gif", "data": b64encode(b"GIF89a dot").decode()},
        ]
        begun = await served.post("/turns", {"text": "How does add work?", "attachments": attached})
        ended = await served.ended(begun["request_id"])
        assert ended["state"] == "done"
        sent: Any = provider.requests[0].messages[-1]["content"]
        text, image = sent
        content = str(text["text"])
        assert image["image_url"]["url"].startswith("data:image/gif;base64,")
        assert content.count('source="attached: ') == 3
        absent = {"text": "And?", "attachments": [{"kind": "code", "path": "absent.py"}]}
        assert (await served.http.post("/api/v1/turns", json=absent)).status_code == 404
        assert ended["final"]["text"] == "It adds."
        assert ended["final"]["tool_calls"] == 1
        seen = []
        async for seq, event in events(served, after=0, request_id=begun["request_id"]):
            seen.append((seq, event["type"]))
            assert KEY not in json.dumps(event)
            if event["type"] == "SessionFinished":
                break
        kinds = [kind for _, kind in seen]
        assert kinds[0] in {"SessionStarted", "IndexProgress"}
        assert "ToolCallCompleted" in kinds
        middle = seen[len(seen) // 2][0]
        async for seq, _ in events(served, after=middle, request_id=begun["request_id"]):
            assert seq > middle  # a client that reconnects resumes
            break


async def test_context_of_the_next_and_of_a_past_request(repo: Path) -> None:
    async with (
        FakeProvider([Answer("It adds."), Answer("Still.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        begun = await served.post("/turns", {"text": "How does add work?"})
        await served.ended(begun["request_id"])
        path = f"/sessions/{begun['session_id']}/context"
        plan = await served.get(path, text="And now?")
        assert plan["tokens"] == sum(part["tokens"] for part in plan["sections"])
        assert plan["budget"] + plan["reserve"] == plan["window"]
        pin = {"kind": "code", "path": "calc.py", "first_line": 1, "last_line": 1}
        change = {"pinned": [pin], "automatic_context": False, "tools_left_out": ["grep"]}
        changed = await served.http.patch(f"/api/v1{path}", json=change)
        assert changed.json() == {**change, "left_out": []}
        assert (await served.get(path))["choices"] == changed.json()
        unknown = await served.http.patch(f"/api/v1{path}", json={"left_out": [9]})
        assert unknown.status_code == 404
        again = await served.post("/turns", {"text": "And now?", "session": "last"})
        await served.ended(again["request_id"])
        request = provider.requests[1]
        assert "grep" not in request.tool_names
        content = str(request.messages[-1]["content"])
        assert 'source="pinned: calc.py:1"' in content
        assert "context of this message" not in content
        trace = begun["request_id"].replace("-", "")  # the run before is certainly on disk
        spans = (await served.get("/spans", thread_ids=begun["session_id"]))["data"]
        call = next(s for s in spans if s["kind"] == "model" and s["trace_id"] == trace)
        past = await served.get(f"/contexts/{trace}/{call['span_id']}")
        kinds = [part["kind"] for part in past["sections"]]
        assert kinds == ["system", "tools", "history", "automatic_context"]


async def test_messages_of_one_conversation_are_served_in_order(repo: Path) -> None:
    slow = sse(delta(content="First"), Pause(0.3), delta(content=".", finish_reason="stop"))
    async with (
        FakeProvider([slow, Answer("Second.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        first = await served.post("/turns", {"text": "One?"})
        await provider.wait_for_requests(1)
        second = await served.post("/turns", {"text": "Two?", "session": first["session_id"]})
        assert second["session_id"] == first["session_id"]
        running = [turn["request_id"] for turn in (await served.get("/turns"))["data"]]
        assert running == [first["request_id"], second["request_id"]]
        texts = [(await served.ended(turn))["final"]["text"] for turn in running]
        assert texts == ["First.", "Second."]
        *_, one, first_answer, two = provider.requests[1].messages
        assert str(one["content"]).endswith("One?")
        assert first_answer["content"] == "First."
        assert str(two["content"]).endswith("Two?")


async def test_conversations_are_listed_shown_named_branched_and_deleted(repo: Path) -> None:
    async with (
        FakeProvider([Answer("First."), Answer("Second."), Answer("Otherwise.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        begun = await served.post("/turns", {"text": "One?"})
        await served.ended(begun["request_id"])
        again = await served.post("/turns", {"text": "Two?", "session": "last"})
        await served.ended(again["request_id"])
        other = await served.post("/turns", {"text": "Another?"})
        await served.ended(other["request_id"])
        listed = await served.get("/sessions", limit=1)
        assert [row["id"] for row in listed["data"]] == [other["session_id"]]
        assert listed["pagination"] == {"offset": 0, "limit": 1, "more": True}
        (row,) = (await served.get("/sessions", offset=1))["data"]
        one = f"/api/v1/sessions/{begun['session_id']}"
        shown = (await served.http.get(one)).json()
        assert [m["text"] for m in shown["messages"]] == ["One?", "First.", "Two?", "Second."]
        assert (row["title"], row["turns"]) == (shown["title"], 2)
        changed = (await served.http.patch(one, json={"title": "Named", "at": 1})).json()
        assert (changed["title"], changed["branch"]) == ("Named", [0, 1])
        for path, body, status in (
            (one, {"colour": 1}, 422),
            (one, {"at": 99}, 404),
            ("/api/v1/sessions/ffff", {"title": "x"}, 404),
        ):
            assert (await served.http.patch(path, json=body)).status_code == status
        assert (await served.http.delete(one)).json()["title"] == "Named"
        assert (await served.http.get(one)).status_code == 404


async def test_a_turn_is_steered_with_the_next_request_of_its_model(repo: Path) -> None:
    slow = sse(delta(content="At"), Pause(1), delta(content=" length.", finish_reason="stop"))
    async with (
        FakeProvider([slow, Answer("Briefly.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        begun = await served.post("/turns", {"text": "How?"})
        steer = f"/turns/{begun['request_id']}/steer"
        await provider.wait_for_requests(1)
        assert await served.post(steer, {"text": "In a word?"}) == {"taken": True}
        assert (await served.ended(begun["request_id"]))["final"]["text"] == "Briefly."
        *_, answer, further = provider.requests[1].messages
        assert answer["content"] == "At length."
        assert str(further["content"]).endswith("In a word?")
        assert await served.post(steer, {"text": "Well?"}) == {"taken": False}


async def test_conversation_continues_after_a_cancelled_turn(repo: Path) -> None:
    hanging = sse(delta(content="I will"), Pause(), done=False)
    async with (
        FakeProvider([hanging, Answer("Now.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        first = await served.post("/turns", {"text": "One?"})
        await provider.wait_for_requests(1)
        cancel = f"/turns/{first['request_id']}/cancel"
        assert await served.post(cancel) == {"cancelled": True}
        assert (await served.ended(first["request_id"]))["state"] == "cancelled"
        assert await served.post(cancel) == {"cancelled": False}
        second = await served.post("/turns", {"text": "Two?", "session": first["session_id"]})
        assert (await served.ended(second["request_id"]))["final"]["text"] == "Now."


async def test_failed_provider_and_unknown_session_are_reported(repo: Path) -> None:
    async with serving(
        repo, TREADLE_BASE_URL="http://127.0.0.1:9/v1", TREADLE_API_KEY=KEY
    ) as served:
        answer = await served.http.post("/api/v1/turns", json={"text": "x", "session": "ffff"})
        assert answer.status_code == 404
        assert KEY not in answer.text
        for body in ({"text": ""}, {"text": " "}, {"text": "x", "colour": 1}, {}):
            answer = await served.http.post("/api/v1/turns", json=body)
            assert answer.status_code == 422, body
        unknown = "00000000-0000-7000-8000-000000000000"
        assert (await served.http.get(f"/api/v1/turns/{unknown}")).status_code == 404


async def test_person_who_follows_the_events_approves(repo: Path) -> None:
    (repo / ".env").write_text("TOKEN=abc\n")
    calls = [Answer("", (Call("read_file", {"path": ".env"}, id=f"c{n}"),)) for n in range(2)]
    async with (
        FakeProvider([calls[0], Answer("No."), calls[1], Answer("So be it.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        nobody = await served.post("/turns", {"text": "Read it."})
        assert (await served.ended(nobody["request_id"]))["final"]["text"] == "No."
        assert "No person can be asked" in str(provider.requests[1].messages[-1]["content"])
        begun = None
        async for _, event in events(served, after=0, approve="true"):
            begun = begun or await served.post("/turns", {"text": "Read it."})
            if event["type"] == "ApprovalRequested":
                (waiting,) = (await served.get("/approvals"))["data"]
                assert waiting["approval_id"] == event["approval_id"]
                answer = f"/approvals/{event['approval_id']}"
                for scope, status in (("withdrawn", 422), ("never", 422)):
                    refused = await served.http.post(f"/api/v1{answer}", json={"scope": scope})
                    assert refused.status_code == status
                told = await served.post(answer, {"scope": "denied", "words": "Not that one."})
                assert told == {"taken": True}
                assert await served.post(answer, {"scope": "once"}) == {"taken": False}
                break
        assert begun is not None
        assert (await served.ended(begun["request_id"]))["final"]["text"] == "So be it."
        assert "Not that one." in str(provider.requests[3].messages[-1]["content"])


async def test_viewer_who_follows_the_events_is_not_asked_for_approval(repo: Path) -> None:
    (repo / ".env").write_text("TOKEN=abc\n")
    call = Call("read_file", {"path": ".env"}, id="c1")
    viewer = created(repo.parent / "home", "viewer", "--scopes", "read")
    async with (
        FakeProvider([Answer("", (call,)), Answer("No.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        path = "/api/v1/events{}?after=0&approve=true"
        address = served.address.replace("http", "ws") + path.format("/socket")
        async with (
            connect(address, additional_headers=viewer) as socket,
            served.http.stream("GET", path.format(""), headers=viewer) as stream,
        ):
            changed = await served.http.patch("/api/v1/ui", json={"location": "/runs"})
            assert changed.is_success
            async with asyncio.timeout(60):  # both are followers as soon as they hear an event
                while "UiChanged" not in str(await socket.recv()):
                    pass
                lines = stream.aiter_lines()
                while "UiChanged" not in await anext(lines):
                    pass
            begun = await served.post("/turns", {"text": "Read it."})
            assert (await served.ended(begun["request_id"]))["final"]["text"] == "No."
        assert "No person can be asked" in str(provider.requests[1].messages[-1]["content"])


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


def front_end(served: Served, name: str = "editor") -> connect:
    return connect(served.address.replace("http", "ws") + f"/api/v1/front_ends/{name}")


async def hello(socket: ClientConnection, *tools: object) -> Any:
    await socket.send(json.dumps({"type": "hello", "tools": tools}))
    return json.loads(await asyncio.wait_for(socket.recv(), 30))


async def test_binary_messages_and_too_many_tools_are_refused(
    repo: Path,
) -> None:
    tools = [{**PICK, "name": f"pick_{number}"} for number in range(201)]
    async with serving(repo) as served:  # which checks that nothing is logged
        async with front_end(served) as socket:
            await socket.send(b"\x00")
            assert "binary" in json.loads(await socket.recv())["message"]
        async with front_end(served) as socket:
            assert "tools" in (await hello(socket, *tools))["message"]
        async with front_end(served) as socket:
            assert (await hello(socket))["type"] == "ready"
            await socket.send(b"\x00")
            assert "binary" in json.loads(await socket.recv())["message"]
        events = served.address.replace("http", "ws") + "/api/v1/events/socket"
        async with connect(events) as socket:
            assert json.loads(await socket.recv())["type"] == "open"
            await socket.send(b"\x00")
            await (await socket.ping())


async def test_front_end_runs_its_tools_and_reconnects(repo: Path) -> None:
    call = Call("pick_colour", {"of": "wall"}, id="c1")
    async with (
        FakeProvider([Answer("", (call,)), Answer("Red it is.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        async with front_end(served) as socket:
            assert await hello(socket, PICK) == {"type": "ready", "runs": ["pick_colour"]}
            listed = {tool["name"]: tool for tool in (await served.get("/tools"))["data"]}
            assert listed["pick_colour"]["place"] == "external"
            begun = await served.post("/turns", {"text": "Which?", "front_end": "editor"})
            offer = json.loads(await asyncio.wait_for(socket.recv(), 30))
            assert offer["type"] == "tool_call"
            assert offer["arguments"] == {"of": "wall"}
            assert offer["again"] is False
        async with front_end(served) as socket:  # it has left and returned
            await hello(socket, PICK)
            again = json.loads(await asyncio.wait_for(socket.recv(), 30))
            assert again == {**offer, "again": True}
            result = {"request_id": offer["request_id"], "key": offer["key"]}
            await socket.send(json.dumps({**result, "type": "tool_result", "result": "red"}))
            ended = await served.ended(begun["request_id"])
        assert ended["final"]["text"] == "Red it is."
        told = json.loads(str(provider.requests[1].messages[-1]["content"]))
        assert told["result"] == "red"


@pytest.mark.parametrize(
    "first",
    [
        "no json",
        '{"type": "tool_result"}',
        json.dumps({"type": "hello", "tools": [{**PICK, "name": "read_file"}]}),
        json.dumps({"type": "hello", "tools": [{**PICK, "parameters": {"type": "string"}}]}),
    ],
)
async def test_invalid_message_of_a_front_end_is_reported(repo: Path, first: str) -> None:
    async with serving(repo) as served, front_end(served) as socket:
        await socket.send(first)
        answer = json.loads(await asyncio.wait_for(socket.recv(), 30))
        assert answer["type"] == "error"
        assert answer["message"]
        await asyncio.wait_for(socket.wait_closed(), 30)
        assert (await served.get("/health"))["ok"]


async def test_mode_of_a_conversation_is_set_with_a_message_and_by_its_route(repo: Path) -> None:
    create = Call("create_file", {"path": "new.txt", "content": "x"}, id="c1")
    async with (
        FakeProvider([Answer("", (create,)), Answer("No.")]) as provider,
        serving(repo, **of(provider)) as served,
    ):
        begun = await served.post("/turns", {"text": "Write it", "mode": "read_only"})
        ended = await served.ended(begun["request_id"])
        assert ended["final"]["text"] == "No."
        path = f"/sessions/{begun['session_id']}"
        shown = await served.get(path)
        assert shown["mode"] == "read_only"
        assert "mode read_only" in str(
            [each for each in shown["messages"] if each["role"] == "tool"]
        )
        changed = await served.http.patch(f"/api/v1{path}", json={"mode": "normal"})
        assert changed.json()["mode"] == "normal"
        refused = await served.http.patch(f"/api/v1{path}", json={"mode": "yolo"})
        assert refused.status_code == 422
        assert not (repo / "new.txt").exists()
