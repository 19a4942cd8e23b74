"""Spans: the list, matches in contents, the panel next to it, and groups.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.fakes.replies import Answer
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, WIDE, Faults, context_of
from tests.page.recorded import exported, failed_run, message, send
from tests.page.served import Served, serving

HOSTILE = "<img src=x onerror=alert(1)> \x1b[31m \u202egnp"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with spans of an exporter and of the gateway, which the tests only read."""
    with serving(tmp_path_factory.mktemp("spans")) as served:
        send(served, *failed_run("export-1", trace=1))
        hostile = message("user", HOSTILE + " needle " + "x" * 100_000)
        send(
            served,
            exported(
                9,
                HOSTILE,
                trace=2,
                gen_ai__operation__name="chat",
                gen_ai__request__model=HOSTILE,
                gen_ai__input__messages=hostile,
            ),
        )
        assert served.call_gateway("Where is my order?", Answer("On its way.")) == "On its way."
        yield served


@pytest.fixture
def shown(browser: Browser, filled: Served) -> Iterator[Page]:
    """The list of spans over them."""
    with context_of(browser, filled.address) as (page, _):
        page.goto("/traces")
        expect(rows(page)).to_have_count(5)
        yield page


def rows(page: Page) -> Locator:
    return page.get_by_role("grid").get_by_role("row").filter(has=page.get_by_role("gridcell"))


def row(page: Page, text: str) -> Locator:
    return rows(page).filter(has_text=text)


def beside(page: Page) -> Locator:
    return page.get_by_role("complementary", name="The span next to the list")


def test_the_list_shows_spans_with_their_kinds(shown: Page) -> None:
    tool = row(shown, "execute_tool run_check")
    expect(tool).to_contain_text("tool")
    expect(tool).to_contain_text("error")
    expect(tool).to_contain_text("200 ms")
    expect(row(shown, "<img src=x onerror=alert(1)> \u241b[31m").first).to_contain_text("U+202E")
    tool.get_by_role("link").click()
    expect(shown).to_have_url(re.compile(r"/traces/0+1\?span=0+66"))
    expect(shown.get_by_role("treegrid")).to_contain_text("run_check")


def test_words_are_found_in_contents_and_marked(shown: Page) -> None:
    bar = shown.get_by_role("combobox", name="Query of spans")
    bar.fill("importer kind:model")
    expect(rows(shown)).to_have_count(1)
    expect(shown.get_by_role("columnheader", name="Found")).to_be_visible()
    expect(rows(shown).locator("mark").first).to_have_text("importer")
    bar.fill("needle")
    expect(rows(shown)).to_have_count(1)
    expect(rows(shown).locator("mark")).to_have_text("needle")
    bar.fill("nowhere")
    expect(shown.get_by_text("No spans match this query.")).to_be_visible()
    shown.get_by_role("button", name="Show all spans").click()
    expect(rows(shown)).to_have_count(5)


@pytest.mark.slow
def test_keys_walk_spans_with_their_content_next_to_them(shown: Page) -> None:
    row(shown, "execute_tool run_check").get_by_role("gridcell").nth(2).click()
    expect(beside(shown)).to_contain_text("Timeout: longer than 30 s")
    expect(beside(shown).get_by_role("region", name="Arguments")).to_contain_text("pytest importer")
    expect(beside(shown).get_by_role("region", name="Result")).to_contain_text("no result")
    shown.keyboard.press("j")
    expect(beside(shown).get_by_role("heading", level=2)).not_to_contain_text("run_check")
    row(shown, "chat small").get_by_role("gridcell").nth(2).click()
    expect(beside(shown).get_by_role("region", name="New messages").first).to_contain_text(
        "Look at the importer"
    )
    expect(beside(shown).get_by_role("region", name="Reply").first).to_contain_text(
        "The importer reads rows."
    )
    expect(shown).to_have_url(re.compile(r"peek=0+1%2F0+65"))
    shown.reload()
    expect(beside(shown)).to_contain_text("The importer reads rows.")
    beside(shown).get_by_role("button", name="Ask the analyst").click()
    dock = shown.get_by_role("complementary", name="Analyst", exact=True)
    expect(dock).to_contain_text("span")
    shown.get_by_role("grid").focus()
    shown.keyboard.press("Escape")
    expect(beside(shown)).to_have_count(0)


@pytest.mark.slow
def test_an_address_without_a_span_is_reported(shown: Page) -> None:
    shown.goto("/traces?peek=nonsense")
    expect(beside(shown).get_by_role("alert")).to_contain_text("Span not found")


@pytest.mark.slow
def test_groups_have_totals_and_the_empty_value_can_be_selected(shown: Page) -> None:
    shown.goto("/traces?group=model")
    expect(row(shown, "small")).to_contain_text("1")
    row(shown, "(no model)").get_by_role("link").click()
    expect(shown).to_have_url("/traces?query=-model%3A*")
    expect(rows(shown)).to_have_count(2)


def test_an_exported_span_appears_live(page: Page, served: Served) -> None:
    page.goto("/traces")
    expect(page.get_by_text("Nothing is recorded yet.")).to_be_visible()
    send(served, exported(1, "first", trace=1))
    expect(row(page, "first")).to_be_visible()
    send(served, exported(2, "second", trace=1, seconds_ago=0.1))
    expect(rows(page).first).to_contain_text("second")


@pytest.mark.slow
def test_a_deleted_span_is_reported(page: Page, served: Served, faults: Faults) -> None:
    faults.expect("404")
    send(served, exported(1, "only", trace=1))
    page.goto("/traces?peek=x/y")
    expect(beside(page).get_by_role("alert")).to_contain_text("The span could not be read")
    expect(row(page, "only")).to_be_visible()


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
@pytest.mark.parametrize(
    "size", [WIDE, pytest.param(NARROW, marks=pytest.mark.slow)], ids=["wide", "narrow"]
)
def test_the_spans_screen_is_accessible(
    browser: Browser, filled: Served, size: tuple[int, int], dark: bool
) -> None:
    with context_of(browser, filled.address, size=size, dark=dark) as (page, _):
        page.goto("/traces?query=importer&peek=" + f"{1:032x}/{0x66:016x}")
        expect(beside(page)).to_contain_text("no result")
        assert serious_faults(page) == []
        page.goto("/traces?group=model")
        expect(row(page, "small")).to_be_visible()
        assert serious_faults(page) == []
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= size[0]
