"""The page state over HTTP, with several browsers and a command."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ended, start
from tests.server.serving import Served, serving
from tests.server.test_traces_live import follow

Event = dict[str, Any]


@asynccontextmanager
async def page(
    served: Served, name: str, act: Callable[[Event], Awaitable[None]] | None = None
) -> AsyncIterator[list[Event]]:
    """An open page and its events. It calls `act` when it receives a request."""
    heard: list[Event] = []

    async def listen() -> None:
        async for kind, _, event in follow(served, page=name):
            heard.append(event)
            if kind == "UiRequested" and event["page"] == name and act is not None:
                await act(event)

    listening = asyncio.create_task(listen())
    try:
        await until(lambda: _is_open(served, name))
        yield heard
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _is_open(served: Served, name: str) -> bool:
    return name in [each["id"] for each in (await served.get("/ui"))["pages"]]


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110  (another process changes it)
            await asyncio.sleep(0.05)


def answering(served: Served, name: str) -> Callable[[Event], Awaitable[None]]:
    """The answer of a page that follows every request to navigate."""

    async def act(event: Event) -> None:
        url = event["request"]["url"]
        await served.http.patch("/api/v1/ui", json={"page": name, "location": url})
        answer = {"type": "navigate_to_response", "success": True}
        taken = await served.post(f"/ui/requests/{event['ui_id']}/answer", answer)
        assert taken == {"taken": True}

    return act


async def test_pages_mirror_the_state_and_a_command_moves_the_one_used_last(repo: Path) -> None:
    async with serving(repo) as served:
        async with page(served, "one") as first, page(served, "two", answering(served, "two")):
            change = {"page": "two", "location": "/traces/a", "collapse": ["s1", "s2"]}
            shown = (await served.http.patch("/api/v1/ui", json=change)).json()
            assert shown["collapsed_span_ids"] == ["s1", "s2"]
            assert [each["id"] for each in shown["pages"]] == ["two", "one"]

            async def told() -> bool:
                return any(
                    (each["type"], each.get("revision"), each.get("by"))
                    == ("UiChanged", shown["revision"], "two")
                    for each in first
                )

            await until(told)
            command = await start(
                "tools", "call", "navigate_to", "--args", '{"url": "/threads"}', "--json",
                home=repo.parent / "home", repo=repo,
            )  # fmt: skip
            ran = await ended(command)
            assert json.loads(ran.out)["navigated"] is True
            assert json.loads(ran.out)["page"] == "two"
            state = await served.get("/ui")
            assert state["location"] == "/threads"
            assert state["changed_by"] == "two"
        await until(lambda: _nobody(served))
    async with serving(repo) as served:  # the state survives a restart, open pages do not
        state = await served.get("/ui")
        assert state["location"] == "/threads"
        assert state["collapsed_span_ids"] == ["s1", "s2"]
        assert state["pages"] == []


async def _nobody(served: Served) -> bool:
    return not (await served.get("/ui"))["pages"]


async def test_page_receives_a_request_over_http(repo: Path) -> None:
    form = {
        "type": "experiment_data_response",
        "experimentData": {"model": "small"},
        "running": False,
    }
    async with serving(repo) as served:

        async def act(event: Event) -> None:
            assert event["request"] == {"type": "get_experiment_data"}
            await served.post(f"/ui/requests/{event['ui_id']}/answer", form)

        asking = {"request": {"type": "get_experiment_data"}}
        assert await served.post("/ui/requests", asking) == {"page": None, "answer": None}
        async with page(served, "tab", act):
            asked = await served.post("/ui/requests", asking)
            assert asked["page"] == "tab"
            assert asked["answer"]["experimentData"] == {"model": "small"}
            other = await served.post("/ui/requests", {**asking, "page": "another"})
            assert other == {"page": None, "answer": None}


@pytest.mark.slow
async def test_invalid_changes_are_refused(repo: Path) -> None:
    async with serving(repo) as served:
        for body in (
            {"location": "https://evil.example/"},
            {"location": "/api/v1/ui"},
            {"label_filters": {"nowhere": ["a"]}},
            {"label_filters": {"runs": [""]}},
            {"colapse": ["a"]},
            {"page": ""},
        ):
            assert (await served.http.patch("/api/v1/ui", json=body)).status_code == 422, body
        assert (await served.get("/ui"))["revision"] == 0
        nothing = f"/api/v1/ui/requests/{'0' * 32}/answer"
        answer = {"type": "navigate_to_response", "success": True}
        assert (await served.http.post(nothing, json=answer)).status_code == 404
        assert (await served.http.post(nothing, json={"type": "other"})).status_code == 422
        known = await served.http.get("/api/openapi.json")
        schemas = known.json()["components"]["schemas"]
        assert {"ApplyLabelFilter", "NavigateTo", "CollapsedSpans", "Shown"} <= schemas.keys()
        elsewhere = await served.http.patch(
            "/api/v1/ui", json={}, headers={"Origin": "https://evil.example"}
        )
        assert elsewhere.status_code == 403


async def test_an_experiment_is_opened_and_closed(repo: Path) -> None:
    async with serving(repo) as served:

        async def change(**what: Any) -> Any:
            return (await served.http.patch("/api/v1/ui", json=what)).json()["experiment_id"]

        assert await change(experiment_id="e1") == "e1"
        assert await change(location="/experiments/e1") == "e1"
        assert await change(experiment_id=None) is None


@pytest.mark.slow
async def test_page_that_asks_an_agent_counts_as_last_used(repo: Path) -> None:
    async with (
        serving(repo, TREADLE_BASE_URL="http://127.0.0.1:9/v1", TREADLE_API_KEY="key") as served,
        page(served, "first"),
        page(served, "second"),
    ):
        asked = {"question": "What went wrong?", "page_id": "first"}
        await served.post("/agents/orchestrator/ask", asked)
        assert [each["id"] for each in (await served.get("/ui"))["pages"]] == ["first", "second"]
