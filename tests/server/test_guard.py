from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.cli.command import treadle
from tests.server.serving import Served, serving


async def status(served: Served, **headers: str) -> int:
    answer = await served.http.get("/api/v1/tools", headers=headers)
    if not answer.is_success:
        assert set(answer.json()["error"]) == {"message", "hint"}
    return answer.status_code


async def test_only_this_machine_by_its_own_name_is_answered(repo: Path) -> None:
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


async def test_a_page_of_another_site_cannot_be_a_front_end(repo: Path) -> None:
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
            own = {"X-Treadle-Token": token}
            found = await http.get("/api/v1/code/search?q=add", headers=own)
            assert found.status_code == 200
            assert token not in found.text


def test_an_address_that_cannot_be_used_is_said_in_a_line(repo: Path) -> None:
    for option, value in (("--host", "203.0.113.9"), ("--port", "70000"), ("--host", "no.such.")):
        ran = treadle("serve", option, value, home=repo.parent / "home", repo=repo)
        assert ran.status == 2
        assert value in ran.err
        assert len(ran.err.splitlines()) == 1
