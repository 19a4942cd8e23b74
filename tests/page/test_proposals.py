"""The proposal screens: the same store as in the terminal, decided hunk by hunk on the page.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.command import treadle
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, Faults, context_of
from tests.page.served import Served

LINES = "one = 1\ntwo = 2\nthree = 3\n"


def _near(served: Served) -> str:
    """A proposal with two neighbouring hunks in `near.py`; returns its id."""
    (served.repo / "near.py").write_text(LINES)
    edits = [
        {"file": "near.py", "replace": {"old": "one = 1", "new": "one = 10"}},
        {"file": "near.py", "replace": {"old": "three = 3", "new": "three = 30"}},
    ]
    return str(served.post("/tools/apply_code_edit/call", {"edits": edits})["proposal_id"])


def _home(served: Served) -> Path:
    return served.repo.parent / "home"


def test_one_hunk_approved_on_the_page_is_on_the_disk_and_in_the_terminal(
    page: Page, served: Served
) -> None:
    proposal = _near(served)
    page.goto("/proposals")
    page.get_by_role("link", name="change near.py").click()
    hunk = page.get_by_role("region", name="Hunk 2")
    expect(hunk).to_contain_text("three = 30")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(hunk).to_be_focused()
    page.keyboard.press("Space")
    expect(hunk.get_by_role("checkbox")).to_be_checked()
    expect(page.get_by_role("button", name="Approve 1 of 2 hunks")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_role("main")).to_contain_text("applied")
    expect(page.get_by_role("region", name="Hunk 1")).to_contain_text("denied")
    assert (served.repo / "near.py").read_text() == "one = 1\ntwo = 2\nthree = 30\n"
    shown = treadle("edits", "show", proposal, "--json", home=_home(served), repo=served.repo)
    told = json.loads(shown.out)
    assert told["state"] == "applied"
    assert told["files"][0]["denied_hunks"] == [1]
    page.keyboard.press("u")
    expect(page.get_by_role("button", name="Redo")).to_be_visible()
    assert (served.repo / "near.py").read_text() == LINES
    page.keyboard.press("r")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()


def test_a_denial_with_a_reason_from_elsewhere_appears_live(page: Page, served: Served) -> None:
    proposal = served.stage("left + right", "right + left")
    page.goto(f"/proposals/{proposal}")
    expect(page.get_by_role("button", name="Deny all…")).to_be_visible()
    page.keyboard.press("d")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    served.post(f"/proposals/{proposal}/deny", {"words": "The order says something."})
    expect(page.get_by_role("main")).to_contain_text("The order says something.")
    expect(page.get_by_role("button", name="Approve all")).to_be_hidden()


def test_a_changed_file_is_a_conflict_until_it_is_restaged(
    page: Page, served: Served, faults: Faults
) -> None:
    faults.expect("409")
    proposal = served.stage("left + right", "right + left")
    file = served.repo / "calc.py"
    file.write_text("import os\n\n" + file.read_text())
    page.goto(f"/proposals/{proposal}")
    expect(page.get_by_role("main")).to_contain_text("changed since")
    page.get_by_role("button", name="Approve all").click()
    expect(page.get_by_role("alert")).to_contain_text("the files have changed")
    page.get_by_role("button", name="Restage").click()
    expect(page.get_by_text("⚠ changed since")).to_be_hidden()
    page.get_by_role("button", name="Approve all").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert "right + left" in file.read_text()


@pytest.mark.slow
def test_without_proposals_the_screen_explains_how_to_get_one(page: Page, served: Served) -> None:
    page.goto("/proposals")
    expect(page.get_by_role("heading", name="No proposals")).to_be_visible()
    page.goto("about:blank")  # while a page is open, a proposal waits for its answer
    served.stage("left + right", "right + left")
    page.goto("/proposals")
    expect(page.get_by_role("link", name="change calc.py")).to_be_visible()
    page.goto("/proposals?state=applied")
    page.get_by_role("button", name="Show all proposals").click()
    expect(page.get_by_role("link", name="change calc.py")).to_be_visible()


@pytest.mark.slow
def test_a_missing_proposal_is_reported(page: Page, shared: Served, faults: Faults) -> None:
    faults.expect("404")
    page.goto("/proposals/0000")
    expect(page.get_by_role("alert")).to_contain_text("The proposal could not be read")


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_axe_finds_nothing(browser: Browser, served: Served, dark: bool) -> None:
    proposal = _near(served)
    with context_of(browser, served.address, dark=dark) as (page, _):
        page.goto("/proposals")
        expect(page.get_by_role("table", name="Proposals")).to_be_visible()
        assert serious_faults(page) == []
        page.goto(f"/proposals/{proposal}")
        expect(page.get_by_role("region", name="Hunk 2")).to_be_visible()
        assert serious_faults(page) == []


@pytest.mark.slow
def test_on_a_narrow_page_old_and_new_lines_are_in_one_column(
    browser: Browser, served: Served
) -> None:
    proposal = _near(served)
    with context_of(browser, served.address, size=NARROW) as (page, _):
        page.goto(f"/proposals/{proposal}")
        hunk = page.get_by_role("region", name="Hunk 1")
        expect(hunk.get_by_text("two = 2")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
