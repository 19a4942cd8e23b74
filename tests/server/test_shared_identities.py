"""Two servers that share one identity store: keys, their limits, and download tickets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from tests.engines import PostgresServer
from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, usage
from tests.server.exports import export, span
from tests.server.in_process import serving_app
from treadle.app.stores import Stores
from treadle.config.loader import load
from treadle.events.types import Usage
from treadle.gateway import budgets
from treadle.identity.identity import NO_LIMITS, Limits, Role, Scope
from treadle.identity.store import IdentityStore
from treadle.llm.endpoint import Endpoint
from treadle.server.app import create_app
from treadle.server.credentials import Credentials
from treadle.server.followed_requests import CHECK_SECONDS
from treadle.server.identities import CACHE_SECONDS
from treadle.server.identity_services import IdentityServices

TOKEN = "the-token-of-both-servers"
CALL = {"model": "fake/m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 500_000}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers, and a store that neither of them uses."""

    clock: FakeClock
    store: IdentityStore
    servers: tuple[httpx2.AsyncClient, httpx2.AsyncClient]

    def key(self, *, limits: Limits = NO_LIMITS, seconds: float | None = None) -> dict[str, str]:
        """The header with a new key."""
        now = self.clock.now_us()
        _, secret = self.store.keys.create(
            "default", "ci", frozenset(Scope), limits, created_by="test", now_us=now,
            expires_us=None if seconds is None else now + round(seconds * 1e6),
        )  # fmt: skip
        return {"X-Treadle-Token": secret}

    def session(self, email: str) -> dict[str, str]:
        """The cookie of a new viewer."""
        now = self.clock.now_us()
        _, secret = self.store.users.invite(
            email, "default", Role.VIEWER, now_us=now, microseconds=1_000
        )
        user, _ = self.store.users.accept_invitation(secret, now)
        cookie = f"treadle_session={self.store.sessions.create(user.id, now)}"
        return {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}

    async def statuses(self, path: str, headers: dict[str, str]) -> list[int]:
        """The status of a request to each server."""
        return [(await each.get(path, headers=headers)).status_code for each in self.servers]

    async def alternately(self, count: int, method: str, path: str, **more: Any) -> list[int]:
        """The statuses of requests that are sent at the same time, in turn to each server."""
        sent = [self.servers[at % 2].request(method, path, **more) for at in range(count)]
        return [answer.status_code for answer in await asyncio.gather(*sent)]


@pytest_asyncio.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
async def pair(
    request: pytest.FixtureRequest, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Pair]:
    monkeypatch.setenv("TREADLE_HOME", str(repo.parent / "home"))
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        monkeypatch.setenv("TREADLE_STORE__URL", server.new_database())
    clock = FakeClock(1_700_000_040.0)  # the beginning of a minute
    answer = Answer("a", usage=usage(10, 5, cost=0.25))
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(FakeProvider([answer] * 20, strict=False))
        flags = {"providers.fake.base_url": provider.base_url, "providers.fake.models": ["m"]}
        store = stack.enter_context(IdentityStore(Stores.of_user().identity))
        store.projects.all()  # creates the store
        clients = []
        for _ in range(2):
            services = IdentityServices.open(IdentityStore(Stores.of_user().identity), clock)
            app = create_app(
                repo, load(repo, {}, flags), {}, credentials=Credentials(TOKEN), services=services
            )
            address = await stack.enter_async_context(serving_app(app))
            client = httpx2.AsyncClient(base_url=address, timeout=60)
            clients.append(await stack.enter_async_context(client))
        yield Pair(clock, store, (clients[0], clients[1]))


async def test_servers_together_never_exceed_the_requests_of_a_minute(pair: Pair) -> None:
    key = pair.key(limits=Limits(requests_per_minute=40))
    for _ in range(2):
        statuses = await pair.alternately(70, "GET", "/api/v1/identity", headers=key)
        admitted = statuses.count(200)
        assert 38 <= admitted <= 40  # 5 % remain in the part that a server reserved last
        assert statuses.count(429) == 70 - admitted
        await pair.clock.advance(60)


async def test_servers_count_the_spans_of_a_key_together(pair: Pair) -> None:
    key = pair.key(limits=Limits(spans_per_minute=10))

    async def send(number: int) -> int:
        body = export(*(span(4 * number + each) for each in range(4)))
        server = pair.servers[number % 2]
        return (await server.post("/v1/traces", json=body, headers=key)).status_code

    assert [await send(number) for number in range(1, 7)] == [200, 200, 200, 429, 429, 429]
    await pair.clock.advance(60)
    assert await send(8) == 200


async def test_servers_count_the_dollars_of_a_key_together(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call is expected to cost 0.30 dollars, and costs 0.25 dollars."""

    def cost(_endpoint: Endpoint, usage: Usage) -> float:
        return (usage.output or 0) * 0.6 / 1e6

    monkeypatch.setattr(budgets, "cost", cost)
    key = pair.key(limits=Limits(dollars_per_day=1.0))
    path = "/v1/chat/completions"
    statuses = await pair.alternately(8, "POST", path, json=CALL, headers=key)
    assert sorted(statuses) == [200, 200, 200, 429, 429, 429, 429, 429]
    await pair.clock.advance(86_400)
    assert await pair.alternately(1, "POST", path, json=CALL, headers=key) == [200]


async def test_expired_key_is_refused_at_all_servers_in_time(pair: Pair) -> None:
    key = pair.key(seconds=30)
    await pair.clock.advance(29.9)
    assert await pair.statuses("/api/v1/identity", key) == [200, 200]
    await pair.clock.advance(0.1 + CACHE_SECONDS)
    assert await pair.statuses("/api/v1/identity", key) == [401, 401]


async def test_revoked_key_is_refused_at_all_servers_in_time(pair: Pair) -> None:
    key = pair.key()
    assert await pair.statuses("/api/v1/identity", key) == [200, 200]
    async with (
        pair.servers[0].stream("GET", "/api/v1/events", headers=key) as first,
        pair.servers[1].stream("GET", "/api/v1/events", headers=key) as second,
    ):
        assert (first.status_code, second.status_code) == (200, 200)
        pair.store.keys.revoke("ci", pair.clock.now_us())
        await pair.clock.advance(CACHE_SECONDS)
        assert await pair.statuses("/api/v1/identity", key) == [401, 401]
        await pair.clock.advance(CHECK_SECONDS - CACHE_SECONDS)
        async with asyncio.timeout(30):
            for stream in (first, second):
                with suppress(httpx2.RemoteProtocolError):  # the server ends it in the middle
                    async for _ in stream.aiter_bytes():
                        pass


@pytest.mark.parametrize("kind", ["key", "session", "token"])
async def test_download_ticket_is_valid_once_at_any_server(pair: Pair, kind: str) -> None:
    token = {"X-Treadle-Token": TOKEN}
    headers = {"key": pair.key(), "session": pair.session("ada@example.com"), "token": token}[kind]
    path = await link(pair, headers)
    elsewhere = path.replace("format=csv", "format=jsonl")
    assert (await pair.servers[1].get(elsewhere, headers=STRANGER)).status_code == 401
    answers = await pair.alternately(8, "GET", path, headers=STRANGER)
    assert sorted(answers) == [200, *[401] * 7]


async def test_download_ticket_expires_and_ends_with_its_key_or_session(pair: Pair) -> None:
    key, session = pair.key(), pair.session("ada@example.com")
    late = await link(pair, key)
    await pair.clock.advance(60)
    of_key, of_session = await link(pair, key), await link(pair, session)
    pair.store.keys.revoke("ci", pair.clock.now_us())
    pair.store.users.remove("ada@example.com")
    for path in (late, of_key, of_session):
        for server in pair.servers:
            assert (await server.get(path, headers=STRANGER)).status_code == 401


STRANGER = {"X-Forwarded-For": "192.0.2.7"}
"""A request with this header is not one of the server's own user."""


async def link(pair: Pair, headers: dict[str, str]) -> str:
    """A link to a download, which the first server creates."""
    target = {"path": "/api/v1/exports/spans?format=csv"}
    answer = await pair.servers[0].post("/api/v1/exports/links", json=target, headers=headers)
    assert answer.is_success, answer.text
    return str(answer.json()["path"])
