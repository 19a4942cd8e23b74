"""The audit log has exactly one entry for each action over HTTP, at any of two servers."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.engines import NatsServer
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call
from tests.server.exports import export, span
from tests.server.replicas.running import Replica, replicas
from treadle.app.stores import Stores
from treadle.identity.identity import Limits, Scope
from treadle.identity.records import Action
from treadle.identity.store import IdentityStore

pytestmark = pytest.mark.usefixtures("either_engine")
EDIT = {"edits": [{"file": "calc.py", "replace": {"old": "left + right", "new": "left"}}]}


def log() -> list[Any]:
    """All entries, oldest first."""
    with IdentityStore(Stores.of_user().identity) as store:
        return store.audit.entries(limit=1_000)[::-1]


class Actions:
    """Sends requests to the servers alternately, and checks the new entries after each."""

    def __init__(self, *servers: Replica) -> None:
        self._servers = servers
        self._sent = self._known = 0

    async def __call__(
        self, action: Action | None, request: str, body: object = None
    ) -> httpx2.Response:
        method, _, path = request.partition(" ")
        server = self._servers[self._sent % len(self._servers)]
        self._sent += 1
        url = path if path.startswith("/api") else f"/api/v1{path}"
        answer = await server.http.request(method, url, json=body)
        assert answer.is_success, (request, answer.text)
        entries = await asyncio.to_thread(log)
        new = entries[self._known :]
        assert [each.action for each in new] == ([] if action is None else [action]), request
        assert all(each.who == "server token" for each in new)
        self._known = len(entries)
        return answer


async def test_each_action_has_one_entry(repo: Path, nats: NatsServer) -> None:
    with IdentityStore(Stores.of_user().identity) as store:
        store.keys.create(
            "default", "ci", frozenset(Scope), Limits(), created_by="test", expires_us=None,
            now_us=1,
        )  # fmt: skip
    (repo / ".env").write_text("TOKEN=abc\n")
    (repo / "check.sh").write_text("#!/bin/sh\n")
    (repo / "check.sh").chmod(0o755)
    read = Answer("", (Call("read_file", {"path": ".env"}, id="c1"),))
    edit = Answer("", (Call("apply_code_edit", EDIT, id="c2"),))
    async with FakeProvider([read, Answer("Read."), edit, Answer("Denied.")]) as provider:
        env = {
            "TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "sk-secret-0123456789",
            "TREADLE_CHECKS__COMMANDS__OWN__COMMAND": '["./check.sh"]',
            "TREADLE_CHECKS__COMMANDS__OWN__PARSER": "none",
        }  # fmt: skip
        async with replicas(2, repo, nats.url, **env) as (one, two):
            act = Actions(one, two)
            async with two.page("?approve=true") as page:
                for scope in ("always", "denied"):
                    turn = (await act(None, "POST /turns", {"text": "Do it."})).json()
                    asked = await page.until("ApprovalRequested")
                    path = f"POST /approvals/{asked['approval_id']}"
                    await act(Action.APPROVAL, path, {"scope": scope})
                    await act(None, path, {"scope": scope})  # no question waits any more
                    await one.get(f"/turns/{turn['request_id']}", wait=20)
            (permission,) = (await act(None, "GET /permissions")).json()["data"]
            await act(Action.APPROVAL, f"DELETE /permissions/{permission['id']}")
            await act(None, "DELETE /permissions")
            called = await act(None, "POST /tools/apply_code_edit/call", EDIT)
            proposal = called.json()["proposal_id"]
            for decision in ("approve", "undo", "redo"):
                await act(Action.APPROVAL, f"POST /proposals/{proposal}/{decision}", {})
            program = (await act(None, "GET /checks/own/program")).json()["program"]
            run = {"allowed": program, "always": True}
            await act(Action.APPROVAL, "POST /checks/own/run", run)
            await act(None, "POST /checks/own/run", {})
            await recorded(act, one)
            for conversation in (await one.get("/sessions"))["data"]:
                await act(Action.DELETION, f"DELETE /sessions/{conversation['id']}")


async def recorded(act: Actions, server: Replica) -> None:
    """Export and delete records."""
    sent = [span(number) | {"traceId": f"{number:032x}"} for number in range(1, 5)]
    answer = await server.http.post("/v1/traces", json=export(*sent))
    assert answer.is_success, answer.text
    created = await act(None, "POST /experiments", {"query": "kind:model", "limit": 1})
    experiment = created.json()["id"]
    for path in ("threads", "runs", "spans", "groups?group_by=model", f"html/{1:032x}"):
        await act(Action.EXPORT, f"GET /exports/{path}")
    await act(Action.EXPORT, f"GET /experiments/{experiment}/export")
    await act(Action.DELETION, f"DELETE /experiments/{experiment}")
    await act(Action.DELETION, f"DELETE /traces/{1:032x}")
    selected = {"rows": "spans", "ids": [f"{2:032x}/{2:016x}"]}
    await act(Action.DELETION, "POST /selections/delete", selected)
    await act(None, "POST /selections/delete", selected)  # nothing is left to delete
    view = await act(None, "POST /views", {"screen": "runs", "name": "Mine", "query": ""})
    await act(Action.DELETION, f"DELETE /views/{view.json()['id']}")
    point = await act(None, "POST /breakpoints", {"model": "x"})
    await act(Action.DELETION, f"DELETE /breakpoints/{point.json()['id']}")
