"""What another user of this machine gets from a loopback server: nothing."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from websockets.asyncio.client import connect

from tests.cli.command import treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.security.stranger import Seen, Sent, needs_root, send_as_stranger
from tests.server.serving import Served, serving
from treadle.server.guard import PROBES

CHAT = json.dumps({"model": "fake/m", "messages": [{"role": "user", "content": "Hi"}]})
JSON = {"Content-Type": "application/json"}
SOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


def configure(repo: Path, provider: FakeProvider) -> None:
    config = repo.parent / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[providers.fake]\nbase_url = "{provider.base_url}"\nmodels = ["m"]\n')


def is_refused(seen: Seen) -> bool:
    """Whether an answer is a 401 that explains how to get access."""
    return seen.status == 401 and "token" in seen.error["hint"] and bool(seen.error["message"])


def of_document(document: Mapping[str, Any]) -> list[Sent]:
    """A request for each operation, with the parameters of its path filled in."""
    return [
        Sent(method.upper(), re.sub(r"\{[^}]*\}", "x", path), JSON, "{}")
        for path, operations in document["paths"].items()
        for method in operations
    ]


async def send(served: Served, *requests: Sent) -> list[Seen]:
    return await asyncio.to_thread(send_as_stranger, served.address, requests)


OTHERS = (
    Sent("POST", "/v1/chat/completions", JSON, CHAT),
    Sent("POST", "/v1/chat/completions", {**JSON, "Authorization": "Bearer any"}, CHAT),
    Sent("POST", "/v1/responses", JSON, '{"model": "fake/m", "input": "Hi"}'),
    Sent("POST", "/v1/embeddings", JSON, '{"model": "fake/m", "input": "Hi"}'),
    Sent("GET", "/v1/models"),
    Sent("POST", "/v1/traces", JSON, '{"resourceSpans": []}'),
    Sent("POST", "/v1/traces", {"Content-Type": "application/x-protobuf"}, "x"),
    Sent("POST", "/mcp", JSON, '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'),
    Sent("GET", "/mcp", {"Accept": "text/event-stream"}),
    Sent("GET", "/api/v1/events?approve=true", {"Accept": "text/event-stream"}),
    Sent("GET", "/api/v1/events/socket", SOCKET),
    Sent("GET", "/api/v1/events/socket", {**SOCKET, "Sec-WebSocket-Protocol": "treadle"}),
    Sent("GET", "/api/v1/front_ends/editor", SOCKET),
    Sent("GET", "/api/openapi.json"),
    Sent("GET", "/nowhere", {"Accept": "text/html"}),
    Sent("OPTIONS", "/api/v1/tools"),
    Sent("GET", "/api/v1/tools?token=x"),
    Sent("GET", "/api/v1/tools", {"X-Forwarded-For": "127.0.0.1"}),
    Sent("GET", "/api/v1/tools", {"Cookie": "treadle-7070=x; token=x"}),
    Sent("GET", "/api/v1/tools", {"Authorization": "Basic cm9vdDpyb290"}),
    Sent("GET", "/api/v1/tools", {"Authorization": "Bearer"}),
    Sent("GET", "/api/v1/tools", {"X-Treadle-Token": ""}),
)


@needs_root
async def test_another_user_is_refused_by_every_interface_and_nothing_is_recorded(
    repo: Path,
) -> None:
    async with FakeProvider([]) as provider:
        configure(repo, provider)
        async with serving(repo) as served:
            document = (await served.http.get("/api/openapi.json")).json()
            requests = [*of_document(document), *OTHERS]
            assert len(requests) > 80
            seen = await send(served, *requests)
            let_in = [
                (request.method, request.path, answer.status)
                for request, answer in zip(requests, seen, strict=True)
                if request.path not in PROBES and not is_refused(answer)
            ]
            # Signing in begins without an identity. Neither answer contains data of a user.
            assert let_in == [
                ("POST", "/api/v1/identity/invitations", 422),
                ("GET", "/api/v1/identity/provider", 200),
            ]
            for path in ("/spans", "/sessions", "/turns", "/breakpoints", "/proposals"):
                found = await served.get(path)
                assert not (found["data"] if isinstance(found, dict) else found), path
    assert provider.requests == []


@pytest.mark.slow
@needs_root
@pytest.mark.parametrize("host", ["::1", "localhost"])
async def test_another_user_is_refused_on_each_loopback_address(repo: Path, host: str) -> None:
    async with serving(repo, "--host", host) as served:
        (seen,) = await send(served, Sent("GET", "/api/v1/tools"))
        assert is_refused(seen)
        assert (await served.http.get("/api/v1/tools")).status_code == 200


@pytest.mark.slow
@needs_root
async def test_another_user_who_disconnects_at_once_is_not_trusted(repo: Path) -> None:
    """A socket whose process closed it reads as root's, the user of this server."""
    delete = Sent("POST", "/api/v1/breakpoints", JSON, "{}", leave=True)
    async with serving(repo) as served:
        await send(served, *[delete] * 40)
        assert (await served.get("/breakpoints"))["data"] == []


@needs_root
async def test_another_user_with_the_token_is_accepted(repo: Path) -> None:
    async with serving(repo) as served:
        key = served.page.partition("#key=")[2]
        seen = await send(
            served,
            Sent(path="/api/v1/tools", headers={"Authorization": f"Bearer {served.token}"}),
            Sent(path="/api/v1/tools", headers={"authorization": f"bearer  {served.token}"}),
            Sent(path="/api/v1/tools", headers={"X-Treadle-Token": served.token}),
            Sent(path="/api/v1/tools", headers={"X-Treadle-Token": key}),
            Sent(path="/api/v1/tools", headers={"Authorization": f"Bearer {served.token}x"}),
            Sent(path="/api/v1/tools", headers={"Authorization": f"Bearer {served.token[:-1]}"}),
            Sent(path=f"/api/v1/tools?token={served.token}"),
            Sent(path="/threads"),
        )
        assert [each.status for each in seen[:7]] == [200, 200, 200, 200, 401, 401, 401]
        assert seen[7].status in {200, 503}  # the page, which reveals nothing about the user
        assert not any("set-cookie" in {name.lower() for name in each.headers} for each in seen)
        protocols = {"Sec-WebSocket-Protocol": f"treadle, treadle.key.{key}"}
        (upgraded,) = await send(
            served, Sent("GET", "/api/v1/events/socket", {**SOCKET, **protocols})
        )
        assert upgraded.status == 101
        assert upgraded.headers["Sec-WebSocket-Protocol"] == "treadle"


@pytest.mark.slow
@needs_root
async def test_the_token_of_a_user_cannot_be_read_by_another(repo: Path) -> None:
    async with serving(repo) as served:
        path = repo.parent / "home" / "data" / "server-token"
        assert path.read_text().strip() == served.token
        reading = f"import os; os.setuid(65534); open({str(path)!r})"
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", reading],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "PermissionError" in done.stderr


async def test_the_snippets_of_the_readme_need_no_token(repo: Path) -> None:
    async with FakeProvider([Answer("Hello")]) as provider:
        configure(repo, provider)
        async with serving(repo) as served:
            async with openai.AsyncOpenAI(
                base_url=f"{served.address}/v1", api_key="any", max_retries=0
            ) as client:
                answer = await client.chat.completions.create(
                    model="fake/m", messages=[{"role": "user", "content": "Hi"}]
                )
            assert answer.choices[0].message.content == "Hello"
            exported = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-c", _EXPORTER],
                env={
                    **os.environ,
                    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{served.address}/v1/traces",
                },
                capture_output=True,
                text=True,
                check=False,
            )
            assert (exported.returncode, exported.stderr) == (0, "")
            names = {each["name"] for each in (await served.get("/spans"))["data"]}
            assert len(names) == 2
            assert "from an exporter" in names


_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_EXPORTER = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("t").start_as_current_span("from an exporter"):
    pass
provider.shutdown()
"""


FORWARDING = (
    *("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded-Proto"),
    *("x-forwarded-prefix", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP", "Fly-Client-IP"),
    *("X-Envoy-External-Address", "X-Cluster-Client-IP", "X-Original-Forwarded-For"),
)


async def test_a_forwarded_request_needs_the_token(repo: Path) -> None:
    async with serving(repo) as served:
        for header in FORWARDING:
            answer = await served.http.get("/api/v1/tools", headers={header: "203.0.113.9"})
            assert answer.status_code == 401, header
            both = {header: "127.0.0.1", "X-Treadle-Token": served.token}
            assert (await served.http.get("/api/v1/tools", headers=both)).status_code == 200


async def test_the_token_can_be_required_from_everyone(repo: Path) -> None:
    async with serving(repo, "--require-token") as served:
        assert (await served.http.get("/api/v1/tools")).status_code == 401
        socket = served.address.replace("http", "ws") + "/api/v1/events/socket"
        with pytest.raises(Exception, match="401"):
            async with connect(socket):
                pass
        bearer = {"Authorization": f"Bearer {served.token}"}
        assert (await served.http.get("/api/v1/tools", headers=bearer)).status_code == 200
        async with connect(socket, additional_headers=bearer) as opened:
            assert json.loads(await opened.recv())["type"] == "open"


@pytest.mark.slow
async def test_the_token_survives_a_restart_and_the_page_key_does_not(repo: Path) -> None:
    async with serving(repo, "--require-token") as first:
        old = first.page.partition("#key=")[2]
    async with serving(repo, "--require-token") as second:
        assert second.token == first.token
        answer = await second.http.get("/api/v1/tools", headers={"X-Treadle-Token": old})
        assert answer.status_code == 401


@pytest.mark.slow
async def test_the_token_does_not_reach_a_provider(repo: Path) -> None:
    async with FakeProvider([Answer("One"), Answer("Two")]) as provider:
        configure(repo, provider)
        config = repo.parent / "home" / "config" / "config.toml"
        config.write_text(config.read_text() + "[gateway]\npass_client_keys = true\n")
        async with serving(repo) as served, httpx2.AsyncClient(base_url=served.address) as http:
            for headers in (
                {"Authorization": f"Bearer {served.token}"},
                {"Authorization": "Bearer theirs", "X-Treadle-Token": served.token},
            ):
                answer = await http.post(
                    "/v1/chat/completions", content=CHAT, headers={**JSON, **headers}
                )
                assert answer.status_code == 200, answer.text
        assert served.token not in repr(provider.requests)
        assert provider.requests[1].headers["authorization"] == "Bearer theirs"


@pytest.mark.parametrize(
    "token", ["short", "x" * 15, "with a tab\tand more of it", "schlüssel-schlüssel"]
)
def test_an_invalid_token_is_refused_at_the_start(repo: Path, token: str) -> None:
    home = repo.parent / "home"
    (home / "data").mkdir(parents=True)
    for env, text in (({"TREADLE_SERVE_TOKEN": token}, ""), ({}, token)):
        (home / "data" / "server-token").write_text(text)
        ran = treadle("serve", "--port", "0", home=home, repo=repo, **env)
        assert ran.status == 2
        assert "does not contain a token" in ran.err
        assert token not in ran.err
