"""The answers of a server with data fit the OpenAPI document."""

import asyncio
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no types

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.server import exports
from tests.server.serving import Served, serving

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]


class _Held:
    """Reads answers and validates them: no missing and no undocumented field."""

    def __init__(self, server: Served, document: dict[str, Any]) -> None:
        self._server = server
        self._document = _closed(document)
        self.seen: set[str] = set()

    async def get(self, path: str, **parameters: Any) -> Any:
        answer = await self._server.http.get(f"/api/v1{path}", params=parameters)
        self.check("get", path, answer.status_code, answer.json())
        return answer.json()

    def check(self, method: str, path: str, status: int, answer: Any) -> None:
        template, operation = next(
            (template, each[method])
            for template, each in self._document["paths"].items()
            if method in each and _fits(template, f"/api/v1{path}")
        )
        responses = operation["responses"]
        told = responses.get(str(status)) or responses[f"{str(status)[0]}XX"]
        (content,) = told["content"].values()
        self.hold(content["schema"], answer)
        self.seen.add(template)

    def hold(self, schema: dict[str, Any], value: Any) -> None:
        whole = {**schema, "components": self._document["components"]}
        wrong = list(Draft202012Validator(whole).iter_errors(value))
        assert not wrong, "; ".join(f"{error.json_path}: {error.message}" for error in wrong[:3])


def _closed(value: Any) -> Any:
    """The document with closed objects, so that undocumented fields are errors."""
    if isinstance(value, list):
        return [_closed(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {name: _closed(each) for name, each in value.items()}
    if isinstance(made.get("properties"), dict) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def _fits(template: str, path: str) -> bool:
    slashed = "ids" in template
    pattern = re.sub(r"\\{[^}]*\\}", ".+" if slashed else "[^/]+", re.escape(template))
    return re.fullmatch(pattern, path) is not None


async def _recorded(server: Served) -> None:
    long = exports.span(3, trace=1, text="long " * 2_000, parentSpanId=f"{1:016x}")
    failed = exports.span(2, trace=1, text="needle", status={"code": 2, "message": "no"})
    body = exports.export(exports.span(1, trace=1, text="hello"), failed, long)
    await server.http.post("/v1/traces", json=body)


async def _experiment(server: Served) -> str:
    answer = await server.http.post(
        "/v1/chat/completions", json={"model": "custom/m", "messages": MESSAGES}
    )
    span = f"{answer.headers['x-trace-id']}/{answer.headers['x-span-id']}"
    while True:  # until the span is recorded
        made = await server.http.post("/api/v1/experiments", json={"spans": [span]})
        if made.status_code == 201:
            return str(made.json()["id"])
        await asyncio.sleep(0.05)


async def _traces(held: _Held) -> None:
    for path in ("/threads", "/runs", "/spans", "/labels", "/summary"):
        await held.get(path)
    await held.get("/search", q="needle")
    for what in ("model", "time", "operation"):
        await held.get("/groups", group_by=what)
    run = (await held.get("/runs", q="needle"))["error"]
    assert run["message"]
    found = (await held.get("/runs"))["data"][-1]
    await held.get(f"/runs/{found['run_id']}")
    await held.get(f"/traces/{1:032x}")
    shown = await held.get(f"/spans/{1:032x}/{3:016x}")
    assert shown["cut"]
    await held.get(f"/spans/{1:032x}/{3:016x}", whole=True)
    await held.get("/redaction/preview", pattern="needle")


async def _experiments(held: _Held, server: Served, made: str) -> None:
    here = f"/experiments/{made}"
    changed = await server.http.patch(f"/api/v1{here}", json={"data": {"system": "Be long."}})
    held.check("patch", here, changed.status_code, changed.json())
    wrong = await server.http.patch(f"/api/v1{here}", json={"data": {"model": 3}})
    held.check("patch", here, wrong.status_code, wrong.json())
    batch = (await server.post(f"{here}/batches", {"repeats": 1}))["id"]
    while True:
        if (await held.get(f"{here}/batches/{batch}"))["state"] != "running":
            break
        await asyncio.sleep(0.05)
    for path in ("/experiments", here, f"{here}/export", f"{here}/batches"):
        await held.get(path)
    await held.get(f"{here}/batches/{batch}/comparison")


async def _turn(held: _Held, server: Served) -> None:
    turn = await server.post("/turns", {"text": "hello", "model": "custom/m"})
    ended = await held.get(f"/turns/{turn['request_id']}", wait=50)
    assert ended["state"] == "done"
    events = await held.get(f"/turns/{turn['request_id']}/events")
    assert {"SessionStarted", "SessionFinished"} <= {event["type"] for event in events["data"]}
    await held.get("/sessions")
    await held.get(f"/sessions/{ended['session_id']}")
    rewind = f"/sessions/{ended['session_id']}/rewind"
    await held.get(rewind, prompt=0)
    done = await server.http.post(f"/api/v1{rewind}", json={"prompt": 0})
    held.check("post", rewind, done.status_code, done.json())
    await held.get(f"{rewind}/undo")


async def _proposed(held: _Held, server: Served) -> None:
    change = {"old": "return left + right", "new": "return right + left"}
    await server.post(
        "/tools/apply_code_edit/call", {"edits": [{"file": "calc.py", "replace": change}]}
    )
    (listed,) = (await held.get("/proposals"))["data"]
    await held.get(f"/proposals/{listed['id']}")
    denied = await server.http.post(f"/api/v1/proposals/{listed['id']}/deny", json={})
    held.check("post", f"/proposals/{listed['id']}/deny", denied.status_code, denied.json())


async def test_every_answer_fits_its_schema(repo: Path) -> None:
    async with FakeProvider([Answer("x")] * 8) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "k" * 12}
        async with serving(repo, **env) as server:
            document = (await server.http.get("/api/openapi.json")).json()
            held = _Held(server, document)
            await _recorded(server)
            await _traces(held)
            await _experiments(held, server, await _experiment(server))
            await _turn(held, server)
            await _proposed(held, server)
            for path in (
                "/health",
                "/tools",
                "/agents",
                "/ui",
                "/approvals",
                "/turns",
                "/permissions",
                "/repository",
            ):
                await held.get(path)
            await held.get("/code/search", q="add")
            await held.get("/code/context", q="add")
            await held.get("/breakpoints")
    assert len(held.seen) > 25
