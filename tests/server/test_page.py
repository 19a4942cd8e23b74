"""The built page: its addresses, its headers, and its access rules."""

import asyncio
import gzip
import http.client
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette

from tests.server.serving import serving
from treadle.server.built_page import FOLDER, BuiltPage, is_of_page
from treadle.server.connections import Admission, ServerConfig
from treadle.server.peers import PeerUsers
from treadle.server.security_headers import SecurityHeaders
from treadle.ui.addresses import SCREENS

TOKEN = "a-token-of-the-user"
SCRIPT = "console.log('page')\n" * 500
PAGE_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A build, with a private file next to it."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(
        '<meta property="csp-nonce" nonce="__CSP_NONCE__"><script src="/assets/a-1.js"></script>'
    )
    (folder / "assets" / "a-1.js").write_text(SCRIPT)
    (folder / "assets" / "a-1.js.map").write_text("{}")
    (folder / "assets" / "out.js").symlink_to(tmp_path / "secret.js")
    (folder / "icon.svg").write_text("<svg/>")
    (tmp_path / "secret.js").write_text("secret")
    return folder


@contextmanager
def answering(folder: Path) -> Iterator[str]:
    """The page alone, on a real port."""
    app = SecurityHeaders(Starlette(routes=BuiltPage(folder).routes()))
    peers = PeerUsers()
    admission = Admission(peers, most_strangers=10)
    config = ServerConfig(app, admission, port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    listening = server.config.bind_socket()
    listening.listen()
    running = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    running.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        running.join()
        listening.close()
        peers.close()


def raw(address: str, path: str, **headers: str) -> tuple[int, bytes]:
    """Status and body for a raw path."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def policy(answer: httpx2.Response) -> dict[str, str]:
    parts = answer.headers["content-security-policy"].split("; ")
    return {name: rest for name, _, rest in (part.partition(" ") for part in parts)}


def test_every_screen_address_returns_the_page(built: Path) -> None:
    with answering(built) as address, httpx2.Client(base_url=address) as http:
        for path in (
            "/",
            *(f"/{screen}" for screen in SCREENS),
            "/traces/a%2Fb/c?span=1",
            "/runs/a%0Ab",
        ):
            assert is_of_page(urlsplit(path).path)
            answer = http.get(path)
            assert (answer.status_code, "a-1.js" in answer.text) == (200, True), path
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert answer.headers["cache-control"] == "no-store"
        assert http.head("/").status_code == 200
        assert http.post("/").status_code == 405
        for path in ("/nothing", "/traces.html", "/index.html", "/page/index.html"):
            assert http.get(path).status_code == 404


def test_trace_address_preloads_the_trace(built: Path) -> None:
    with answering(built) as address, httpx2.Client(base_url=address) as http:
        told = {
            path: http.get(path).headers.get("link")
            for path in ("/traces/4e.A-9~_?span=1", "/traces", "/traces/", "/runs/4e")
        }
        odd = [
            http.get(f"/traces/{written}").headers.get("link")
            for written in ("a%2Fb", "a/b", "..%2Fx", "%3E", "a>;b", "a%0d%0ab", ".a")
        ]
    wanted = "</api/v1/traces/4e.A-9~_>; rel=preload; as=fetch; crossorigin=anonymous"
    assert list(told.values()) == [wanted, None, None, None]
    assert odd == [None] * 7


def test_each_answer_has_a_strict_policy_with_a_new_nonce(built: Path) -> None:
    with answering(built) as address, httpx2.Client(base_url=address) as http:
        answers = [http.get("/"), http.get("/traces")]
    nonces = []
    for answer in answers:
        found = re.fullmatch(r"'self' 'nonce-([\w-]{16,})'", policy(answer)["style-src"])
        assert found is not None
        nonces.append(found[1])
        assert f'nonce="{found[1]}"' in answer.text
        assert "__CSP_NONCE__" not in answer.text
        assert policy(answer) | {"style-src": ""} == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "",
            "img-src": "'self' data: blob:",
            "font-src": "'self'",
            "connect-src": "'self'",
            "manifest-src": "'self'",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
            "require-trusted-types-for": "'script'",
            "trusted-types": "'none'",
        }
        assert PAGE_HEADERS.items() <= dict(answer.headers).items()
        assert "camera=()" in answer.headers["permissions-policy"]
    assert len(set(nonces)) == 2


def test_assets_are_typed_compressed_and_cached(built: Path) -> None:
    with answering(built) as address:
        with httpx2.Client(base_url=address) as http:
            script = http.get("/assets/a-1.js", headers={"Accept-Encoding": "gzip, br"})
            assert script.headers["content-encoding"] == "gzip"
            assert script.text == SCRIPT
            assert script.headers["content-type"] == "text/javascript; charset=utf-8"
            assert script.headers["cache-control"] == "max-age=31536000, immutable"
            assert script.headers["x-content-type-options"] == "nosniff"
            plain = http.get("/assets/a-1.js", headers={"Accept-Encoding": "identity"})
            assert "content-encoding" not in plain.headers
            assert plain.text == SCRIPT
            icon = http.get("/icon.svg")
            assert (icon.headers["content-type"], icon.text) == ("image/svg+xml", "<svg/>")
            assert icon.headers["cache-control"] == "no-cache"
            assert "default-src 'none'" in icon.headers["content-security-policy"]
        body = raw(address, "/assets/a-1.js", **{"Accept-Encoding": "gzip"})[1]
        assert gzip.decompress(body).decode() == SCRIPT


def test_only_files_of_the_page_are_served(built: Path) -> None:
    outs = ("..", "%2e%2e", ".%2e", "..%2f..", "%2e%2e%2f", "..%5c", "%252e%252e", "...", "//", "")
    names = ("secret.js", "/secret.js", f"{built.parent}/secret.js", "page/../secret.js")
    with answering(built) as address:
        for out in outs:
            for name in names:
                for path in (f"/assets/{out}/{name}", f"/{out}/{name}", f"/{out}{name}"):
                    assert raw(address, path)[0] in {400, 404}, path
        for path in (
            "/assets/out.js",
            "/assets/a-1.js.map",
            "/assets/",
            "/assets/%00.js",
        ):
            assert raw(address, path)[0] == 404, path
        assert raw(address, "/assets/a-1.js")[0] == 200


def test_build_during_the_run_is_served(built: Path) -> None:
    index = (built / "index.html").read_text()
    (built / "index.html").unlink()
    with answering(built) as address, httpx2.Client(base_url=address) as http:
        without = http.get("/traces")
        assert without.status_code == 503
        assert "make web" in without.text
        assert policy(without)["default-src"] == "'none'"
        nonce = policy(without)["style-src"].rpartition("nonce-")[2].rstrip("'")
        assert f'<style nonce="{nonce}">' in without.text
        (built / "index.html").write_text(index)
        (built / "assets" / "b-2.js").write_text("2")
        assert http.get("/traces").status_code == 200
        assert http.get("/assets/b-2.js").text == "2"


async def test_only_links_of_other_sites_open_the_page(repo: Path) -> None:
    async with serving(repo) as served:
        http = served.http
        built_here = (FOLDER / "index.html").is_file()
        link = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        for site in ("none", "same-origin", "same-site", "cross-site"):
            answer = await http.get("/traces/1", headers={**link, "Sec-Fetch-Site": site})
            assert answer.status_code == (200 if built_here else 503)
            assert answer.headers["content-type"].startswith("text/html")
        for site in ("same-site", "cross-site"):
            for dest in ("iframe", "script", "image", "empty"):
                headers = {"Sec-Fetch-Dest": dest, "Sec-Fetch-Site": site}
                assert (await http.get("/", headers=headers)).status_code == 403
            api = await http.get("/api/v1/tools", headers={**link, "Sec-Fetch-Site": site})
            assert api.status_code == 403
            post = await http.post("/traces", headers={**link, "Sec-Fetch-Site": site})
            assert post.status_code == 403
        rebound = await http.get("/", headers={"Host": "rebound.example"})
        assert rebound.status_code == 421
        answer = await http.get("/api/v1/tools", headers={"Sec-Fetch-Site": "same-origin"})
        assert answer.status_code == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert policy(answer) == {"default-src": "'none'", "frame-ancestors": "'none'"}
        nowhere = await http.get("/nowhere")
        assert (nowhere.status_code, set(nowhere.json())) == (404, {"error"})
        by_person = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        for path in ("/nowhere", "/nowhere/at/all"):
            shown = await http.get(path, headers=by_person)
            assert shown.status_code == (404 if built_here else 503)
            assert shown.headers["content-type"].startswith("text/html")
        for path in ("/api/v1/nothing", "/v1/nothing", "/mcp/nothing", "/assets/nothing.js"):
            refused = await http.get(path, headers=by_person)
            assert (refused.status_code, set(refused.json())) == (404, {"error"}), path
        assert (await http.post("/nowhere", headers=by_person)).status_code == 404


@asynccontextmanager
async def beyond_loopback(repo: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that opens a server that needs the token."""
    async with serving(repo, "--host", "0.0.0.0", TREADLE_SERVE_TOKEN=TOKEN) as served:
        here = f"http://127.0.0.1:{served.address.rpartition(':')[2]}"
        async with httpx2.AsyncClient(base_url=here) as http:
            yield http


async def test_key_of_the_printed_link_gives_access(repo: Path) -> None:
    async with serving(repo, "--host", "0.0.0.0", TREADLE_SERVE_TOKEN=TOKEN) as served:
        page, _, key = served.page.partition("#key=")
        assert page.startswith("http://127.0.0.1:")
        assert TOKEN not in served.page
        tools = "/api/v1/tools"
        async with httpx2.AsyncClient(base_url=page) as http:
            for address in (f"/?token={TOKEN}", f"/traces/a?key={key}"):
                opened = await http.get(address)
                assert opened.status_code in {200, 503}
                assert "set-cookie" not in opened.headers
            assert (await http.get(tools)).status_code == 401
            assert (await http.get(tools, headers={"Cookie": f"treadle={key}"})).status_code == 401
            wrong = {"X-Treadle-Token": "wrong"}
            assert (await http.get(tools, headers=wrong)).status_code == 401
            http.headers["X-Treadle-Token"] = key
            assert (await http.get(tools)).status_code == 200
            async with asyncio.timeout(30), http.stream("GET", "/api/v1/events") as events:
                assert events.status_code == 200
            for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
                assert (await http.post("/v1/traces", json={}, headers=headers)).status_code == 403


async def test_the_page_itself_needs_no_token_and_no_address_leads_elsewhere(repo: Path) -> None:
    async with beyond_loopback(repo) as http:
        shown = await http.get("/threads")
        assert shown.status_code in {200, 503}
        assert (await http.get("/assets/nothing.js")).status_code == 404
        for path in ("/api/openapi.json", "/v1/models", "/mcp", "/nowhere"):
            assert (await http.get(path)).status_code == 401
        address = str(http.base_url)
        status, _ = await asyncio.to_thread(raw, address, f"//evil.example/traces?token={TOKEN}")
        assert status == 401  # not an address of the page
