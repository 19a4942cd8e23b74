"""Threads: the list with its query, filters and views, and one conversation next to its runs.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.fakes.replies import Answer, error
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, Faults, asked_from_now, context_of, let_through
from tests.page.served import Served, serving
from tests.server.exports import span

HOSTILE = "<img src=x onerror=alert(1)> \x1b[31m \u202egnp"


def talk(served: Served, thread: str, text: str, answer: str, **headers: str) -> None:
    """A run of a thread through the gateway."""
    sent = {"x-thread-id": thread, **{f"x-{name}": value for name, value in headers.items()}}
    assert served.call_gateway(text, Answer(answer), headers=sent) == answer


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a few threads, which the tests of this module only read."""
    with serving(tmp_path_factory.mktemp("threads")) as served:
        talk(served, "orders", "Where is my order?", "On its way.", label="shop,beta")
        talk(served, "orders", "And when does it come?", "Tomorrow.", label="shop")
        talk(served, "hostile", HOSTILE, HOSTILE)
        talk(served, "invoices", "Sum the invoice", "42 dollars.", label="billing")
        served.take_spans(span(1, text="Asked by an exporter"))
        yield served


@pytest.fixture
def shown(browser: Browser, filled: Served) -> Iterator[Page]:
    """The list of threads over them."""
    with context_of(browser, filled.address) as (page, _):
        page.goto("/threads")
        expect(rows(page)).to_have_count(4)
        yield page


def rows(page: Page) -> Locator:
    return page.get_by_role("grid").get_by_role("row").filter(has=page.get_by_role("gridcell"))


def row(page: Page, text: str) -> Locator:
    return rows(page).filter(has_text=text)


def bar(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Query of threads")


def test_the_list_shows_threads_of_every_source(shown: Page) -> None:
    order = row(shown, "Where is my order?")
    expect(order).to_contain_text("shop")
    expect(order).to_contain_text("2")
    expect(row(shown, "Sum the invoice")).to_be_visible()
    expect(row(shown, "Asked by an exporter")).to_be_visible()
    # Active content is shown as text.
    expect(row(shown, "<img src=x onerror=alert(1)> \u241b[31m")).to_contain_text("U+202E")
    expect(shown.get_by_text("4 threads")).to_be_visible()


def test_a_query_is_completed_and_kept_in_the_address(shown: Page) -> None:
    shown.keyboard.press("/")
    expect(bar(shown)).to_be_focused()
    bar(shown).press_sequentially("lab")
    options = shown.get_by_role("option")
    expect(options.first).to_contain_text("label")
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("Enter")
    expect(options.filter(has_text="shop")).to_contain_text("2")
    bar(shown).press_sequentially("sh")
    expect(options).to_have_count(1)
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("Enter")
    expect(bar(shown)).to_have_value("label:shop ")
    expect(rows(shown)).to_have_count(1)
    expect(shown).to_have_url("/threads?query=label%3Ashop")
    shown.reload()
    expect(bar(shown)).to_have_value("label:shop")
    expect(rows(shown)).to_have_count(1)


@pytest.mark.slow
def test_a_query_error_shows_its_position_and_keeps_the_list(shown: Page) -> None:
    bar(shown).fill("label:shop")
    expect(rows(shown)).to_have_count(1)
    bar(shown).fill("label:shop status:eror")
    expect(shown.get_by_text("Perhaps you mean 'error'")).to_be_visible()
    expect(shown.locator("mark")).to_have_text("eror")
    expect(bar(shown)).to_have_attribute("aria-invalid", "true")
    expect(rows(shown)).to_have_count(1)
    shown.reload()
    expect(shown.get_by_text("This query is not valid.")).to_be_visible()


@pytest.mark.slow
def test_filters_are_terms_of_the_same_query(shown: Page, filled: Served) -> None:
    filters = shown.get_by_role("complementary", name="Filters")
    filters.get_by_role("checkbox", name="shop").check()
    expect(bar(shown)).to_have_value("label:shop")
    filters.get_by_role("checkbox", name="billing").check()
    expect(bar(shown)).to_have_value("label:shop,billing")
    expect(rows(shown)).to_have_count(2)
    # The analyst's tools know the filters of the list.
    shown.wait_for_function(
        """async () => {
            const state = await (await fetch('/api/v1/ui')).json();
            return String(state.label_filters.threads) === 'shop,billing';
        }"""
    )
    filters.get_by_role("checkbox", name="shop").uncheck()
    expect(bar(shown)).to_have_value("label:billing")
    shown.get_by_role("button", name="All time").click()
    shown.get_by_role("option", name="Last hour").click()
    expect(bar(shown)).to_have_value("label:billing period:last_hour")
    filters.get_by_role("button", name="Exclude billing").click()
    expect(bar(shown)).to_have_value("period:last_hour -label:billing")
    expect(rows(shown)).to_have_count(2)
    filters.get_by_role("button", name="Exclude billing", pressed=True).click()
    expect(bar(shown)).to_have_value("period:last_hour")
    filters.get_by_role("checkbox", name="error").check()
    expect(bar(shown)).to_have_value("period:last_hour status:error")
    expect(shown.get_by_text("No threads match this query.")).to_be_visible()
    bar(shown).fill("label:nothing")
    expect(shown.get_by_text("No threads match this query.")).to_be_visible()
    shown.get_by_role("button", name="Show all threads").click()
    expect(rows(shown)).to_have_count(4)
    assert filled.get("/ui")["label_filters"].get("threads", []) == []


def test_a_view_is_saved_opened_renamed_and_deleted(shown: Page) -> None:
    bar(shown).fill("label:shop")
    expect(rows(shown)).to_have_count(1)
    shown.get_by_role("button", name="Views").click()
    shown.get_by_role("menuitem", name="Save this view…").click()
    shown.get_by_label("Name").fill("The shop")
    shown.keyboard.press("Enter")
    expect(shown.get_by_text("Saved as “The shop”.")).to_be_visible()
    bar(shown).fill("")
    expect(rows(shown)).to_have_count(4)
    shown.get_by_role("button", name="Views").click()
    shown.get_by_role("menuitem", name="The shop").click()
    expect(bar(shown)).to_have_value("label:shop")
    shown.get_by_role("button", name="The shop").click()
    shown.get_by_role("menuitem", name="Rename or delete…").click()
    shown.get_by_label("Name of The shop").fill("Orders")
    shown.get_by_role("button", name="Rename").click()
    shown.get_by_role("button", name="Delete Orders").click()
    expect(shown.get_by_text("There are no saved views.")).to_be_visible()


@pytest.mark.slow
def test_selected_columns_and_order_are_in_the_address(shown: Page) -> None:
    shown.get_by_role("button", name="Columns").click()
    shown.get_by_role("menuitemcheckbox", name="Model calls").click()
    shown.get_by_role("menuitemcheckbox", name="Cost").click()
    shown.keyboard.press("Escape")
    expect(shown.get_by_role("columnheader", name="Model calls")).to_be_visible()
    expect(shown.get_by_role("columnheader", name="Cost")).to_have_count(0)
    tokens = shown.get_by_role("columnheader", name="Tokens")
    tokens.get_by_role("button").click()
    expect(tokens).to_have_attribute("aria-sort", "descending")
    shown.reload()
    expect(shown.get_by_role("columnheader", name="Model calls")).to_be_visible()
    expect(tokens).to_have_attribute("aria-sort", "descending")
    assert "sort=tokens" in shown.url


@pytest.mark.slow
def test_the_keyboard_alone_opens_a_thread_and_comes_back(shown: Page) -> None:
    shown.keyboard.press("j")
    grid = shown.get_by_role("grid")
    expect(grid).to_be_focused()
    for _ in range(2):
        shown.keyboard.press("ArrowDown")
    active = grid.get_attribute("aria-activedescendant")
    expect(shown.locator(f"[id='{active}']")).to_contain_text("Where is my order?")
    shown.keyboard.press("Enter")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Where is my order?")
    shown.go_back()
    expect(rows(shown)).to_have_count(4)
    shown.keyboard.press("?")
    keys = shown.get_by_role("dialog", name="Keyboard shortcuts")
    for does in ("Next row", "Open the row", "Write a query", "Show or hide the filters"):
        expect(keys.get_by_text(does).first).to_be_visible()


def test_new_threads_appear_live_but_never_under_the_pointer(page: Page, served: Served) -> None:
    page.goto("/threads")
    expect(page.get_by_text("Nothing is recorded yet.")).to_be_visible()
    expect(page.get_by_role("group", name="Status")).to_have_count(0)  # nothing to choose from
    expect(page.locator("pre")).to_contain_text(f"OPENAI_BASE_URL={served.address}/v1")
    expect(page.locator("pre")).to_contain_text(f"{served.address}/v1/traces")
    talk(served, "one", "The first", "Yes.")
    expect(row(page, "The first")).to_be_visible()
    row(page, "The first").hover()
    talk(served, "two", "The second", "Yes.")
    button = page.get_by_role("button", name="1 new")
    expect(button).to_be_visible()
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("n")
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first).to_contain_text("The second")
    page.mouse.move(5, 5)
    talk(served, "one", "The first again", "Yes.")
    expect(rows(page).first).to_contain_text("The first")


def test_a_thread_shows_each_message_once_next_to_its_runs(
    browser: Browser, filled: Served
) -> None:
    with context_of(browser, filled.address) as (page, _):
        page.goto("/threads/orders")
        conversation = page.get_by_role("region", name="Conversation", exact=True)
        for text in ("Where is my order?", "On its way.", "And when does it come?", "Tomorrow."):
            expect(conversation.get_by_text(text, exact=True)).to_have_count(1)
        expect(page.get_by_text("2 runs").first).to_be_visible()
        runs = rows(page)
        expect(runs).to_have_count(2)
        runs.last.click()
        expect(runs.last).to_have_attribute("aria-selected", "true")
        marked = conversation.locator("[data-chosen=true]")
        expect(marked).to_contain_text("Where is my order?")
        assert "run=" in page.url
        link = marked.get_by_role("link", name="Trace")
        assert str(link.get_attribute("href")).startswith("/traces/")
        page.goto("/threads/hostile")
        expect(conversation.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
        page.goto("/threads/nowhere")
        expect(page.get_by_text("Thread not found")).to_be_visible()


@pytest.mark.slow
def test_a_long_title_leaves_room_in_its_line(page: Page, served: Served) -> None:
    talk(
        served, "long", "Where is my order, and when does it come, and who brings it at last?", "x"
    )
    page.goto("/threads/long")
    page.get_by_role("button", name="Delete…").wait_for()
    title = page.get_by_role("heading", name="Where is my order").bounding_box()
    actions = page.get_by_role("button", name="Delete…").bounding_box()
    assert title
    assert actions
    assert actions["y"] < title["y"] + title["height"]
    assert title["width"] > 200


@pytest.mark.slow
def test_a_long_thread_opens_at_its_end_without_duplicates(page: Page, served: Served) -> None:
    first = served.ask("Question 0?", Answer("Answer 0."))
    for number in range(1, 12):
        served.provider.add(Answer(f"Answer {number}."))
        asked = {"text": f"Question {number}?", "session": first["session_id"]}
        begun = served.post("/turns", asked)
        assert served.get(f"/turns/{begun['request_id']}", wait=50)["state"] == "done"
    (thread,) = served.get("/threads")["data"]
    page.goto(f"/threads/{thread['thread_id']}")
    conversation = page.get_by_role("region", name="Conversation", exact=True)
    expect(conversation.get_by_text("Answer 11.", exact=True)).to_be_in_viewport()
    expect(conversation.get_by_text("Answer 2.", exact=True)).to_have_count(0)
    conversation.get_by_role("button", name="Show earlier runs (3 more)").click()
    for number in range(12):
        for text in (f"Question {number}?", f"Answer {number}."):
            expect(conversation.get_by_text(text, exact=True)).to_have_count(1)
    expect(conversation.get_by_role("button", name="Show earlier runs")).to_have_count(0)


@pytest.mark.slow
def test_a_shown_thread_continues_and_reports_a_failure(page: Page, served: Served) -> None:
    talk(served, "live", "Are you there?", "I am.")
    page.goto("/threads/live")
    expect(page.get_by_text("I am.", exact=True)).to_be_visible()
    served.provider.add(error(400, "The context is too long."))
    answer = served.http.post(
        "/v1/chat/completions",
        headers={"x-thread-id": "live"},
        json={"model": "m", "messages": [{"role": "user", "content": "And now?"}]},
    )
    assert answer.status_code == 400
    expect(page.get_by_text("And now?", exact=True).first).to_be_visible()
    expect(page.get_by_text("The context is too long.").first).to_be_visible()


def test_deleting_a_thread_first_states_what_is_lost(page: Page, served: Served) -> None:
    talk(served, "gone", "Forget me", "I shall.")
    page.goto("/threads/gone")
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog).to_contain_text("1 run with 1 span will be deleted permanently")
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Delete…").click()
    asked = asked_from_now(page)
    dialog.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_text("Nothing is recorded yet.")).to_be_visible()
    assert served.get("/threads")["data"] == []
    named = [each for each in asked if re.search("/(threads|runs|spans|traces)/", each)]
    assert named == ["DELETE /api/v1/threads/gone"]


@pytest.mark.slow
def test_a_failing_store_is_reported_with_a_retry(
    page: Page, served: Served, faults: Faults
) -> None:
    faults.expect("503")
    broken = {"error": {"message": "The store is busy.", "hint": "Wait a little."}}
    page.route(
        "**/api/v1/threads?*",
        lambda route: route.fulfill(status=503, json=broken),
    )
    page.goto("/threads")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The threads could not be read.")
    expect(alert).to_contain_text("Wait a little.")
    let_through(page, "**/api/v1/threads?*")
    alert.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Nothing is recorded yet.")).to_be_visible()


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_threads_screen_is_accessible(browser: Browser, filled: Served, dark: bool) -> None:
    for size in ((1280, 800), NARROW):
        with context_of(browser, filled.address, size=size, dark=dark) as (page, _):
            for address in ("/threads", "/threads?query=x%3A", "/threads/orders"):
                page.goto(address)
                page.wait_for_load_state("networkidle")
                assert serious_faults(page) == [], address
                width = page.evaluate("document.documentElement.scrollWidth")
                assert width <= size[0], address
