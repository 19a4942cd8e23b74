"""The models screen: providers, their API keys and tests, and prices.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fakes.replies import Answer, Call, error
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, Faults, context_of, let_through
from tests.page.served import Served

KEY = "sk-a-key-that-nobody-may-see-again-0123456789"


def test_a_key_is_entered_and_never_shown_again(page: Page, served: Served) -> None:
    page.goto("/models")
    openai = page.get_by_role("region", name="openai")
    expect(openai).to_contain_text("no key in OPENAI_API_KEY")
    openai.get_by_role("button", name="Enter a key…").click()
    field = page.get_by_role("dialog").get_by_label("API key")
    expect(field).to_have_attribute("type", "password")
    field.fill(KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(openai).to_contain_text("key")
    expect(openai.get_by_role("button", name="Replace the key…")).to_be_visible()
    assert KEY not in page.content()
    assert KEY not in page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    openai.get_by_role("button", name="Delete the key…").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(openai).to_contain_text("no key in OPENAI_API_KEY")


def test_testing_a_provider_shows_the_outcome(page: Page, served: Served) -> None:
    page.goto("/models")
    fake = page.get_by_role("region", name="fake")
    served.provider.add(lambda asked: Answer("", calls=[Call(asked.tool_names[0], {})]))
    fake.get_by_role("button", name="Test fake").click()
    expect(fake.get_by_role("status")).to_contain_text("answers")
    served.provider.add(error(401, "the key is wrong"))
    fake.get_by_role("button", name="Test fake").click()
    expect(fake.get_by_role("alert")).to_contain_text("did not answer correctly")


def test_models_are_found_and_show_the_source_of_their_price(page: Page, shared: Served) -> None:
    page.goto("/models")
    table = page.get_by_role("table", name="Models")
    expect(table).to_contain_text("fake")
    page.get_by_role("searchbox", name="Find a model").fill("embedded")
    expect(table.get_by_role("row")).to_have_count(2)
    page.get_by_role("searchbox", name="Find a model").fill("nothing of the kind")
    expect(table.get_by_role("row")).to_have_count(1)
    page.get_by_role("searchbox", name="Find a model").fill("fake/m")
    table.get_by_role("button", name="Price source of m").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("calls have no price")
    expect(dialog).to_contain_text("the address of the provider")


@pytest.mark.slow
def test_a_failing_server_is_reported(page: Page, shared: Served, faults: Faults) -> None:
    faults.expect("500")
    page.route("**/api/v1/models", lambda route: route.fulfill(status=500, json={}))
    page.goto("/models")
    expect(page.get_by_role("alert")).to_contain_text("The models could not be read")
    let_through(page, "**/api/v1/models")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table", name="Models")).to_be_visible()


@pytest.mark.slow
def test_without_models_the_screen_explains_how_to_get_some(page: Page, shared: Served) -> None:
    none = {"data": [], "price_list": "none"}
    page.route("**/api/v1/models", lambda route: route.fulfill(json=none))
    page.goto("/models")
    expect(page.get_by_role("heading", name="No provider lists a model.")).to_be_visible()


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_axe_finds_nothing_and_it_fits(browser: Browser, shared: Served, dark: bool) -> None:
    size = NARROW if dark else (1280, 800)
    with context_of(browser, shared.address, dark=dark, size=size) as (page, _):
        page.goto("/models")
        expect(page.get_by_role("table", name="Models")).to_be_visible()
        assert serious_faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        page.get_by_role("region", name="openai").get_by_role("button", name="Enter a key…").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert serious_faults(page) == []
