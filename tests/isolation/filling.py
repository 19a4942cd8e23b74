"""Fills a project with one of everything, through its routes."""

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.isolation.world import MEDIA, RECORDED, SECRETS, VICTIM, Kind, World
from tests.server.exports import export, span
from treadle.server.uploaded_media import langfuse_id

_IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(3_000)
"""An incomplete image, which is so large that it is stored in its own blob."""


@dataclass(slots=True)
class Filling:
    """Creates the things of one project. Their names and texts contain `word`."""

    world: World
    project: str
    word: str
    stack: AsyncExitStack
    ids: dict[Kind, str] = field(default_factory=dict)
    page: AsyncExitStack = field(default_factory=AsyncExitStack)
    """Keeps the page of the other project (not the victim's) open until everything is created."""

    @property
    def secret(self) -> str:
        return SECRETS[self.project]

    @property
    def http(self) -> httpx2.AsyncClient:
        return self.world.http[self.project]

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.http.get(f"/api/v1{path}", params=query)
        assert answer.is_success, (path, answer.text)
        return answer.json()

    async def post(self, path: str, body: object = None) -> Any:
        answer = await self.http.post(f"/api/v1{path}", json=body)
        assert answer.is_success, (path, answer.text)
        return answer.json()

    async def fill(self) -> dict[Kind, str]:
        """Create everything, and return the ids."""
        word = self.word
        self.ids |= {
            Kind.FILE: f"{word}_file.py", Kind.ITEM: f"{word}_item", Kind.CHECK: f"{word}_check",
            Kind.AGENT: f"{word}agent", Kind.PROVIDER: f"{word}provider",
            Kind.MODEL: f"{word}model", Kind.PAGE: f"{word}-page", Kind.TOOL: f"{word}_tool",
            Kind.FRONT_END: f"{word}-editor", Kind.WORD: RECORDED[self.project],
            Kind.LABEL: f"{word}-label",
            Kind.USER: f"{word}-user", Kind.THREAD: f"{word}-thread", Kind.RUN: f"{word}-run",
            Kind.ROOT: str(self.world.roots[self.project]),
        }  # fmt: skip
        await self._spans()
        await self._experiment()
        await self._saved_things()
        await self._page()
        await self._conversations()
        await self._front_end()
        await self._permission()
        await self._held_call()
        await self._media()
        await self.page.aclose()
        return self.ids

    async def _spans(self) -> None:
        trace, number = self.word.encode().hex().ljust(32, "0")[:32], 0xBEEF
        image = b64encode(_IMAGE + self.word.encode()).decode()
        sent = span(
            number,
            text=f"The {self.word} sings of the {self.secret}, {self.ids[Kind.WORD]}. "
            f"data:image/png;base64,{image}",
        )
        sent |= {"traceId": trace, "spanId": trace[:16]}
        named = {
            "session.id": self.ids[Kind.THREAD], "run_id": self.ids[Kind.RUN],
            "user.id": self.ids[Kind.USER], "treadle.labels": self.ids[Kind.LABEL],
            "gen_ai.request.model": self.ids[Kind.MODEL],
        }  # fmt: skip
        sent["attributes"] = [each for each in sent["attributes"] if each["key"] not in named]
        sent["attributes"] += [
            {"key": key, "value": {"stringValue": value}} for key, value in named.items()
        ]
        answer = await self.http.post("/v1/traces", json=export(sent))
        assert answer.is_success, answer.text
        self.ids |= {
            Kind.TRACE: trace,
            Kind.SPAN: trace[:16],
            Kind.SPAN_PATH: f"{trace}/{trace[:16]}",
        }
        shown = await self.get(f"/spans/{self.ids[Kind.SPAN_PATH]}")
        parts = [part for cut in shown["cut"] for part in cut["parts"] if "blob" in part]
        self.ids[Kind.BLOB] = parts[0]["blob"]

    async def _experiment(self) -> None:
        made = await self.post("/experiments", {"spans": [self.ids[Kind.SPAN_PATH]]})
        here = f"/experiments/{made['id']}"
        begun = await self.post(f"{here}/batches", {"repeats": 1})
        self.ids |= {Kind.EXPERIMENT: made["id"], Kind.BATCH: begun["id"]}

        async def ended() -> bool:
            batch = await self.get(f"{here}/batches/{begun['id']}")
            return bool(batch["state"] != "running")

        await until(ended)

    async def _saved_things(self) -> None:
        view = {"screen": "runs", "name": f"The {self.secret}", "query": self.secret, "columns": []}
        self.ids[Kind.VIEW] = (await self.post("/views", view))["id"]
        point = {"labels": [f"hold-{self.word}"], "timeout": 600}
        self.ids[Kind.BREAKPOINT] = (await self.post("/breakpoints", point))["id"]
        key = await self.http.put(
            f"/api/v1/providers/{self.ids[Kind.PROVIDER]}/key",
            json={"key": f"sk-{self.secret}-key"},
        )
        assert key.is_success, key.text

    async def _page(self) -> None:
        """Open a page, which answers approvals and receives a request that stays open."""
        page = self.ids[Kind.PAGE]
        path = f"/api/v1/events/socket?page={page}&approve=true"
        # The page of the other project closes later. Otherwise tools would wait for its approval.
        stack = self.stack if self.project == VICTIM else self.page
        socket = await stack.enter_async_context(self.world.socket(self.project, path))
        question = {"page": page, "request": {"type": "navigate_to", "url": f"/runs/{self.secret}"}}
        asking = asyncio.create_task(self.post("/ui/requests", question))
        while (heard := json.loads(await socket.recv()))["type"] != "UiRequested":
            pass
        self.ids[Kind.UI_REQUEST] = heard["ui_id"]
        asking.cancel()

    async def _conversations(self) -> None:
        asked = await self.post(
            "/turns", {"text": f"Who sings? The {self.word} of the {self.secret}?"}
        )
        await self._ended(asked["request_id"])
        self.ids[Kind.SESSION] = asked["session_id"]
        question = await self.post(
            f"/agents/{self.ids[Kind.AGENT]}/ask",
            {"question": f"Does the {self.secret} sing?", "asked_in": asked["session_id"]},
        )
        await self._ended(question["request_id"])
        listed = await self.get("/agents/conversations")
        self.ids[Kind.AGENT_SESSION] = listed["data"][0]["id"]
        turn = await self.post(
            "/turns",
            {"text": f"PROPOSE an edit of the {self.secret}", "session": asked["session_id"]},
        )
        self.ids[Kind.TURN] = turn["request_id"]

        async def asks() -> Any:
            return (await self.get("/approvals"))["data"]

        (approval,) = await until(asks)
        self.ids[Kind.APPROVAL] = approval["approval_id"]
        (proposal,) = (await self.get("/proposals"))["data"]
        self.ids[Kind.PROPOSAL] = proposal["id"]

    async def _front_end(self) -> None:
        """Connect a front end, and let a call of its tool wait."""
        path = f"/api/v1/front_ends/{self.ids[Kind.FRONT_END]}"
        socket = await self.stack.enter_async_context(self.world.socket(self.project, path))
        tool = {
            "name": self.ids[Kind.TOOL], "description": f"Ask the {self.secret}.",
            "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
        }  # fmt: skip
        await socket.send(json.dumps({"type": "hello", "tools": [tool]}))
        assert json.loads(await socket.recv())["type"] == "ready"
        await self.post(
            "/turns", {"text": f"EXTERNAL {self.secret}", "front_end": self.ids[Kind.FRONT_END]}
        )
        assert json.loads(await socket.recv())["type"] == "tool_call"

    async def _permission(self) -> None:
        program = (await self.get(f"/checks/{self.ids[Kind.CHECK]}/program"))["program"]
        allowed = {"allowed": program, "always": True}
        ran = await self.http.post(f"/api/v1/checks/{self.ids[Kind.CHECK]}/run", json=allowed)
        assert ran.is_success, ran.text
        (permission,) = (await self.get("/permissions"))["data"]
        self.ids[Kind.PERMISSION] = permission["id"]

    async def _held_call(self) -> None:
        body = {
            "model": f"{self.ids[Kind.PROVIDER]}/{self.ids[Kind.MODEL]}",
            "messages": [{"role": "user", "content": f"Hold the {self.secret}."}],
        }
        headers = {"x-label": f"hold-{self.word}", "x-thread-id": self.ids[Kind.THREAD]}
        calling = asyncio.create_task(
            self.http.post("/v1/chat/completions", json=body, headers=headers)
        )
        self.stack.callback(calling.cancel)

        async def held() -> Any:
            return (await self.get("/breakpoints/held"))["data"]

        (call,) = await until(held)
        self.ids[Kind.HELD_CALL] = call["id"]

    async def _media(self) -> None:
        content = MEDIA[self.project]
        self.ids[Kind.MEDIA] = langfuse_id(content)
        answer = await self.http.put(
            f"/api/public/media/{self.ids[Kind.MEDIA]}", content=content,
            headers={"Content-Type": "image/png"},
        )  # fmt: skip
        assert answer.is_success, answer.text

    async def _ended(self, request_id: str) -> None:
        turn = await self.get(f"/turns/{request_id}", wait=30)
        assert turn["state"] == "done", turn


async def until(found: Callable[[], Awaitable[Any]]) -> Any:
    """Call `found` again until its result is true, and return the result."""
    async with asyncio.timeout(30):
        while True:
            if result := await found():
                return result
            await asyncio.sleep(0.02)
