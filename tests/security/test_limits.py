"""Endless, enormous or circular input does not block the server, the gateway or a command."""

import asyncio
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from tests.cli.command import treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer
from tests.gateway.running import running, settings
from treadle.app.doctor import Verdict, examine
from treadle.app.stores import Stores
from treadle.config.model import Settings
from treadle.edits.proposal_store import ProposalStore
from treadle.errors import StoreError
from treadle.gateway.breakpoint_store import BreakpointStore
from treadle.server import connections
from treadle.server.connections import Admission, ServerConfig
from treadle.session.conversations import ConversationStore
from treadle.tools.approvals.grants import Grant, GrantStore
from treadle.traces import TraceStore


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that reads a body and answers."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


@contextmanager
def served(most_strangers: int = 8) -> Iterator[tuple[str, int]]:
    """The application behind our connections, at a real port, with unknown clients."""
    config = ServerConfig(echo, Admission(None, most_strangers), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        running = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        running.start()
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            running.join()


def answered(address: tuple[str, int], *parts: bytes) -> bytes:
    """What the server sends until it closes the connection, which it must do by itself."""
    with socket.create_connection(address, timeout=30) as client:
        try:
            for part in parts:
                client.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass
        said = b""
        try:
            while part := client.recv(65_536):
                said += part
        except ConnectionResetError:
            pass
        return said


LAST = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
HEAD = b"POST / HTTP/1.1\r\nHost: h\r\n"
ENDLESS = {
    "one header": (HEAD + b"a: ", *[b"x" * 100_000] * 50),
    "many headers": (HEAD, *[b"a: b\r\n" * 20_000] * 50),
    "name": (HEAD, *[b"x" * 100_000] * 50),
    "address": (b"GET /", *[b"x" * 100_000] * 50),
    "line breaks": (*[b"\r\n" * 50_000] * 50,),
    "trailers": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", *[b"a: b\r\n" * 20_000] * 50
    ),
    "chunk extension": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", *[b"x" * 100_000] * 50
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ENDLESS)
def test_endless_headers_and_trailers_end_the_connection(kind: str) -> None:
    with served() as address:
        said = answered(address, *ENDLESS[kind])
        assert b"200" not in said.partition(b"\r\n")[0]
        assert b"done" in answered(
            address, b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        )


SLOW = {
    "nothing": (),
    "half a head": (HEAD,),
    "half a body": (HEAD + b"Content-Length: 10\r\n\r\nabc",),
    "half a chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",),
    "half of a second head": (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", HEAD),
    "a line break after a request": (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", b"\r\n"),
}


@pytest.mark.parametrize("kind", SLOW)
def test_a_stalled_request_ends_the_connection(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("_HEAD_SECONDS", "_BODY_SECONDS", "_LOOK_SECONDS"):
        monkeypatch.setattr(connections, limit, 0.05)
    with served() as address:
        answered(address, *SLOW[kind])  # would time out


def test_requests_sent_ahead_of_their_answers_are_bounded() -> None:
    with served() as address:
        ahead = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        said = answered(address, ahead * 10, LAST)
        assert said.count(b"done") == 11
        said = answered(address, *[ahead * 5_000] * 20)
        assert said.count(b"done") < 100
        assert b"done" in answered(address, LAST)


def test_connections_of_strangers_are_few_whatever_the_descriptor_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resource = pytest.importorskip("resource")
    for limit in (1_000_000, resource.RLIM_INFINITY):
        monkeypatch.setattr(resource, "getrlimit", lambda _kind, limit=limit: (limit, limit))
        assert connections.most_strangers() == 2_048


def test_connections_of_strangers_are_limited() -> None:
    with served(most_strangers=3) as address:
        held = [socket.create_connection(address, timeout=30) for _ in range(3)]
        try:
            for client in held:  # the server knows each one after its answer
                client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                assert client.recv(1000)
            assert answered(address, LAST) == b""
        finally:
            for client in held:
                client.close()
        for _ in range(200):  # closed ones made room
            if b"done" in answered(address, LAST):
                break
        else:
            raise AssertionError("no room was made")


async def test_a_provider_that_leads_to_the_gateway_is_refused(tmp_path: Path) -> None:
    async with FakeProvider([Answer("Hello")]) as provider:
        port = free_port()
        itself = {"base_url": f"http://127.0.0.1:{port}/v1", "max_retries": 0, "models": ["m"]}
        own = settings(provider).model_dump()
        own["providers"] = {
            "fake": {"base_url": provider.base_url, "models": ["m"]},
            "itself": {**itself, "models": ["itself/m", "fake/m"]},
        }
        async with running(tmp_path / "data", Settings.model_validate(own)) as gateway:
            forwarding = asyncio.create_task(forward(port, int(gateway.url.split(":")[2][:-3])))
            try:
                looped = await gateway.chat(model="itself/itself/m")
                assert looped.status_code == 508
                assert "returned to this gateway" in looped.json()["error"]["message"]
                through = await gateway.chat(model="itself/fake/m")
                assert through.status_code == 508  # not even if the second round would end
                assert (await gateway.chat(model="fake/m")).status_code == 200
                listed = await gateway.http.get("/models", headers={"x-treadle-hop": "other"})
                assert listed.status_code == 200
            finally:
                forwarding.cancel()
        assert len(provider.requests) == 1


async def test_gateways_that_ask_each_other_for_models_do_not_wait(tmp_path: Path) -> None:
    ports = free_port(), free_port()

    def asking(port: int) -> Settings:
        peer = {"base_url": f"http://127.0.0.1:{port}/v1", "max_retries": 0}
        return Settings.model_validate({"providers": {"peer": peer}})

    async with (
        running(tmp_path / "a", asking(ports[1])) as first,
        running(tmp_path / "b", asking(ports[0])) as second,
    ):
        forwarding = [
            asyncio.create_task(forward(port, int(each.url.split(":")[2][:-3])))
            for port, each in zip(ports, (first, second), strict=True)
        ]
        try:
            listed = (await first.http.get("/models")).json()
        finally:
            for each in forwarding:
                each.cancel()
    assert "unavailable" not in listed


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


async def forward(port: int, to: int) -> None:
    """Pass connections on unchanged, so that the address of a provider can be a gateway's."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", to)

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                target.write(data)
            target.close()

        await asyncio.gather(copy(reader, outer), copy(inner, writer), return_exceptions=True)

    async with await asyncio.start_server(pass_on, "127.0.0.1", port) as server:
        await server.serve_forever()


@pytest.mark.parametrize("kind", ["pipe", "device", "pointer to a pipe", "pointer to a device"])
def test_a_git_folder_that_never_ends_is_not_read(repo: Path, kind: str) -> None:
    home = repo.parent / "home"
    if kind == "pipe":
        os.mkfifo(repo / ".git")
    elif kind == "device":
        (repo / ".git").symlink_to("/dev/zero")
    else:
        (repo / "other" / "info").mkdir(parents=True)
        (repo / ".git").write_text("gitdir: other\n")
        for name in ("commondir", "config", "info/exclude"):
            if kind == "pointer to a pipe":
                os.mkfifo(repo / "other" / name)
            else:
                (repo / "other" / name).symlink_to("/dev/zero")
    ran = treadle("search", "add", home=home, repo=repo)
    assert (ran.status, "calc.py" in ran.out) == (0, True), ran.err


def alter(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)


async def test_unusable_databases_are_reported(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = repo.parent / "home"
    monkeypatch.setenv("TREADLE_HOME", str(home))
    stores, data = Stores.of_user(), home / "data"
    TraceStore.open(stores.traces).close()
    BreakpointStore.open(stores.breakpoints).close()
    ProposalStore.open(stores.proposals).close()
    await (await ConversationStore.open(stores.conversations)).close()
    alter(data / "conversations.db", "PRAGMA user_version = -5")
    (data / "experiments.db").symlink_to("nowhere")
    sound = {each.name: each for each in await examine(repo, {})}["records"]
    assert "traces.db" not in sound.detail
    assert f"{data / 'conversations.db'}: Treadle did not write it (format -5)" in sound.detail
    assert f"{data / 'experiments.db'}: it is a broken link" in sound.detail
    with pytest.raises(StoreError, match="Treadle did not write"):
        await ConversationStore.open(stores.conversations)
    alter(data / "traces.db", "PRAGMA user_version = 99")
    alter(data / "breakpoints.db", "DROP TABLE held")
    GrantStore(stores.approvals).remember(repo, [Grant("run_check")], 1)
    alter(data / "approvals.db", "DROP TABLE bound_grants")
    found = {each.name: each for each in await examine(repo, {})}["records"]
    assert found.verdict is Verdict.FAILED
    assert f"{data / 'traces.db'}: a newer version of Treadle wrote it (format 99)" in found.detail
    assert f"{data / 'breakpoints.db'}: it lacks the tables held" in found.detail
    assert f"{data / 'approvals.db'}: it lacks the tables bound_grants" in found.detail
    assert "proposals.db" not in found.detail


def test_a_damaged_database_is_reported(repo: Path) -> None:
    home = repo.parent / "home"
    assert treadle("traces", "list", home=home, repo=repo).status == 0
    sound = treadle("doctor", home=home, repo=repo)
    assert "✓ records" in sound.out
    traces = home / "data" / "traces.db"
    whole = traces.read_bytes()
    for damage in (
        b"no database at all, but some text",
        whole[:5000],
        whole[:4096] + b"\xff" * 9000,
    ):
        traces.write_bytes(damage)
        found = treadle("doctor", home=home, repo=repo)
        assert "✓ records" not in found.out
        assert "traces.db" in found.out
