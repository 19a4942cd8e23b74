"""The settings screen: current values, previews of retention and redaction, and addresses.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, Faults, context_of
from tests.page.served import Served
from tests.server.exports import span

PARTS = ("settings", "retention", "redaction", "about")


def test_settings_are_searched_and_show_their_source(page: Page, shared: Served) -> None:
    page.goto("/settings")
    expect(page.get_by_role("searchbox", name="Find a setting")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("providers fake base")
    item = page.get_by_role("listitem").filter(has_text="providers.fake.base_url")
    expect(item).to_contain_text("config.toml, line")
    expect(item).to_contain_text("TREADLE_PROVIDERS__FAKE__BASE_URL")
    expect(page.get_by_role("listitem").filter(has_text="tools.timeout")).to_be_hidden()
    assert "find=providers" in page.url
    page.get_by_role("searchbox", name="Find a setting").fill("no such thing")
    expect(page.get_by_role("heading", name="No setting matches.")).to_be_visible()


def test_the_preview_of_other_limits_deletes_nothing(page: Page, served: Served) -> None:
    served.take_spans(span(1, text="Hello"), span(2, text="World"))
    page.goto("/settings?part=retention")
    expect(page.get_by_text("2 spans").first).to_be_visible()
    page.get_by_role("textbox", name="Maximum age").fill("1s")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("status").filter(has_text="These limits would delete")).to_contain_text(
        "2 spans"
    )
    expect(page.get_by_text('keep = "1s"')).to_be_visible()
    assert served.get("/retention")["held"]["spans"] == 2


@pytest.mark.slow
def test_an_invalid_limit_is_reported(page: Page, shared: Served, faults: Faults) -> None:
    faults.expect("4(00|22)")
    page.goto("/settings?part=retention")
    page.get_by_role("textbox", name="Maximum age").fill("for ever")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("The preview failed")


def test_the_preview_of_a_pattern_masks_examples(
    page: Page, served: Served, faults: Faults
) -> None:
    faults.expect("4(00|22)")
    served.take_spans(span(1, text="The staff number is EMP-1234, keep it"))
    page.goto("/settings?part=redaction")
    expect(page.get_by_text("No secrets were found")).to_be_visible()
    page.get_by_role("textbox", name="Pattern").fill("EMP-[0-9]{4}")
    page.keyboard.press("Enter")
    examples = page.get_by_role("list", name="Examples")
    expect(examples).to_contain_text("staff number is")
    expect(examples).not_to_contain_text("EMP-1234")
    expect(page.get_by_text("[traces.redaction.rules.mine]")).to_be_visible()
    page.get_by_role("textbox", name="Pattern").fill("(")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The pattern could not be run")


@pytest.mark.slow
def test_the_addresses_for_other_programs_are_those_of_the_server(
    page: Page, shared: Served
) -> None:
    page.goto("/settings?part=about")
    main = page.get_by_role("main")
    for address in ("/v1", "/v1/traces", "/mcp"):
        expect(main.get_by_text(f"{shared.address}{address}", exact=True)).to_be_visible()
    expect(main).to_contain_text(str(shared.repo))
    main.get_by_role("button", name="Theme").click()
    page.get_by_role("option", name="Dark theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_a_failing_server_is_reported(
    page: Page, shared: Served, faults: Faults, part: str
) -> None:
    faults.expect("500")
    page.route("**/api/v1/*", lambda route: route.fulfill(status=500, json={}))
    page.goto(f"/settings?part={part}")
    expect(page.get_by_role("alert").first).to_contain_text("could not be read")


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_axe_finds_nothing_and_it_fits(browser: Browser, shared: Served, dark: bool) -> None:
    size = NARROW if dark else (1280, 800)
    with context_of(browser, shared.address, dark=dark, size=size) as (page, _):
        for part in PARTS:
            page.goto(f"/settings?part={part}")
            expect(page.get_by_role("heading", level=2).first).to_be_visible()
            assert serious_faults(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
