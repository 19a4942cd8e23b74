"""The breakpoints screen: calls of OpenAI's own client are held, changed, continued and refused.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import openai
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fakes.replies import Answer
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, Faults, context_of
from tests.page.served import Served


@contextmanager
def _calling(served: Served, text: str, **headers: str) -> Iterator[Future[str]]:
    """A concurrent call of a client."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(served.call_gateway, text, headers=named)


@contextmanager
def _sending(served: Served, body: str) -> Iterator[Future[str]]:
    """A concurrent request that no OpenAI client would send, unchanged; its answer."""

    def send() -> str:
        headers = {"Content-Type": "application/json"}
        return served.http.post("/v1/chat/completions", content=body, headers=headers).text

    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(send)


def _open_held(page: Page) -> None:
    """Open the newest held call."""
    page.get_by_role("table", name="Held calls").get_by_role("link", name="m").first.click()


def _hold(served: Served, **of: object) -> None:
    served.post("/breakpoints", of)


def test_a_new_breakpoint_holds_a_call_that_is_changed_and_continued(
    page: Page, served: Served
) -> None:
    page.goto("/breakpoints")
    expect(page.get_by_role("heading", name="No breakpoints")).to_be_visible()
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Labels").fill("nightly")
    dialog.get_by_role("button", name="Create breakpoint").click()
    expect(page.get_by_role("table", name="Breakpoints")).to_contain_text("the label nightly")
    served.provider.add(Answer("Hello Bob"))
    with _calling(served, "Say hello to Ada", x_label="nightly") as answer:
        page.get_by_role("table", name="Held calls").get_by_role("link", name="m").click()
        expect(page.get_by_role("region", name="Request")).to_contain_text("Say hello to Ada")
        expect(page.get_by_text("then continues").first).to_be_visible()
        page.get_by_role("tab", name="Edit").click()
        field = page.get_by_role("textbox", name="The request as sent")
        body = field.input_value()
        field.fill(body + "}")
        expect(page.get_by_text("This is not JSON")).to_be_visible()
        expect(page.get_by_role("button", name="Continue with my changes")).to_be_disabled()
        field.fill(body.replace("Ada", "Bob"))
        page.get_by_role("button", name="Continue with my changes").click()
        assert answer.result(30) == "Hello Bob"
    expect(page.get_by_text("Continued with changes.")).to_be_visible()
    expect(page.get_by_text("Hello Bob")).to_be_visible()
    assert "Bob" in str(served.provider.requests[-1].messages)


def test_a_refusal_reaches_the_client_with_its_reason(page: Page, served: Served) -> None:
    _hold(served, model="m")
    with _calling(served, "Delete everything") as answer:
        page.goto("/breakpoints")
        page.get_by_role("table", name="Held calls").get_by_role("link", name="m").click()
        expect(page.get_by_role("button", name="Continue", exact=True)).to_be_visible()
        page.keyboard.press("x")
        page.get_by_role("textbox", name="Reason (sent to the client)").fill("Not on a Saturday")
        page.keyboard.press("Enter")
        with pytest.raises(openai.PermissionDeniedError, match="Not on a Saturday"):
            answer.result(30)
    expect(page.get_by_text("Refused. “Not on a Saturday”")).to_be_visible()
    assert not served.provider.requests


@pytest.mark.slow
def test_a_held_call_and_its_expiry_appear_live(page: Page, served: Served) -> None:
    page.goto("/breakpoints")
    expect(page.get_by_role("heading", name="No held calls")).to_be_visible()
    _hold(served, timeout=3, on_expiry="continue")
    served.provider.add(Answer("Late"))
    with _calling(served, "Hi") as answer:
        held = page.get_by_role("table", name="Held calls")
        expect(held).to_contain_text("waiting")
        assert answer.result(30) == "Late"
        expect(held).to_contain_text("expired", timeout=10_000)


@pytest.mark.slow
def test_a_breakpoint_is_switched_off_and_removed(page: Page, served: Served) -> None:
    _hold(served, model="m")
    page.goto("/breakpoints")
    table = page.get_by_role("table", name="Breakpoints")
    table.locator("label").click()
    expect(table.get_by_role("checkbox")).not_to_be_checked()
    served.provider.add(Answer("Not held"))
    assert served.call_gateway("Hi") == "Not held"
    table.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("heading", name="No breakpoints")).to_be_visible()
    assert served.get("/breakpoints")["data"] == []


@pytest.mark.slow
def test_a_change_leaves_the_rest_of_the_request_unchanged(page: Page, served: Served) -> None:
    _hold(served, model="m")
    served.provider.add(Answer("Changed"))
    exact = '"seed":12345678901234567890,"top_p":0.10,"user":"\\u0041"'
    body = f'{{"model":"m",{exact},"messages":[{{"role":"user","content":"Hello Ada"}}]}}'
    page.goto("/breakpoints")
    with _sending(served, body) as answer:
        _open_held(page)
        page.get_by_role("tab", name="Edit").click()
        field = page.get_by_role("textbox", name="The request as sent")
        field.fill(field.input_value().replace("Ada", "Bob"))
        page.get_by_role("button", name="Continue with my changes").click()
        assert "Changed" in answer.result(30)
    sent = served.provider.requests[-1].body
    assert (sent["seed"], sent["top_p"], sent["user"]) == (12345678901234567890, 0.1, "A")
    assert served.provider.requests[-1].messages[0]["content"] == "Hello Bob"


@pytest.mark.slow
def test_a_draft_survives_a_reload_and_a_change_of_screen(page: Page, served: Served) -> None:
    _hold(served, model="m")
    page.goto("/breakpoints")
    with _calling(served, "Say hello to Ada") as answer:
        _open_held(page)
        page.get_by_role("tab", name="Edit").click()
        field = page.get_by_role("textbox", name="The request as sent")
        field.fill(field.input_value().replace("Ada", "Bob"))
        page.reload()
        page.get_by_role("tab", name="Edit •").click()
        page.get_by_role("link", name="Runs").click()
        expect(page.get_by_role("heading", name="Runs")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("region", name="Request")).to_contain_text("Say hello to Bob")
        served.provider.add(Answer("Hello Bob"))
        page.keyboard.press("c")
        assert answer.result(30) == "Hello Bob"
    expect(page.get_by_text("Continued with changes.")).to_be_visible()
    assert page.evaluate("Object.keys(sessionStorage).filter(key => key.includes('held'))") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ('{"model":"m","temperature":NaN,"messages":[]}', '"temperature":NaN'),
        ('{"model":"m","messages":"no list"}', '"no list"'),
    ],
    ids=["no JSON", "no messages"],
)
def test_an_unusual_request_is_shown_completely(
    page: Page, served: Served, body: str, shown: str
) -> None:
    _hold(served, model="m")
    page.goto("/breakpoints")
    with _sending(served, body) as answer:
        _open_held(page)
        expect(page.get_by_role("tabpanel")).to_contain_text(shown)
        page.keyboard.press("x")
        page.get_by_role("textbox", name="Reason (sent to the client)").fill("No")
        page.keyboard.press("Enter")
        assert "No" in answer.result(30)


@pytest.mark.slow
def test_a_missing_held_call_is_reported(page: Page, shared: Served, faults: Faults) -> None:
    faults.expect("404")
    page.goto("/breakpoints?held=none")
    expect(page.get_by_role("alert")).to_contain_text("The held call could not be read")
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_be_hidden()


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_axe_finds_nothing_and_it_fits(browser: Browser, served: Served, dark: bool) -> None:
    _hold(served, labels=["nightly"], timeout=600)
    served.provider.add(Answer("Done"))
    size = NARROW if dark else (1280, 800)
    with (
        _calling(served, "Hi", x_label="nightly") as answer,
        context_of(browser, served.address, dark=dark, size=size) as (page, _),
    ):
        page.goto("/breakpoints")
        page.get_by_role("table", name="Held calls").get_by_role("link", name="m").click()
        expect(page.get_by_role("region", name="Request")).to_contain_text("Hi")
        assert serious_faults(page) == []
        page.get_by_role("tab", name="Edit").click()
        assert serious_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        page.keyboard.press("Escape")
        (held,) = served.get("/breakpoints/held")["data"]
        served.post(f"/breakpoints/held/{held['id']}/continue")
        assert answer.result(30) == "Done"
