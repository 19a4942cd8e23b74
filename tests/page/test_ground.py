"""The base of all screens: the policy, who may reach the server, the token."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fakes.replies import Answer
from tests.page.axe import serious_faults
from tests.page.browsing import Faults, context_of
from tests.page.served import Served, serving
from tests.server.exports import span
from treadle.ui.addresses import SCREENS

TOKEN = "a-token-of-the-user"
_VIOLATIONS = """
() => { window.violations = []; document.addEventListener('securitypolicyviolation', event =>
    window.violations.push(event.effectiveDirective)); }
"""

_TRIED = """
async (address) => {
    const tried = async what => {
        try { return await what() } catch { return 'failed' }
    };
    const image = () => new Promise((done, fail) => {
        const image = new Image();
        image.onload = done; image.onerror = fail;
        image.src = address + '/icon.svg';
    });
    const socket = () => new Promise((done, fail) => {
        const opened = new WebSocket(address.replace('http', 'ws') + '/api/v1/front_ends/x');
        opened.onopen = done; opened.onerror = fail;
    });
    const post = { method: 'POST', body: '{"text": "Hi"}', mode: 'no-cors' };
    return {
        read: await tried(() => fetch(address + '/api/v1/tools')),
        image: await tried(image),
        socket: await tried(socket),
        post: await tried(async () => (await fetch(address + '/api/v1/turns', post)).type),
    };
}
"""


@contextmanager
def other_site(address: str) -> Iterator[str]:
    """A page of another origin, here another port of this machine, that attacks the server."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<!doctype html><iframe src='{address}/threads'></iframe>".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (theirs)
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    running = threading.Thread(target=server.serve_forever)
    running.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        running.join()
        server.server_close()


def test_every_screen_opens_under_the_policy_without_a_fault(page: Page, shared: Served) -> None:
    shared.take_spans(span(1, text="Hello"), span(2, text="World"))
    assert shared.call_gateway("Hi", Answer("Hello")) == "Hello"
    shared.ask("What adds?", Answer("It does."))
    shared.stage("left + right", "left - right")
    for screen in ("", *SCREENS):
        answer = page.goto(f"/{screen}")
        assert answer is not None
        assert "require-trusted-types-for 'script'" in answer.headers["content-security-policy"]
        expect(page.get_by_role("main")).to_be_visible()


def test_an_unknown_address_is_reported_on_the_page(page: Page, faults: Faults) -> None:
    faults.expect("404")
    for address in ("/nowhere", "/threads/a/b"):
        page.goto(address)
        expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="threads").click()
    expect(page.get_by_role("heading", name="Threads")).to_be_visible()


def test_the_policy_blocks_scripts_in_markup(page: Page, faults: Faults) -> None:
    faults.expect("Content Security Policy|TrustedHTML|^csp ")
    page.goto("/")
    page.evaluate(_VIOLATIONS)
    refused = page.evaluate(
        """async () => {
            let refused = 0;
            try { document.createElement('div').innerHTML = '<b>markup</b>'; }
            catch (error) { refused += 1; }
            const style = document.createElement('style');
            style.textContent = 'body { display: none }';
            document.head.append(style);
            const image = new Image();
            image.src = 'http://127.0.0.1:9/x.png';
            await new Promise(done => { image.onerror = done; });
            return refused;
        }"""
    )
    assert refused == 1
    expect(page.locator("body")).to_be_visible()
    seen = set(page.evaluate("() => window.violations"))
    assert {"require-trusted-types-for", "style-src-elem", "img-src"} <= seen


def test_a_page_of_another_origin_reaches_nothing(
    page: Page, shared: Served, faults: Faults
) -> None:
    faults.expect("403|CORS|ERR_|[Ff]ram|NotSameOrigin|WebSocket")
    before = shared.get("/turns")
    with other_site(shared.address) as site:
        page.goto(site)
        outcomes = page.evaluate(_TRIED, shared.address)
        frame = page.frames[-1]
        assert frame.locator("#root").count() == 0
    assert outcomes == dict.fromkeys(("read", "image", "socket", "post"), "failed")
    assert shared.get("/turns") == before


def test_a_rebound_host_name_is_refused(browser: Browser, shared: Served) -> None:
    port = shared.address.rpartition(":")[2]
    with context_of(browser, f"http://rebound.localhost:{port}") as (page, faults):
        faults.expect("421")
        answer = page.goto(
            "/threads"
        )  # browsers resolve this name without a lookup: it is this machine
        assert answer is not None
        assert answer.status == 421
        assert page.locator("#root").count() == 0


@pytest.fixture
def beyond(tmp_path: Path) -> Iterator[Served]:
    """A server that is bound to more than loopback."""
    with serving(tmp_path, (), "--host", "0.0.0.0", TREADLE_SERVE_TOKEN=TOKEN) as served:
        yield served


def test_the_printed_link_opens_the_page_and_its_key_leaves_the_address(
    browser: Browser, beyond: Served
) -> None:
    with context_of(browser, beyond.address) as (page, _):
        key = beyond.page.partition("#")[2]
        page.goto(f"/tools#{key}")
        expect(page.get_by_role("main")).to_be_visible()
        expect(page.get_by_text("list_dir").first).to_be_visible()
        assert page.url == f"{beyond.address}/tools"
        assert TOKEN not in page.evaluate("JSON.stringify(localStorage)")
        assert page.evaluate("document.cookie") == ""
        assert page.context.cookies() == []
        page.wait_for_function("!document.body.innerText.includes('No connection')")
    with context_of(browser, beyond.address) as (page, faults):
        faults.expect("401|WebSocket")
        page.goto("/tools")
        status = page.evaluate("fetch('/api/v1/tools').then(answer => answer.status)")
        assert status == 401


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_the_frame_of_the_page_is_accessible(browser: Browser, shared: Served, dark: bool) -> None:
    with context_of(browser, shared.address, dark=dark) as (page, _):
        page.goto("/")
        expect(page.get_by_role("main")).to_be_visible()
        assert serious_faults(page) == []


def test_axe_sees_a_fault(page: Page) -> None:
    page.goto("/")
    page.evaluate("document.body.append(document.createElement('button'))")
    assert any(fault.startswith("button-name (critical)") for fault in serious_faults(page))
