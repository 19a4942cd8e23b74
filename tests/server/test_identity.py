"""Attacks on the guard with keys, cookies and sessions, on a clock that the test moves."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.identified import HOST, TOKEN, Identified, identified
from treadle.identity.identity import Limits, Role, Scope
from treadle.identity.records import Action
from treadle.server.failed_attempts import MOST_FAILURES
from treadle.server.followed_requests import CHECK_SECONDS
from treadle.server.guard import Guard
from treadle.server.identities import CACHE_SECONDS

ME = "/api/v1/identity"
SETTINGS = "/api/v1/settings"
SECOND_US = 1_000_000


async def me(server: Identified, **headers: str) -> Any:
    """What the server answers about the sender of a request."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await server.http.get(ME, headers=named)
    assert answer.is_success, answer.text
    return answer.json()


async def raw_status(server: Identified, *headers: tuple[str, str], path: str = ME) -> int:
    """The status of a request with exactly these headers, in their order."""
    return (await server.http.get(path, headers=list(headers))).status_code


def basic(password: str) -> str:
    return httpx2.BasicAuth("pk-lf-1", password)._auth_header


async def test_key_is_accepted_in_every_header_that_clients_use(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ)
        for headers in (
            {"Authorization": f"Bearer {key}"}, {"authorization": f"bEaReR   {key} "},
            {"X-Api-Key": key}, {"x-goog-api-key": key}, {"X-Treadle-Token": key},
            {"Authorization": basic(key)}, {"Authorization": f"Bearer {key}", "X-Api-Key": key},
        ):  # fmt: skip
            assert (await server.http.get(ME, headers=headers)).json() == {
                "proof": "key", "name": "ci", "project": "default", "role": None,
                "scopes": ["read"], "projects": ["default"],
            }  # fmt: skip


async def test_wrong_keys_are_refused(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ)
        for wrong in (key[:-1], key + "a", key.upper(), key[4:], "tdl_", "", " ", key[:-1] + "é"):
            value = f"Bearer {wrong}".encode()
            answer = await server.http.get(ME, headers=[(b"authorization", value)])
            assert answer.status_code == 401, wrong
            assert set(answer.json()["error"]) == {"message", "hint"}
        assert await server.status(Authorization=key) == 401
        assert await server.status(Authorization=f"Token {key}") == 401
        assert await server.status(Authorization="Basic %%%") == 401


async def test_several_keys_in_one_request_are_refused(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key, other = server.key(Scope.READ), server.key(*Scope, name="other")
        first, second = f"Bearer {key}", f"Bearer {other}"
        assert await raw_status(server, ("Authorization", first), ("Authorization", second)) == 401
        assert await raw_status(server, ("Authorization", second), ("X-Api-Key", key)) == 401
        assert (
            await raw_status(server, ("Authorization", first), ("Authorization", "Bearer tdl_x"))
            == 401
        )
        assert await raw_status(server, ("Authorization", first), ("X-Treadle-Token", TOKEN)) == 401
        assert await raw_status(server, ("Authorization", first), ("Authorization", first)) == 200


async def test_key_in_the_address_is_refused(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ)
        for query in (f"key={key}", f"a=b&api_key={key}", f"token={key}"):
            answer = await server.http.get(f"{ME}?{query}")
            assert answer.status_code == 401
            assert "revoke" in answer.json()["error"]["hint"]
            assert key not in answer.text
        valid = await server.http.get(f"{ME}?key={key}", headers={"X-Api-Key": key})
        assert valid.status_code == 401


async def test_key_cannot_choose_another_project(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        server.store.projects.add("web", 0)
        key, web = server.key(Scope.READ), server.key(Scope.READ, project="web")
        assert (await me(server, X_Api_Key=web))["project"] == "web"
        assert await server.status(X_Api_Key=web, X_Treadle_Project="web") == 200
        refused = [
            await server.http.get(ME, headers={"X-Api-Key": key, "X-Treadle-Project": project})
            for project in ("web", "unknown", "../web", "")
        ]
        assert {answer.status_code for answer in refused} == {403}
        assert len({answer.text for answer in refused}) == 1


async def test_expired_key_is_refused(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ, expires_us=server.clock.now_us() + 10 * SECOND_US)
        assert await server.status(X_Api_Key=key) == 200
        await server.clock.advance(10)
        assert await server.status(X_Api_Key=key) == 401


async def test_revoked_key_is_refused_within_seconds(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ)
        assert await server.status(X_Api_Key=key) == 200
        server.store.keys.revoke("ci", server.clock.now_us())
        await server.clock.advance(CACHE_SECONDS)
        assert await server.status(X_Api_Key=key) == 401


async def test_unknown_and_revoked_keys_get_the_same_answer(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ)
        server.store.keys.revoke("ci", server.clock.now_us())
        unknown = key[:-2] + ("aa" if key[-2:] != "aa" else "bb")
        answers = [
            await server.http.get(ME, headers={"X-Api-Key": each}) for each in (key, unknown)
        ]
        assert len({(answer.status_code, answer.text) for answer in answers}) == 1


async def test_failed_attempts_of_an_address_are_limited(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        known, new = server.key(Scope.READ), server.key(Scope.READ, name="new")
        assert await server.status(X_Api_Key=known) == 200
        for number in range(MOST_FAILURES):
            assert await server.status(X_Api_Key=f"tdl_{number}") == 401
        limited = await server.http.get(ME, headers={"X-Api-Key": "tdl_another"})
        assert limited.status_code == 429
        assert 0 < int(limited.headers["Retry-After"]) <= 60
        assert await server.status(X_Api_Key=new) == 429
        assert await server.status(X_Api_Key=known) == 200
        assert await server.status(X_Treadle_Token=TOKEN) == 200
        await server.clock.advance(60)
        assert await server.status(X_Api_Key=new) == 200


async def test_wrong_tokens_count_as_failed_attempts_without_their_text(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ)
        for number in range(MOST_FAILURES):
            assert await server.status(Authorization=f"Bearer guess-of-a-token-{number}") == 401
        assert await server.status(X_Treadle_Token="another-guess-of-a-token") == 429
        assert await server.status(X_Treadle_Token=TOKEN) == 200
        assert await server.status(X_Api_Key=key) == 429
        assert "guess" not in str(server.store.audit.entries())


async def test_repeated_wrong_key_counts_once(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ)
        for _ in range(2 * MOST_FAILURES):
            assert await server.status(X_Api_Key="tdl_wrong") == 401
        assert await server.status(X_Api_Key=key) == 200
        failures = [each for each in server.store.audit.entries() if each.who == "unknown"]
        assert [each.address for each in failures] == ["192.0.2.1"]


async def test_failed_attempts_count_for_a_whole_network_of_ipv6(tmp_path: Path) -> None:
    async with identified(tmp_path, client="2001:db8::1") as server:
        key = server.key(Scope.READ)
        for number in range(MOST_FAILURES):
            await server.status(X_Api_Key=f"tdl_{number}")
        transport = httpx2.ASGITransport(app=server.app, client=("2001:db8::2", 1))
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}") as neighbour:
            answer = await neighbour.get(ME, headers={"X-Api-Key": key})
        assert answer.status_code == 429


async def test_person_signs_in_with_an_invitation_and_signs_out(tmp_path: Path) -> None:
    async with identified(tmp_path, secure=True) as server:
        secret = server.invitation("ada@example.com", Role.EDITOR)
        origin = {"Origin": f"https://{HOST}"}
        body = {"invitation": secret}
        answer = await server.http.post(f"{ME}/invitations", json=body, headers=origin)
        assert answer.status_code == 204
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith("__Host-treadle_session=")
        for attribute in ("HttpOnly", "Secure", "SameSite=strict", "Path=/"):
            assert attribute in cookie
        assert "Domain" not in cookie
        sender = await me(server)
        assert (sender["name"], sender["role"]) == ("ada@example.com", "editor")
        again = await server.http.post(f"{ME}/invitations", json=body, headers=origin)
        assert again.status_code == 404
        session = server.http.cookies["__Host-treadle_session"]
        assert (await server.http.delete(f"{ME}/session", headers=origin)).status_code == 204
        assert await server.status(Cookie=f"__Host-treadle_session={session}") == 401
        actions = [each.action for each in server.store.audit.entries()]
        assert actions == [
            Action.SIGN_OUT, Action.SIGN_IN_FAILED, Action.SIGN_IN, Action.USER_JOINED,
        ]  # fmt: skip


async def test_guesses_of_invitations_are_limited(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        secret = server.invitation("ada@example.com", Role.ADMIN)
        statuses = [
            (await server.http.post(f"{ME}/invitations", json={"invitation": each})).status_code
            for each in [*(f"guess {number}" for number in range(MOST_FAILURES)), secret]
        ]
        assert statuses == [404] * MOST_FAILURES + [429]


async def test_cookie_is_worthless_to_another_site(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        cookie = f"treadle_session={server.session('ada@example.com', Role.ADMIN)}"
        own = f"http://{HOST}"

        async def status(method: str, **headers: str) -> int:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            path = f"{ME}/session" if method == "DELETE" else ME
            answer = await server.http.request(method, path, headers={"Cookie": cookie, **named})
            return answer.status_code

        assert await status("GET", Origin="https://evil.example") == 403
        assert await status("GET", Sec_Fetch_Site="cross-site") == 403
        assert await status("GET", Sec_Fetch_Site="same-site") == 403
        assert await status("DELETE") == 403
        assert await status("DELETE", Origin="https://evil.example") == 403
        assert await status("DELETE", Origin="null") == 403
        assert await status("DELETE", Origin=own, Sec_Fetch_Site="cross-site") == 403
        assert await status("GET") == 200
        assert await status("DELETE", Origin=own) == 204


async def test_cookie_over_tls_needs_its_secure_name(tmp_path: Path) -> None:
    async with identified(tmp_path, secure=True) as server:
        secret = server.session("ada@example.com", Role.ADMIN)
        assert await server.status(Cookie=f"treadle_session={secret}") == 401
        assert await server.status(Cookie=f"__Host-treadle_session={secret}") == 200


async def test_session_ends_with_its_user(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        cookie = f"treadle_session={server.session('ada@example.com', Role.ADMIN)}"
        assert await server.status(Cookie=cookie) == 200
        server.store.users.remove("ada@example.com")
        await server.clock.advance(CACHE_SECONDS)
        assert await server.status(Cookie=cookie) == 401


async def test_changed_role_applies_within_seconds(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        cookie = f"treadle_session={server.session('ada@example.com', Role.ADMIN)}"
        assert "admin" in (await me(server, Cookie=cookie))["scopes"]
        server.store.users.set_role("ada@example.com", "default", Role.VIEWER)
        await server.clock.advance(CACHE_SECONDS)
        assert (await me(server, Cookie=cookie))["scopes"] == ["read"]
        assert await server.status(SETTINGS, Cookie=cookie) == 403


async def test_user_has_a_role_in_each_project_and_none_in_others(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        server.store.projects.add("web", 0)
        server.store.projects.add("secret", 0)
        cookie = f"treadle_session={server.session('ada@example.com', Role.ADMIN, 'web')}"
        sender = await me(server, Cookie=cookie)
        assert (sender["project"], sender["projects"]) == ("web", ["web"])
        for project in ("default", "secret", "unknown"):
            assert await server.status(Cookie=cookie, X_Treadle_Project=project) == 403
        server.store.users.remove("ada@example.com", "web")
        await server.clock.advance(CACHE_SECONDS)
        assert await server.status(Cookie=cookie) == 403


async def test_explicit_secret_takes_precedence_over_a_cookie(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        cookie = f"treadle_session={server.session('ada@example.com', Role.ADMIN)}"
        key = server.key(Scope.READ)
        assert (await me(server, Cookie=cookie, X_Api_Key=key))["proof"] == "key"
        assert await server.status(Cookie=cookie, X_Api_Key="tdl_wrong") == 401


async def test_token_chooses_among_existing_projects(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        server.store.projects.add("web", 0)
        for project, status in (("web", 200), ("default", 200), ("unknown", 403), ("../x", 403)):
            assert await server.status(X_Treadle_Token=TOKEN, X_Treadle_Project=project) == status


async def test_key_may_send_a_number_of_requests_in_a_minute(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ, limits=Limits(requests_per_minute=50))
        await server.clock.advance(60 - server.clock.now_us() / SECOND_US % 60)
        assert {await server.status(X_Api_Key=key) for _ in range(50)} == {200}
        limited = await server.http.get(ME, headers={"X-Api-Key": key})
        assert limited.status_code == 429
        assert limited.headers["Retry-After"] == "60"
        assert "50 requests a minute" in limited.json()["error"]["message"]
        assert await server.status(X_Api_Key=server.key(Scope.READ, name="other")) == 200
        await server.clock.advance(60)
        assert await server.status(X_Api_Key=key) == 200


async def test_two_servers_together_never_exceed_the_limit_of_a_key(tmp_path: Path) -> None:
    async with identified(tmp_path) as first, identified(tmp_path) as second:
        key = first.key(Scope.READ, limits=Limits(requests_per_minute=100))
        statuses = [
            await server.status(X_Api_Key=key) for _ in range(100) for server in (first, second)
        ]
        assert 95 <= statuses.count(200) <= 100
        assert statuses.count(200) + statuses.count(429) == 200


async def test_concurrent_requests_do_not_exceed_the_limit_of_a_key(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ, limits=Limits(requests_per_minute=30))
        statuses = await asyncio.gather(*(server.status(X_Api_Key=key) for _ in range(60)))
        assert statuses.count(200) == 30


@pytest.mark.parametrize("change", ["revoked", "expired", "removed", "viewer"])
async def test_open_websocket_ends_with_its_credential(tmp_path: Path, change: str) -> None:
    async with identified(tmp_path) as server:
        now = server.clock.now_us()
        key = server.key(
            Scope.READ, expires_us=now + 3 * SECOND_US if change == "expired" else None
        )
        session = server.session("ada@example.com", Role.EDITOR)
        by_cookie = change in {"removed", "viewer"}
        credential = (
            (b"cookie", f"treadle_session={session}".encode())
            if by_cookie
            else (b"x-api-key", key.encode())
        )
        socket = OpenSocket(server)
        running = asyncio.create_task(socket.run(credential))
        await socket.accepted.wait()
        await server.clock.advance(1)
        assert not running.done()
        if change == "revoked":
            server.store.keys.revoke("ci", now)
        elif change == "removed":
            server.store.users.remove("ada@example.com")
        elif change == "viewer":
            server.store.users.set_role("ada@example.com", "default", Role.VIEWER)
        await server.clock.advance(CHECK_SECONDS)
        await asyncio.wait_for(running, 10)
        assert socket.sent[-1]["type"] == "websocket.close"
        assert socket.sent[-1]["code"] == 1008


async def test_valid_credential_keeps_a_websocket_open(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        socket = OpenSocket(server)
        running = asyncio.create_task(socket.run((b"x-api-key", server.key(Scope.READ).encode())))
        await socket.accepted.wait()
        for _ in range(5):
            await server.clock.advance(CHECK_SECONDS)
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


class OpenSocket:
    """A WebSocket to an application that keeps it open for ever, behind the guard of a server."""

    def __init__(self, server: Identified) -> None:
        self.accepted = asyncio.Event()
        self.sent: list[Any] = []
        self._guard = Guard(
            self._application,
            hosts=[HOST],
            credentials=server.credentials,
            services=server.services,
        )

    async def run(self, credential: tuple[bytes, bytes]) -> None:
        headers = [(b"host", HOST.encode()), (b"origin", f"http://{HOST}".encode()), credential]
        scope = {
            "type": "websocket", "path": "/", "query_string": b"", "headers": headers,
            "subprotocols": [], "client": ("192.0.2.1", 1), "state": {}, "extensions": {},
        }  # fmt: skip
        await self._guard(scope, self._receive, self._send)

    async def _application(self, _scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        await asyncio.Event().wait()

    async def _receive(self) -> Any:
        return {"type": "websocket.connect"}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)
        if message["type"] == "websocket.accept":
            self.accepted.set()


async def test_a_request_that_names_two_projects_is_refused(tmp_path: Path) -> None:
    async with identified(tmp_path) as server:
        key = server.key(Scope.READ)
        headers = [("x-api-key", key), ("x-treadle-project", "default")]
        assert (await server.http.get(ME, headers=headers)).status_code == 200
        twice = [*headers, ("X-Treadle-Project", "other")]
        refused = await server.http.get(ME, headers=twice)
        assert refused.status_code == 400
        assert "several projects" in refused.json()["error"]["message"]
