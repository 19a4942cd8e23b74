"""Runs: the list, its groups and totals, the panel next to it, live updates, and a single run.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.fakes.replies import Answer
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, WIDE, Faults, asked_from_now, context_of, let_through
from tests.page.recorded import exported, failed_run, send
from tests.page.served import Served, serving


def call(served: Served, run: str, text: str, **headers: str) -> None:
    """A call of a run through the gateway."""
    sent = {"x-run-id": run, **{f"x-{name}": value for name, value in headers.items()}}
    assert served.call_gateway(text, Answer("Done."), headers=sent) == "Done."


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a few runs, which most tests of this module only read."""
    with serving(tmp_path_factory.mktemp("runs")) as served:
        send(served, *failed_run("export-1", trace=1))
        call(served, "order-1", "Where is my order?", label="shop")
        call(served, "order-1", "And when does it come?", label="shop")
        call(served, "order-2", "Cancel my order", label="shop,urgent")
        served.ask("What adds?", Answer("It does."))
        yield served


@pytest.fixture
def shown(browser: Browser, filled: Served) -> Iterator[Page]:
    """The list of runs over them."""
    with context_of(browser, filled.address) as (page, _):
        page.goto("/runs")
        expect(rows(page)).to_have_count(4)
        yield page


def rows(page: Page) -> Locator:
    return page.get_by_role("grid").get_by_role("row").filter(has=page.get_by_role("gridcell"))


def row(page: Page, text: str) -> Locator:
    return rows(page).filter(has_text=text)


def beside(page: Page) -> Locator:
    return page.get_by_role("complementary", name="The run next to the list")


def choose(page: Page, current: str, wanted: str) -> None:
    """Select another option."""
    page.get_by_role("button", name=current).click()
    page.get_by_role("option", name=wanted, exact=True).click()


def test_the_list_shows_runs_of_every_source_with_their_totals(shown: Page) -> None:
    expect(row(shown, "What adds?")).to_be_visible()
    expect(row(shown, "Where is my order?")).to_contain_text("shop")
    failed = row(shown, "Why does export-1 fail?")
    expect(failed).to_contain_text("error")
    sums = shown.get_by_label("Totals of all matching runs")
    expect(sums).to_contain_text("Errors")
    expect(sums).to_contain_text("p95")


def test_filters_columns_and_order_are_in_the_address(shown: Page) -> None:
    shown.get_by_role("checkbox", name="error").check()
    expect(rows(shown)).to_have_count(1)
    shown.get_by_role("button", name="Columns").click()
    shown.get_by_role("menuitemcheckbox", name="Thread").click()
    shown.keyboard.press("Escape")
    expect(row(shown, "exports")).to_be_visible()
    shown.get_by_role("columnheader", name="Duration").get_by_role("button").click()
    expect(shown).to_have_url(re.compile(r"query=status%3Aerror.*sort=duration"))
    shown.reload()
    expect(row(shown, "exports")).to_be_visible()
    header = shown.get_by_role("columnheader", name="Duration")
    expect(header).to_have_attribute("aria-sort", "descending")


@pytest.mark.slow
def test_selecting_a_group_by_keyboard_narrows_the_query(shown: Page) -> None:
    choose(shown, "No groups", "By label")
    expect(shown).to_have_url(re.compile("group=label"))
    expect(row(shown, "shop")).to_contain_text("3")
    expect(row(shown, "urgent")).to_be_visible()
    shown.get_by_role("grid").focus()
    while "urgent" not in active(shown):
        shown.keyboard.press("ArrowDown")
    shown.keyboard.press("Enter")
    expect(shown).to_have_url("/runs?query=label%3Aurgent")
    expect(rows(shown)).to_have_count(1)
    expect(row(shown, "Cancel my order")).to_be_visible()


def active(page: Page) -> str:
    """The text of the active row."""
    grid = page.get_by_role("grid")
    identifier = grid.get_attribute("aria-activedescendant")
    assert identifier is not None
    return page.locator(f"[id='{identifier}']").inner_text()


@pytest.mark.slow
def test_runs_are_grouped_by_a_key_of_their_metadata(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as served, context_of(browser, served.address) as (page, _):
        for trace, (user, tenant) in enumerate((("alice", "acme"), ("bob", "globex")), start=1):
            root = exported(trace, "agent", trace=trace, user__id=user, metadata__tenant=tenant)
            call = exported(
                trace + 10,
                "chat",
                trace=trace,
                parent=trace,
                gen_ai__operation__name="chat",
                gen_ai__request__model="gpt-5",
            )
            send(served, call, root)
        page.goto("/runs")
        expect(rows(page)).to_have_count(2)
        choose(page, "No groups", "By metadata.tenant")
        expect(row(page, "acme")).to_be_visible()
        row(page, "acme").get_by_role("link").click()
        expect(page).to_have_url("/runs?query=metadata.tenant%3Aacme")
        expect(rows(page)).to_have_count(1)
        search = page.get_by_role("combobox").first
        search.fill("metadata.te")
        expect(page.get_by_role("option", name="metadata.tenant")).to_be_visible()
        search.fill("user:al")
        expect(page.get_by_role("option", name="alice")).to_be_visible()


def releases(served: Served) -> None:
    """Record 40 runs of the releases 1.4 and 1.5, some of which failed, and one without release."""
    runs = [
        exported(
            number,
            "agent",
            trace=number,
            error="it broke" if number % (2 if number <= 20 else 10) == 0 else None,
            service__version="1.4" if number <= 20 else "1.5",
        )
        for number in range(1, 41)
    ]
    send(served, *runs, exported(50, "agent", trace=50))


def test_two_releases_are_compared(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as served, context_of(browser, served.address) as (page, _):
        releases(served)
        page.goto("/runs?group=release")
        expect(row(page, "(no release)")).to_be_visible()
        page.get_by_role("columnheader", name="Failed runs").get_by_role("button").click()
        expect(page).to_have_url(re.compile("groupSort=failed_runs"))
        expect(rows(page).first).to_contain_text("10 (50.0 %)")
        page.get_by_role("columnheader", name="Failed runs").get_by_role("button").click()
        expect(rows(page).last).to_contain_text("10 (50.0 %)")  # the older release is below
        for release in ("1.4", "1.5"):
            row(page, release).get_by_role("checkbox").click()
        compared = page.get_by_label("Compared groups")
        failed = compared.get_by_role("row", name="Failed runs")
        expect(compared.get_by_role("columnheader").last).to_have_text("Change from 1.4 to 1.5")
        expect(failed).to_contain_text("\N{MINUS SIGN}40.0 points, 95 % interval")
        expect(failed).not_to_contain_text("chance")
        assert serious_faults(page) == []
        choose(page, "Not divided", "Then by time")
        expect(page).to_have_url(re.compile("parts=time.*bucket=86400|bucket=86400.*parts=time"))
        expect(rows(page)).to_have_count(6)
        page.goto("/runs?group=release")
        row(page, "(no release)").get_by_role("link").click()
        expect(rows(page)).to_have_count(1)


def test_groups_by_time_are_drawn_and_narrow_the_time(shown: Page) -> None:
    choose(shown, "No groups", "By time")
    choose(shown, "by hour", "by day")
    expect(shown).to_have_url("/runs?group=time&bucket=86400")
    figure = shown.get_by_role("figure", name="Spans by day")
    expect(figure.locator("canvas")).to_be_visible()
    choose(shown, "Spans Shown", "Errors")
    expect(shown.get_by_role("figure", name="Errors by day")).to_be_visible()
    rows(shown).first.get_by_role("link").click()
    expect(shown).to_have_url(re.compile(r"\?query=since%3A.*until%3A"))
    expect(rows(shown)).to_have_count(4)


@pytest.mark.slow
def test_keys_walk_rows_and_no_row_moves(shown: Page) -> None:
    first = rows(shown).first
    before = first.bounding_box()
    shown.keyboard.press("j")
    shown.keyboard.press("Space")
    expect(beside(shown)).to_contain_text("What adds?")
    after = first.bounding_box()
    assert before is not None
    assert after is not None
    assert [after[key] for key in ("x", "y", "height")] == [
        before[key] for key in ("x", "y", "height")
    ]
    # The sorted column is visible next to the panel.
    sorted_column = shown.get_by_role("columnheader", name="Started").bounding_box()
    panel = beside(shown).bounding_box()
    assert sorted_column is not None
    assert panel is not None
    assert sorted_column["x"] + sorted_column["width"] <= panel["x"]
    shown.keyboard.press("j")
    expect(beside(shown)).to_contain_text("Cancel my order")
    expect(shown).to_have_url(re.compile("peek=order-2"))
    shown.keyboard.press("k")
    expect(beside(shown)).to_contain_text("What adds?")
    shown.keyboard.press("Escape")
    expect(beside(shown)).to_have_count(0)
    expect(shown.get_by_role("grid")).to_be_focused()
    expect(shown).to_have_url("/runs")


@pytest.mark.slow
def test_the_panel_next_to_the_list_shows_failed_steps_first(shown: Page, filled: Served) -> None:
    shown.goto("/runs?peek=export-1")
    expect(beside(shown)).to_contain_text("The importer stops at an empty date.")
    steps = beside(shown).get_by_role("region", name="Steps").get_by_role("listitem")
    expect(steps).to_have_count(3)
    expect(steps.nth(1)).to_contain_text("Timeout: longer than 30 s")
    expect(steps.nth(2)).to_contain_text("chat small")
    shown.get_by_role("grid").focus()
    shown.keyboard.press("Enter")
    expect(shown).to_have_url(re.compile("/runs/export-1"))
    expect(shown.get_by_role("treegrid")).to_contain_text("run_check")


@pytest.mark.slow
def test_a_run_with_several_traces_offers_a_choice(shown: Page, filled: Served) -> None:
    shown.goto("/runs/order-1")
    expect(shown.get_by_role("treegrid")).to_be_visible()
    shown.get_by_role("button", name=re.compile("Trace")).first.click()
    options = shown.get_by_role("option")
    expect(options).to_have_count(2)
    options.nth(1).click()
    expect(shown).to_have_url(re.compile("trace="))
    expect(shown.get_by_role("treegrid")).to_be_visible()


@pytest.mark.slow
def test_a_missing_run_is_reported(page: Page, faults: Faults) -> None:
    faults.expect("404")
    page.goto("/runs/nothing")
    expect(page.get_by_role("heading", name="Run not found")).to_be_visible()
    page.get_by_role("link", name="Show all runs").click()
    expect(page).to_have_url("/runs")


@pytest.mark.slow
def test_the_actions_on_a_run(shown: Page) -> None:
    shown.goto("/runs?peek=order-2")
    actions = beside(shown).get_by_role("button", name="Actions")
    actions.click()
    shown.get_by_role("menuitem", name="Export…").click()
    dialog = shown.get_by_role("dialog", name="Export this run")
    expect(dialog).to_contain_text("treadle traces export run:order-2 -o run.jsonl")
    shown.keyboard.press("Escape")
    actions.click()
    shown.get_by_role("menuitem", name="Ask the analyst about it").click()
    expect(shown.get_by_role("complementary", name="Analyst", exact=True)).to_be_visible()


def test_list_and_a_run_are_saved_as_files(shown: Page) -> None:
    shown.goto("/runs?query=run:order-2&peek=order-2")
    shown.get_by_role("button", name="Export", exact=False).click()
    with shown.expect_download() as saved:
        shown.get_by_role("menuitem", name="All rows as CSV").click()
    rows = saved.value.path().read_text().splitlines()
    beside(shown).get_by_role("button", name="Actions").click()
    with shown.expect_download() as page:
        shown.get_by_role("menuitem", name="Save as an HTML page").click()

    assert (saved.value.suggested_filename, len(rows)) == ("runs.csv", 2)
    assert rows[1].startswith("order-2,")
    assert "<h1>run order-2</h1>" in page.value.path().read_text()


def test_a_deleted_run_is_gone(page: Page, served: Served) -> None:
    call(served, "wrong-1", "A secret by mistake")
    page.goto("/runs?peek=wrong-1")
    beside(page).get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name="Delete…").click()
    dialog = page.get_by_role("alertdialog", name="Delete this run?")
    expect(dialog).to_contain_text("1 span")
    asked = asked_from_now(page)
    dialog.get_by_role("button", name="Delete permanently").click()
    expect(page.get_by_text("Nothing is recorded yet.")).to_be_visible()
    expect(beside(page)).to_have_count(0)
    assert served.get("/runs")["data"] == []
    assert [each for each in asked if "wrong-1" in each] == ["DELETE /api/v1/runs/wrong-1"]


@pytest.mark.slow
def test_a_run_is_deleted_on_its_own_screen(page: Page, served: Served) -> None:
    call(served, "right-1", "What stays?")
    call(served, "wrong-1", "A secret by mistake")
    page.goto("/runs")
    row(page, "A secret by mistake").get_by_role("link").first.click()
    page.get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name="Delete…").click()
    asked = asked_from_now(page)
    page.get_by_role("button", name="Delete permanently").click()
    expect(page).to_have_url("/runs")
    expect(rows(page)).to_have_count(1)
    expect(row(page, "What stays?")).to_be_visible()
    named = [each for each in asked if "/runs/" in each or "/traces/" in each]
    assert named == ["DELETE /api/v1/runs/wrong-1"]


@pytest.mark.slow
def test_a_deletion_elsewhere_clears_every_screen(browser: Browser, served: Served) -> None:
    send(served, *failed_run("job-1", trace=1), *failed_run("job-2", trace=2))
    served.get("/runs/job-1")
    with ExitStack() as stack:

        def opened(path: str) -> Page:
            page, faults = stack.enter_context(context_of(browser, served.address))
            faults.expect("404")
            page.goto(path)
            expect(page.get_by_text("Why does job-1 fail?").first).to_be_visible()
            return page

        in_list, peek = opened("/runs"), opened("/runs?peek=job-1")
        run, thread = opened("/runs/job-1"), opened("/threads/exports")
        trace = opened(f"/traces/{1:032x}")
        assert served.http.delete("/api/v1/runs/job-1").is_success
        expect(in_list.get_by_text("1 run", exact=True)).to_be_visible()
        expect(in_list.get_by_text("Why does job-1 fail?")).to_have_count(0)
        expect(peek.get_by_text("The run could not be read")).to_be_visible()
        expect(peek.get_by_text("Why does job-1 fail?")).to_have_count(0)
        expect(run.get_by_role("heading", name="Run not found")).to_be_visible()
        expect(thread.get_by_text("Why does job-1 fail?")).to_have_count(0)
        expect(trace.get_by_text("The trace could not be read")).to_be_visible()
        assert served.http.delete("/api/v1/threads/exports").is_success
        expect(thread.get_by_role("heading", name="Thread not found")).to_be_visible()


def test_the_first_run_replaces_the_instructions(page: Page, served: Served) -> None:
    page.goto("/runs")
    expect(page.get_by_text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")).to_be_visible()
    call(served, "first", "Is anybody there?")
    expect(row(page, "Is anybody there?")).to_be_visible()


@pytest.mark.slow
def test_new_runs_do_not_move_the_row_under_the_pointer(page: Page, served: Served) -> None:
    call(served, "old", "The old one")
    page.goto("/runs")
    old = row(page, "The old one")
    old.hover()
    before = old.bounding_box()
    call(served, "new", "The new one")
    waiting = page.get_by_role("button", name="1 new")
    expect(waiting).to_be_visible()
    assert old.bounding_box() == before
    page.keyboard.press("n")
    expect(rows(page).first).to_contain_text("The new one")
    page.get_by_role("checkbox", name="Live").uncheck(force=True)
    expect(page).to_have_url("/runs?live=off")
    call(served, "unseen", "Not followed")
    page.mouse.move(1, 1)
    page.wait_for_timeout(1_000)  # nothing must happen, so there is nothing to wait for
    expect(rows(page)).to_have_count(2)


def test_a_running_run_is_updated_in_its_row(page: Page, served: Served) -> None:
    spans = failed_run("long", trace=7)
    (agent, *steps) = spans
    end = agent.pop("endTimeUnixNano")
    send(served, agent, *steps[:1])
    page.goto("/runs?columns=title,spans,models")
    running = row(page, "Why does long fail?")
    expect(running).to_contain_text("small")
    expect(running.get_by_role("gridcell").nth(2)).to_have_text("2")
    send(served, {**agent, "endTimeUnixNano": end}, *steps)
    expect(running.get_by_role("gridcell").nth(2)).to_have_text("3")


@pytest.mark.slow
def test_an_unreadable_list_is_reported_and_retried(
    page: Page, shared: Served, faults: Faults
) -> None:
    faults.expect("500")
    fault = {"error": {"message": "The disk is full.", "hint": "Make room."}}
    page.route("**/api/v1/runs?*", lambda route: route.fulfill(status=500, json=fault))
    page.goto("/runs")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("The runs could not be read")
    expect(notice).to_contain_text("Make room.")
    let_through(page, "**/api/v1/runs?*")
    notice.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Nothing is recorded yet.")).to_be_visible()


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
@pytest.mark.parametrize(
    "size", [WIDE, pytest.param(NARROW, marks=pytest.mark.slow)], ids=["wide", "narrow"]
)
def test_the_runs_screen_is_accessible(
    browser: Browser, filled: Served, size: tuple[int, int], dark: bool
) -> None:
    with context_of(browser, filled.address, size=size, dark=dark) as (page, _):
        page.goto("/runs?peek=export-1")
        expect(beside(page).get_by_role("listitem")).to_have_count(3)
        assert serious_faults(page) == []
        page.goto("/runs?group=time")
        expect(page.locator("canvas")).to_be_visible()
        assert serious_faults(page) == []
        page.goto("/runs/order-1")
        expect(page.get_by_role("treegrid")).to_be_visible()
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= size[0]
