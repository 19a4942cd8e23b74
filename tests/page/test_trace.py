"""The trace: its tree and timeline, and the content of a span, over recorded data.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.fakes.replies import Answer, Call
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, Faults, context_of, let_through
from tests.page.served import Served, serving
from tests.server.exports import START_NS, export, span

HOSTILE = "<img src=x onerror=alert(1)> \x1b[31m \u202egnp"
HOSTILE_AS_SHOWN = "<img src=x onerror=alert(1)> ␛[31m ‹U+202E›gnp"  # noqa: RUF001  (on purpose)
ORPHANS = f"{7:032x}"
MS = 1_000_000


def sent(number: int, begins: int, ends: int | None, parent: int | None = None, **more: Any) -> Any:
    """A span of OTLP/JSON in milliseconds since the start."""
    made = span(number, trace=7, text=more.pop("text", None), **more)
    made["startTimeUnixNano"] = str(START_NS + begins * MS)
    made["endTimeUnixNano"] = "0" if ends is None else str(START_NS + ends * MS)
    if parent is not None:
        made["parentSpanId"] = f"{parent:016x}"
    return made


def take(served: Served, *spans: dict[str, Any]) -> None:
    answer = served.http.post("/v1/traces", json=export(*spans))
    assert answer.is_success, answer.text


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a session, a call through the gateway and a trace with gaps."""
    with serving(tmp_path_factory.mktemp("trace")) as served:
        served.ask(
            "How does add work?",
            Answer("I look.", calls=[Call("request_code_context", {"token_budget": 2000})]),
            Answer(calls=[Call("grep", '{"pattern": ')]),
            Answer("It adds."),
        )
        served.call_gateway(HOSTILE, Answer(HOSTILE))
        take(
            served,
            sent(1, 0, 100, name="root"),
            sent(2, 10, 40, parent=1, name="first"),
            sent(3, 40, 90, parent=1, name="second", text="a needle in here"),
            sent(4, 50, 90, parent=3, name="below"),
            sent(5, -20, 10, parent=1, name="early"),
            sent(6, 5, 50, parent=99, name="orphan", status={"code": 2, "message": "it broke"}),
            sent(8, 60, None, parent=3, name="open"),
        )
        yield served


@pytest.fixture(autouse=True)
def _unfolded(filled: Served) -> None:
    """The server keeps the folded spans, including those of the test before."""
    answer = filled.http.patch("/api/v1/ui", json={"expand": [f"{3:016x}"]})
    assert answer.is_success, answer.text


@pytest.fixture
def shown(browser: Browser, filled: Served) -> Iterator[Page]:
    """The trace with gaps."""
    with context_of(browser, filled.address) as (page, _):
        page.goto(f"/traces/{ORPHANS}")
        expect(rows(page)).to_have_count(8)
        yield page


def tree(page: Page) -> Locator:
    return page.get_by_role("treegrid", name="Spans")


def rows(page: Page) -> Locator:
    return tree(page).locator("[data-place]")


def row(page: Page, name: str) -> Locator:
    return rows(page).filter(has=page.get_by_text(name, exact=True))


def active(page: Page) -> Locator:
    return tree(page).locator("[data-place][aria-selected=true]")


def detail(page: Page) -> Locator:
    return page.get_by_role("region", name="Span", exact=True)


def trace_of(served: Served, name: str) -> str:
    runs = served.get("/runs")["data"]
    return next(str(run["trace_id"]) for run in runs if name in run["name"])


def test_a_session_is_a_tree_whose_spans_show_their_content(
    browser: Browser, filled: Served
) -> None:
    with context_of(browser, filled.address) as (page, _):
        page.goto(f"/traces/{trace_of(filled, 'invoke_agent')}")
        # The root is the first span.
        expect(detail(page)).to_contain_text("How does add work?")
        expect(row(page, "execute_tool grep")).to_have_attribute("aria-level", "3")
        row(page, "execute_tool request_code_context").click()
        expect(detail(page).get_by_role("region", name="Arguments")).to_contain_text("2000")
        result = detail(page).get_by_role("region", name="Result")
        expect(result).to_contain_text("calc.py:1-3")
        expect(result.get_by_role("figure")).to_contain_text("def add(left, right):")
        row(page, "execute_tool grep").click()
        expect(detail(page)).to_contain_text("invalid JSON")
        expect(detail(page)).to_contain_text("Found by detectors")
        rows(page).filter(has_text="chat m").first.click()
        reply = detail(page).get_by_role("region", name="Reply").first
        expect(reply).to_contain_text("request_code_context")
        detail(page).get_by_role("tab", name="Metadata").click()
        expect(page).to_have_url(re.compile("tab=metadata"))
        expect(detail(page)).to_contain_text("treadle.turn")


def test_gaps_are_reported(shown: Page) -> None:
    for name in ("root", "early", "first", "second", "below", "open", "orphan"):
        expect(row(shown, name)).to_have_count(1)
    expect(row(shown, "early").get_by_role("img", name="began before its parent")).to_be_visible()
    expect(row(shown, "open").get_by_role("img", name="unfinished")).to_be_visible()
    missing = row(shown, "(never recorded)")
    expect(missing.get_by_role("img", name="This parent was never recorded")).to_be_visible()
    missing.click()
    expect(detail(shown)).to_contain_text("Other spans name this parent")
    shown.keyboard.press("e")
    expect(active(shown)).to_contain_text("orphan")
    expect(detail(shown)).to_contain_text("it broke")


@pytest.mark.slow
def test_keys_walk_and_fold_the_tree_and_the_server_stores_it(shown: Page, filled: Served) -> None:
    row(shown, "root").click()
    tree(shown).focus()
    shown.keyboard.press("ArrowRight")
    expect(active(shown)).to_contain_text("early")
    shown.keyboard.press("ArrowLeft")
    expect(active(shown)).to_contain_text("root")
    shown.keyboard.type("sec")
    expect(active(shown)).to_contain_text("second")
    shown.keyboard.press("ArrowLeft")
    expect(row(shown, "second")).to_have_attribute("aria-expanded", "false")
    expect(row(shown, "below")).to_have_count(0)
    called = filled.post("/tools/get_collapsed_spans/call", {})
    assert called["collapsedSpanIds"] == [f"{3:016x}"]
    shown.reload()
    expect(row(shown, "second")).to_have_attribute("aria-expanded", "false")
    # The span in the address is shown, whatever hides it.
    shown.goto(f"/traces/{ORPHANS}?span={4:016x}")
    expect(active(shown)).to_contain_text("below")
    shown.keyboard.press("End")
    tree(shown).focus()
    shown.keyboard.press("Home")
    expect(active(shown)).to_have_attribute("aria-rowindex", "2")
    shown.keyboard.press("Enter")
    expect(detail(shown)).to_be_focused()


@pytest.mark.slow
def test_the_span_in_the_address_is_shown_although_folding_arrives_late(
    browser: Browser, filled: Served
) -> None:
    folded = filled.http.patch("/api/v1/ui", json={"collapse": [f"{3:016x}"]})
    assert folded.is_success, folded.text
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "GET":
            held.append(route)
        else:
            route.continue_()

    with context_of(browser, filled.address) as (page, _):
        page.route("**/api/v1/ui", hold)
        page.goto(f"/traces/{ORPHANS}?span={4:016x}")
        expect(row(page, "below")).to_be_visible()
        for route in held:
            route.continue_()
        expect(row(page, "second")).to_have_attribute("aria-expanded", "true")
        expect(active(page)).to_contain_text("below")
        assert held, "the page read what is folded before it showed the trace"


def test_names_and_contents_are_found_and_stepped_through(shown: Page) -> None:
    shown.keyboard.press("/")
    field = shown.get_by_role("searchbox", name="Find in this trace")
    expect(field).to_be_focused()
    field.fill("needle")
    expect(shown.get_by_role("status").filter(has_text="1")).to_be_visible()
    field.press("Enter")
    expect(active(shown)).to_contain_text("second")
    field.fill("r")
    field.blur()
    shown.keyboard.press("n")
    first = active(shown).get_attribute("id")
    shown.keyboard.press("N")
    expect(active(shown)).not_to_have_attribute("id", first or "")
    expect(shown).to_have_url(re.compile("find=r"))


@pytest.mark.slow
def test_the_axis_is_zoomed_and_the_critical_path_marked_in_the_address(shown: Page) -> None:
    row(shown, "first").click()
    shown.keyboard.press("z")
    expect(shown).to_have_url(re.compile("zoom=0."))
    shown.keyboard.press("0")
    expect(shown).not_to_have_url(re.compile("zoom="))
    shown.keyboard.press("+")
    shown.get_by_role("button", name="Fit").click()
    shown.keyboard.press("p")
    expect(shown).to_have_url(re.compile("critical=true"))
    on_path = shown.get_by_role("img", name="on the critical path")
    expect(row(shown, "second").locator(on_path)).to_be_visible()
    expect(row(shown, "first").locator(on_path)).to_be_visible()
    shown.keyboard.press("p")
    expect(on_path).to_have_count(0)


def test_a_running_trace_is_followed(page: Page, shared: Served) -> None:
    take(shared, sent(1, 0, None, name="root"))
    page.goto(f"/traces/{ORPHANS}")
    expect(rows(page)).to_have_count(1)
    row(page, "root").click()
    expect(row(page, "root").get_by_role("img", name="unfinished")).to_be_visible()
    take(shared, sent(2, 5, 20, parent=1, name="new"), sent(1, 0, 30, name="root"))
    expect(row(page, "new")).to_be_visible()
    expect(row(page, "root").get_by_role("img", name="unfinished")).to_have_count(0)
    expect(active(page)).to_contain_text("root")


def test_a_call_is_copied_as_runnable_programs(
    browser: Browser, filled: Served, tmp_path: Path
) -> None:
    with context_of(browser, filled.address) as (page, _):
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"/traces/{trace_of(filled, 'chat m')}")
        curl, python = (copied(page, form) for form in ("As curl", "As Python"))
    environment = {**os.environ, "OPENAI_API_KEY": "any"}
    assert "$OPENAI_API_KEY" in curl
    for program in (["bash", "-c", curl], [sys.executable, "-c", python]):
        filled.provider.add(Answer("Again."))
        done = subprocess.run(
            program, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["choices"][0]["message"]["content"] == "Again."
        assert filled.provider.requests[-1].body["messages"] == [
            {"role": "user", "content": HOSTILE}
        ]


_COPIED = """
async () => {
  for (;;) {
    const text = await navigator.clipboard.readText();
    if (text) return text;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}
"""
"""Waits for the text. `wait_for_function` takes the promise of `readText` for a text."""


def copied(page: Page, form: str) -> str:
    page.evaluate("navigator.clipboard.writeText('')")  # it may still have another form
    page.get_by_role("button", name="Copy", exact=True).click()
    page.get_by_role("menuitem", name=form).click()
    return str(page.evaluate(_COPIED))


def test_recorded_text_is_text_and_a_call_opens_as_an_experiment(
    browser: Browser, filled: Served
) -> None:
    with context_of(browser, filled.address) as (page, _):
        trace = trace_of(filled, "chat m")
        page.goto(f"/traces/{trace}")
        expect(detail(page)).to_contain_text(HOSTILE_AS_SHOWN)
        assert page.locator("img[src=x]").count() == 0
        page.keyboard.press("x")
        expect(page).to_have_url(re.compile(f"/experiments/.*{trace}"))


@pytest.mark.slow
def test_a_missing_trace_is_reported(page: Page, faults: Faults) -> None:
    faults.expect("404")
    page.goto("/traces/none")
    expect(page.get_by_role("alert")).to_contain_text("There is no trace 'none'.")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


@pytest.mark.slow
def test_an_unreadable_span_keeps_the_tree(browser: Browser, filled: Served) -> None:
    gone = {"status": 500, "json": {"error": {"message": "The disk is gone.", "hint": None}}}
    with context_of(browser, filled.address) as (page, faults):
        faults.expect("500")
        page.goto(f"/traces/{ORPHANS}")
        expect(rows(page)).to_have_count(8)
        page.route("**/api/v1/spans/**", lambda route: route.fulfill(**gone))
        row(page, "below").click()
        expect(detail(page).get_by_role("alert")).to_contain_text("The disk is gone.")
        let_through(page, "**/api/v1/spans/**")
        detail(page).get_by_role("button", name="Try again").click()
        expect(detail(page).get_by_role("tab", name="Formatted")).to_be_visible()


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_trace_screen_is_accessible(browser: Browser, filled: Served, *, dark: bool) -> None:
    with context_of(browser, filled.address, dark=dark) as (page, _):
        page.goto(f"/traces/{ORPHANS}?critical=true&find=e")
        row(page, "orphan").click()
        expect(detail(page)).to_contain_text("it broke")
        assert serious_faults(page) == []


@pytest.mark.slow
def test_on_a_narrow_page_the_detail_covers_the_tree(browser: Browser, filled: Served) -> None:
    with context_of(browser, filled.address, size=NARROW) as (page, _):
        page.goto(f"/traces/{ORPHANS}")
        expect(page.get_by_role("dialog")).to_have_count(0)
        row(page, "orphan").click()
        expect(page.get_by_role("dialog")).to_contain_text("it broke")
        assert serious_faults(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= NARROW[0]
