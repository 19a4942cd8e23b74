"""The selection of rows, and the comparison of two runs."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.axe import serious_faults
from tests.page.recorded import exported, message, send
from tests.page.served import Served

QUESTION = "Which orders are late today?"


def _run(
    number: int, model: str, answer: str, *tools: str, question: str = QUESTION, **more: Any
) -> list[dict[str, Any]]:
    """An agent that calls tools and a model."""
    first = number * 100
    shared: dict[str, Any] = {"run.id": f"run-{number}", "gen_ai.conversation.id": "orders"}
    agent = exported(
        first,
        "invoke_agent helper",
        trace=number,
        seconds_ago=600 - number,
        gen_ai__operation__name="invoke_agent",
        gen_ai__input__messages=message("user", question),
        gen_ai__output__messages=message("assistant", answer),
        **shared,
        **more,
    )
    calls = [
        exported(
            first + place,
            f"execute_tool {name}",
            trace=number,
            parent=first,
            seconds_ago=600 - number - place * 0.01,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name=name,
            gen_ai__tool__call__arguments={"day": "today", "limit": 10 * number},
            gen_ai__tool__call__result=f"{number} orders",
            **shared,
        )
        for place, name in enumerate(tools, 1)
    ]
    chat = exported(
        first + 50,
        f"chat {model}",
        trace=number,
        parent=first,
        seconds_ago=600 - number - 0.9,
        gen_ai__operation__name="chat",
        gen_ai__request__model=model,
        gen_ai__input__messages=message("user", question),
        gen_ai__output__messages=message("assistant", answer),
        **shared,
    )
    return [agent, *calls, chat]


@pytest.fixture(scope="module")
def recorded(shared: Served) -> Served:
    """A server with two runs of the same question, and others."""
    send(shared, *_run(1, "small", "Two orders are late: 17 and 18.", "list_orders"))
    send(
        shared,
        *_run(2, "large", "Three orders are late: 17, 18 and 21.", "list_orders", "get_order"),
    )
    for number in (3, 4, 5):
        send(shared, *_run(number, "small", "None.", question=f"Is order {number} paid?"))
    return shared


def _rows(page: Page) -> Any:
    return page.get_by_role("grid").get_by_role("row").filter(has=page.get_by_role("gridcell"))


def test_new_user_finds_what_changed_between_two_runs(page: Page, recorded: Served) -> None:
    page.goto(recorded.page)
    page.get_by_role("link", name="Runs", exact=True).click()
    boxes = page.get_by_role("checkbox", name=f"Select {QUESTION}")
    expect(boxes).to_have_count(2)
    for box in boxes.all():
        box.check()
    expect(page.get_by_role("status").filter(has_text="2 runs selected")).to_be_visible()
    page.get_by_role("button", name="Compare").click()

    expect(page).to_have_url(re.compile(r"/compare\?a=run-1&b=run-2$"))
    summary = page.get_by_text(re.compile("^Same question. Model large instead of small"))
    expect(summary).to_contain_text("1 more tool call")
    expect(summary).to_contain_text("other answer")
    steps = page.get_by_role("article")
    only = steps.filter(has_text="get_order").filter(has_text="only in B")
    expect(only).to_be_visible()
    arguments = steps.filter(has_text="list_orders").get_by_role(
        "region", name="Arguments, differences"
    )
    expect(arguments.locator("del")).to_have_text("10")
    expect(arguments.locator("ins")).to_have_text("20")
    assert serious_faults(page) == []


def test_keys_select_rows_and_compare_them(page: Page, recorded: Served) -> None:
    page.goto("/runs")
    expect(_rows(page).nth(4)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_text("1 run selected")).to_be_visible()
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.get_by_text("3 runs selected")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Compare"))).to_be_disabled()
    page.keyboard.press("x")
    expect(page.get_by_text("2 runs selected")).to_be_visible()
    assert serious_faults(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_text("runs selected")).to_have_count(0)
    page.keyboard.press("x")
    page.keyboard.press("k")
    page.keyboard.press("x")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()


def test_run_page_offers_similar_runs_to_compare_with(page: Page, recorded: Served) -> None:
    page.goto("/runs/run-2")
    page.get_by_role("button", name="Compare with…").click()
    dialog = page.get_by_role("dialog", name="Compare with")
    expect(dialog.get_by_role("region", name="Previous run of this thread")).to_be_visible()
    assert serious_faults(page) == []
    dialog.get_by_role("link", name=QUESTION).first.click()
    expect(page).to_have_url(re.compile(r"/compare\?a=run-1&b=run-2$"))


def test_missing_side_and_equal_sides_are_stated(page: Page, recorded: Served, faults: Any) -> None:
    faults.expect("404")
    page.goto("/compare?a=run-1&b=gone")
    expect(page.get_by_text("B does not exist: nothing is recorded under gone.")).to_be_visible()
    page.goto("/compare?a=run-1&b=run-1")
    expect(page.get_by_text("A and B are the same run.")).to_be_visible()


def test_comparison_follows_a_run_until_its_end(page: Page, recorded: Served) -> None:
    begun = time.time()
    shared = {"gen_ai.operation.name": "invoke_agent", "run.id": "run-9"}
    first: dict[str, Any] = {
        "trace": 9,
        "gen_ai__input__messages": message("user", QUESTION),
        **shared,
    }
    send(recorded, exported(900, "invoke_agent helper", ended=False, seconds_ago=1, **first))
    page.goto("/compare?a=run-1&b=run-9")
    expect(page.get_by_text("B is still running.")).to_be_visible()
    passed = time.time() - begun
    answer = message("assistant", "None is late.")
    send(
        recorded,
        exported(
            900,
            "invoke_agent helper",
            seconds_ago=1 + passed,
            gen_ai__output__messages=answer,
            **first,
        ),
    )
    expect(page.get_by_text("B is still running.")).to_have_count(0)
    expect(page.get_by_role("article").first.locator("ins").first).to_be_visible()


def test_selected_rows_are_labelled_exported_and_deleted(page: Page, served: Served) -> None:
    for number in range(1, 6):
        send(served, *_run(number, "small", "None.", "list_orders", question=f"Order {number}?"))
    page.goto("/runs")
    for number in (1, 2, 3):
        page.get_by_role("checkbox", name=f"Select Order {number}?").check()
    bar = page.get_by_role("region", name="Selected runs")

    bar.get_by_role("button", name="Label…").click()
    dialog = page.get_by_role("dialog", name="Label the selected runs")
    dialog.get_by_role("textbox", name="Add labels").fill("checked, good")
    assert serious_faults(page) == []
    dialog.get_by_role("button", name="Apply").click()
    notice = page.get_by_role("status", name="Notices").get_by_text("3 runs labelled.")
    expect(notice).to_be_visible()
    box, filters = notice.bounding_box(), page.get_by_role("group", name="Status").bounding_box()
    assert box is not None
    assert filters is not None
    assert box["y"] + box["height"] < filters["y"]  # the filters and the bar are not covered
    row = _rows(page).filter(has_text="Order 2?")
    expect(row).to_contain_text("checked")
    expect(row).to_contain_text("good")

    bar.get_by_role("button", name="Export").click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="Selected rows as CSV").click()
    lines = started.value.path().read_text().splitlines()
    assert started.value.suggested_filename == "runs.csv"
    assert [line.split(",")[0] for line in lines[1:]] == ["run-3", "run-2", "run-1"]

    page.get_by_role("checkbox", name="Select Order 3?").uncheck()
    bar.get_by_role("button", name="Delete…").click()
    confirm = page.get_by_role("alertdialog", name="Delete 2 runs?")
    expect(confirm).to_contain_text("6 spans are deleted permanently")
    assert serious_faults(page) == []
    confirm.get_by_role("button", name="Delete permanently").click()
    expect(_rows(page)).to_have_count(3)
    expect(bar).to_have_count(0)


def test_all_matching_rows_are_selected_beyond_the_loaded_ones(page: Page, served: Served) -> None:
    for number in range(1, 122):
        [agent, _] = _run(number, "small", "None.", question=f"Order {number}?")
        send(served, agent)
    page.goto("/runs")
    page.get_by_role("checkbox", name="Select all loaded runs").check()
    bar = page.get_by_role("region", name="Selected runs")
    expect(bar).to_contain_text("100 runs selected")
    bar.get_by_role("button", name="Select all 121 that match").click()
    expect(bar).to_contain_text("121 runs selected")
    # A run that starts later is not part of the selection.
    send(served, exported(99_900, "invoke_agent late", trace=999, seconds_ago=-60))
    expect(page.get_by_role("checkbox", name="Select invoke_agent late")).not_to_be_checked()
    expect(bar).to_contain_text("121 runs selected")

    bar.get_by_role("button", name="Export").click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="Selected rows as JSON lines").click()
    assert len(started.value.path().read_text().splitlines()) == 121

    bar.get_by_role("button", name="Delete…").click()
    confirm = page.get_by_role("alertdialog", name="Delete 121 runs?")
    confirm.get_by_role("button", name="Delete permanently").click()
    expect(_rows(page)).to_have_count(1)
    assert [run["name"] for run in served.get("/runs")["data"]] == ["invoke_agent late"]
