import socket
import sys
from pathlib import Path
from threading import Event

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.cli.command import treadle
from tests.server.serving import Served, serving
from treadle.server import startup


async def status(served: Served, **headers: str) -> int:
    answer = await served.http.get("/api/v1/tools", headers=headers)
    if not answer.is_success:
        assert set(answer.json()["error"]) == {"message", "hint"}
    return answer.status_code


async def test_only_own_host_names_are_accepted(repo: Path) -> None:
    async with serving(repo) as served:
        host = served.address.removeprefix("http://")
        port = host.rpartition(":")[2]
        assert await status(served) == 200
        assert await status(served, Host=f"localhost:{port}") == 200
        assert await status(served, Origin=served.address) == 200
        assert await status(served, Host="rebound.example") == 421
        assert await status(served, Host=f"127.0.0.1.rebound.example:{port}") == 421
        no_names = ("127.0.0.1:{}.evil.example", "localhost:{}@evil", "127.0.0.1:{}:80", "[::1")
        for name in (*no_names, "localhost:{}/", "[::1].evil", "127.0.0.1, evil", "[::1]:999999"):
            assert await status(served, Host=name.format(port)) == 421, name
        assert await status(served, Origin="https://evil.example") == 403
        assert await status(served, Origin="null") == 403
        for origin in ("http://[", f"chrome-extension://{host}", f"http://u@{host}", host, ""):
            assert await status(served, Origin=origin) == 403, origin
        assert await status(served, Origin=f"http://{host}.evil.example") == 403
        assert await status(served, Origin=f"http://127.0.0.1:{int(port) + 1}") == 403


async def test_page_of_another_site_cannot_connect_as_front_end(repo: Path) -> None:
    async with serving(repo) as served:
        socket = served.address.replace("http", "ws") + "/api/v1/front_ends/page"
        with pytest.raises(InvalidStatus) as refused:
            async with connect(socket, origin="https://evil.example"):  # type: ignore[arg-type]
                pass
        assert refused.value.response.status_code == 403


async def test_beyond_loopback_every_request_needs_the_token(repo: Path) -> None:
    token = "a-token-of-the-user"
    async with serving(repo, "--host", "0.0.0.0", TREADLE_SERVE_TOKEN=token) as served:
        assert served.token == token
        here = f"http://127.0.0.1:{served.address.rpartition(':')[2]}"
        async with httpx2.AsyncClient(base_url=here) as http:
            tools = "/api/v1/tools"
            assert (await http.get(tools)).status_code == 401
            wrong = {"Authorization": "Bearer wrong"}
            assert (await http.get(tools, headers=wrong)).status_code == 401
            right = {"Authorization": f"Bearer {token}"}
            assert (await http.get(tools, headers=right)).status_code == 200
            assert (await http.get(f"{tools}?token={token}")).status_code == 401
            for header in ("x-api-key", "x-goog-api-key"):
                assert (await http.get(tools, headers={header: token})).status_code == 200
                assert (await http.get(tools, headers={header: "wrong"})).status_code == 401
            call = await http.post("/v1/messages", json={}, headers={"x-api-key": token})
            assert call.json()["error"]["type"] == "invalid_request_error"
            own = {"X-Treadle-Token": token}
            found = await http.get("/api/v1/code/search?q=add", headers=own)
            assert found.status_code == 200
            assert token not in found.text


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a connection")
@pytest.mark.parametrize("host", ["::ffff:127.0.0.1", "127.1"])
async def test_every_spelling_of_loopback_is_accepted(repo: Path, host: str) -> None:
    async with serving(repo, "--host", host) as served:
        assert served.address.startswith("http://127.0.0.1:")
        assert await status(served) == 200


def test_silent_name_service_does_not_delay_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered = Event()
    monkeypatch.setattr(socket, "gethostname", lambda: "Machine")
    monkeypatch.setattr(socket, "getfqdn", lambda: answered.wait(60) and "machine.example")
    monkeypatch.setattr(startup, "_NAME_SECONDS", 0.0)
    assert startup._machine_names() == {"machine"}
    answered.set()
    monkeypatch.setattr(startup, "_NAME_SECONDS", 60.0)
    assert startup._machine_names() == {"machine", "machine.example"}


def test_server_beyond_loopback_needs_a_user_or_a_key(repo: Path) -> None:
    home = repo.parent / "home"
    ran = treadle("serve", "--host", "0.0.0.0", "--port", "0", home=home, repo=repo)
    assert ran.status == 2
    assert "treadle users invite" in ran.err
    assert "treadle keys create" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not list(home.rglob("identity.db*"))
    assert treadle("keys", "create", "ci", "--expires", "1s", home=home).status == 0
    assert treadle("keys", "revoke", "ci", home=home).status == 0
    ran = treadle("serve", "--host", "0.0.0.0", "--port", "0", home=home, repo=repo)
    assert ran.status == 2


def test_unusable_address_is_reported_in_one_line(repo: Path) -> None:
    for option, value in (("--host", "203.0.113.9"), ("--port", "70000"), ("--host", "no.such.")):
        ran = treadle("serve", option, value, home=repo.parent / "home", repo=repo)
        assert ran.status == 2
        assert value in ran.err
        assert len(ran.err.splitlines()) == 1


async def test_link_to_a_download_works_once_and_for_one_address(repo: Path) -> None:
    token = "a-token-of-the-user"
    right = {"Authorization": f"Bearer {token}"}
    async with serving(repo, "--host", "0.0.0.0", TREADLE_SERVE_TOKEN=token) as served:
        here = f"http://127.0.0.1:{served.address.rpartition(':')[2]}"
        export = "/api/v1/exports/runs?format=csv&query=status%3Aerror"
        async with httpx2.AsyncClient(base_url=here) as http:
            links = "/api/v1/exports/links"
            assert (await http.post(links, json={"path": export})).status_code == 401

            async def link(path: str) -> str:
                answer = await http.post(links, json={"path": path}, headers=right)
                assert answer.is_success, answer.text
                return str(answer.json()["path"])

            linked = await link(export)
            found = await http.get(linked)
            assert found.is_success
            assert found.headers["content-disposition"] == 'attachment; filename="runs.csv"'
            assert (await http.get(linked)).status_code == 401

            ticket = (await link(export)).rpartition("&")[2]
            other = await http.get(f"/api/v1/exports/spans?format=csv&{ticket}")
            assert other.status_code == 401
            for path in ("/api/v1/exports/../runs", "/api/v1/exports/runs"):
                foreign = await http.get(await link(path), headers={"Sec-Fetch-Site": "cross-site"})
                assert foreign.status_code == 403
            refused = await http.post(links, json={"path": "/api/v1/runs"}, headers=right)
            assert refused.status_code == 422
