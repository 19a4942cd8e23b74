"""The tools screen: arguments, statistics, and calls through a form.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import json
import shlex

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.command import treadle
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, Faults, context_of, let_through
from tests.page.served import Served


def test_a_tool_is_found_and_called_by_its_form(page: Page, served: Served) -> None:
    page.goto("/tools")
    page.get_by_role("searchbox", name="Find a tool").fill("grep")
    page.get_by_role("link", name="grep").click()
    tool = page.get_by_role("article", name="grep")
    expect(tool).to_contain_text("No calls yet.")
    tool.get_by_role("button", name="Call", exact=True).click()
    expect(tool.get_by_text("This field is required.")).to_be_visible()
    tool.get_by_role("textbox", name="pattern").fill("def (add)")
    tool.get_by_role("button", name="ignore_case").click()
    page.get_by_role("option", name="true").click()
    expect(page.get_by_role("listbox")).to_be_hidden()
    tool.get_by_role("textbox", name="pattern").press("Control+Enter")
    expect(tool.get_by_role("region", name="Result")).to_contain_text("total_matches: 1")
    expect(tool.get_by_text("p50")).to_be_visible(timeout=15_000)
    assert served.get("/tools/statistics")["data"][0]["name"] == "grep"


@pytest.mark.slow
def test_the_calls_of_another_program_are_counted_too(page: Page, served: Served) -> None:
    page.goto("/tools?tool=grep")
    tool = page.get_by_role("article", name="grep")
    expect(tool).to_contain_text("No calls yet.")
    home = served.repo.parent / "home"
    words = ("tools", "call", "grep", "--args", '{"pattern": "def"}')
    assert treadle(*words, home=home, repo=served.repo).status == 0
    expect(tool.get_by_text("p50")).to_be_visible()


@pytest.mark.slow
def test_errors_of_the_server_are_shown_at_their_field(
    page: Page, shared: Served, faults: Faults
) -> None:
    faults.expect("422")
    page.goto("/tools?tool=grep")
    tool = page.get_by_role("article", name="grep")
    tool.get_by_role("textbox", name="pattern").fill("(")
    tool.get_by_role("button", name="Call", exact=True).click()
    expect(tool.get_by_role("alert")).to_contain_text("The tool failed")
    expect(tool.get_by_role("textbox", name="pattern")).to_have_attribute("aria-invalid", "true")


def test_nested_arguments_are_entered_and_a_write_asks_first(page: Page, served: Served) -> None:
    page.goto("/tools?tool=apply_code_edit")
    tool = page.get_by_role("article", name="apply_code_edit")
    tool.get_by_role("button", name="Add to edits").click()
    tool.get_by_role("textbox", name="file").fill("calc.py")
    replace = tool.get_by_role("group", name="replace")
    replace.get_by_role("textbox", name="old").fill("left + right")
    replace.get_by_role("textbox", name="new").fill("right + left")
    tool.get_by_role("button", name="Call…").click()
    asked = tool.get_by_role("region", name="Permission for apply_code_edit")
    expect(asked).to_contain_text("return right + left")
    assert "left + right" in (served.repo / "calc.py").read_text()
    asked.get_by_role("button", name="Allow once").click()
    expect(tool.get_by_role("region", name="Result")).to_contain_text("applied")
    assert "right + left" in (served.repo / "calc.py").read_text()


@pytest.mark.slow
def test_arguments_convert_to_json_and_to_a_command(page: Page, served: Served) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/tools?tool=grep")
    tool = page.get_by_role("article", name="grep")
    tool.get_by_role("textbox", name="pattern").fill("it's a 'def'")
    tool.get_by_role("button", name="Enter as JSON").click()
    field = tool.get_by_role("textbox", name="Arguments as JSON")
    assert json.loads(field.input_value()) == {"pattern": "it's a 'def'"}
    field.fill('{"pattern": "def", "literal": true}')
    tool.get_by_role("button", name="Enter in the form").click()
    expect(tool.get_by_role("textbox", name="pattern")).to_have_value("def")
    tool.get_by_role("button", name="Copy as command").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    words = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    ran = treadle(*words[1:], home=served.repo.parent / "home", repo=served.repo)
    assert json.loads(ran.out)["ok"] is True


@pytest.mark.slow
def test_the_schema_is_a_table(page: Page, shared: Served) -> None:
    page.goto("/tools?tool=grep")
    page.get_by_role("tab", name="Arguments").click()
    row = page.get_by_role("row", name="context_lines")
    expect(row).to_contain_text("whole number from 0 to 10")
    page.get_by_role("tab", name="Schema as JSON").click()
    expect(page.get_by_role("figure", name="Schema")).to_contain_text("additionalProperties")


@pytest.mark.slow
def test_missing_tools_are_reported(page: Page, shared: Served) -> None:
    page.goto("/tools?tool=teapot")
    expect(page.get_by_role("heading", name="There is no tool named teapot.")).to_be_visible()
    page.get_by_role("searchbox", name="Find a tool").fill("teapot")
    expect(page.get_by_text("No tool matches.")).to_be_visible()


@pytest.mark.slow
def test_a_failing_server_is_reported(page: Page, shared: Served, faults: Faults) -> None:
    faults.expect("500")
    page.route("**/api/v1/tools", lambda route: route.fulfill(status=500, json={}))
    page.goto("/tools")
    expect(page.get_by_role("alert")).to_contain_text("The tools could not be read")
    let_through(page, "**/api/v1/tools")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="grep")).to_be_visible()


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_axe_finds_nothing(browser: Browser, shared: Served, dark: bool) -> None:
    with context_of(browser, shared.address, dark=dark) as (page, _):
        page.goto("/tools?tool=fetch_runs")
        expect(page.get_by_role("article", name="fetch_runs")).to_be_visible()
        assert serious_faults(page) == []
        page.get_by_role("tab", name="Arguments").click()
        assert serious_faults(page) == []


@pytest.mark.slow
def test_a_narrow_page_shows_one_part(browser: Browser, shared: Served) -> None:
    with context_of(browser, shared.address, size=NARROW) as (page, _):
        page.goto("/tools")
        page.get_by_role("link", name="grep").click()
        expect(page.get_by_role("searchbox", name="Find a tool")).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
        page.get_by_role("link", name="All tools").click()
        expect(page.get_by_role("searchbox", name="Find a tool")).to_be_visible()
