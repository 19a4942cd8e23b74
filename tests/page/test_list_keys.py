"""The keys of the lists: `/`, Enter, Escape and arrows lead back to the rows, j and k move."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.fakes.replies import Answer
from tests.page.served import Served
from tests.server.exports import span


@pytest.fixture(scope="module")
def filled(shared: Served) -> Served:
    """A server with two rows in each list."""
    shared.take_spans(*(span(number, trace=number, text=f"Question {number}") for number in (1, 2)))
    for number in (1, 2):
        shared.ask(f"Question {number}?", Answer("An answer."))
        shared.stage("left + right", f"right + left + {number}")
    for model in ("a", "b"):
        shared.post("/breakpoints", {"model": model})
    [call, *_] = shared.get("/spans", query="kind:model")["data"]
    for name in ("One", "Two"):
        body = {"spans": [f"{call['trace_id']}/{call['span_id']}"], "name": name}
        shared.post("/experiments", body)
    return shared


def _focused(row: Locator) -> Locator:
    return row.locator("xpath=self::*").and_(row.page.locator(":focus-within"))


def _active_row(page: Page) -> Locator:
    return page.locator("[role=grid]:focus [role=row][data-active=true]")


@pytest.mark.parametrize("screen", ["threads", "runs", "traces"])
def test_every_key_leads_from_the_query_to_the_rows(
    page: Page, filled: Served, screen: str
) -> None:
    page.goto(f"/{screen}")
    expect(page.get_by_role("row").nth(2)).to_be_visible()
    for key in ("Enter", "Escape", "ArrowUp", "ArrowDown"):
        page.keyboard.press("/")
        expect(page.get_by_role("combobox")).to_be_focused()
        if key.startswith("Arrow"):
            suggestions = page.get_by_role("listbox", name="Suggestions")
            expect(suggestions).to_be_visible()
            if key == "ArrowUp":
                page.keyboard.press(key)  # the last suggestion
            else:
                for _ in range(suggestions.get_by_role("option").count()):
                    page.keyboard.press(key)
            page.keyboard.press("ArrowDown")
        else:
            page.keyboard.press(key)
        expect(_active_row(page)).to_have_count(1)
    page.get_by_role("complementary", name="Filters").get_by_role("button").first.focus()
    page.keyboard.press("Escape")
    expect(_active_row(page)).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(f"{filled.address}/{screen}")


@pytest.mark.parametrize("screen", ["threads", "runs", "traces"])
def test_arrows_reach_the_rows_without_a_focus(page: Page, filled: Served, screen: str) -> None:
    page.goto(f"/{screen}")
    expect(page.get_by_role("row").nth(2)).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(_active_row(page)).to_have_attribute("aria-rowindex", "2")
    page.keyboard.press("j")
    expect(_active_row(page)).to_have_attribute("aria-rowindex", "3")


@pytest.mark.parametrize(
    "screen", ["sessions", "proposals", "experiments", "breakpoints", "models", "settings"]
)
def test_j_and_k_move_through_every_list(page: Page, filled: Served, screen: str) -> None:
    page.goto(f"/{screen}")
    rows = page.locator("#main :is(tbody tr, [data-row])")
    expect(rows.nth(0 if screen == "models" else 1)).to_be_visible()
    page.keyboard.press("j")
    expect(_focused(rows.nth(0))).to_be_visible()
    if screen != "models":  # the only one
        for key, place in (("j", 1), ("k", 0), ("ArrowDown", 1), ("ArrowUp", 0)):
            page.keyboard.press(key)
            expect(_focused(rows.nth(place))).to_be_visible()
    if screen in ("models", "settings"):
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.press("Escape")
        expect(_focused(rows.nth(0))).to_be_visible()
    if screen in ("sessions", "proposals", "experiments"):
        page.keyboard.press("Enter")
        expect(page).not_to_have_url(f"{filled.address}/{screen}")


def test_escape_leads_from_the_message_field_to_the_sessions(page: Page, filled: Served) -> None:
    page.goto("/sessions")
    expect(page.get_by_role("row").nth(2)).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_role("textbox", name="First message of a new session")).to_be_focused()
    page.keyboard.press("Escape")
    expect(_focused(page.get_by_role("row").nth(1))).to_be_visible()


def test_the_keys_lead_from_the_search_to_the_tools(page: Page, filled: Served) -> None:
    page.goto("/tools")
    field = page.get_by_role("searchbox", name="Find a tool")
    expect(field).to_be_visible()
    page.keyboard.press("/")
    expect(field).to_be_focused()
    field.fill("read_file")
    page.keyboard.press("Enter")
    expect(_focused(page.locator("[data-row]").first)).to_contain_text("read_file")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="read_file")).to_be_visible()
