"""The analyst next to every screen: it answers, acts on the page, asks, and can be stopped.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.fakes.provider import Reply
from tests.fakes.replies import Answer, Call, Pause, delta, error, sse
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, Faults, context_of
from tests.page.served import Served
from tests.server.exports import span

expect.set_options(timeout=20_000)  # an answer takes several requests, on a busy machine

TRACE = f"{1:032x}"
SPAN = f"{1:016x}"
LINK = f"/traces/{TRACE}?span={SPAN}"
ACTING = (
    "navigate_to",
    "navigate_to_experiment",
    "get_collapsed_spans",
    "apply_label_filter",
    "apply_experiment_data",
    "run_experiment",
)
READING = ("get_experiment_data", "evaluate_experiment_results")
"""These tools read the open experiment from the store; see `_asked` below."""


_OPEN_ALL = """
() => document.querySelectorAll('article button[aria-expanded=false]').forEach(each => each.click())
"""


class Release(asyncio.Event):
    """Set in the thread of a test, awaited in that of the provider."""

    async def wait(self) -> Literal[True]:
        while not self.is_set():  # noqa: ASYNC110  (asyncio has none for two threads)
            await asyncio.sleep(0.05)
        return True


def call(name: str, **arguments: object) -> Answer:
    return Answer("", (Call(name, arguments),))


def by_agent(name: str, *replies: Reply, task: str = "Do it.") -> list[Reply]:
    """The orchestrator lets an agent play these replies, and passes its answer on."""
    return [call(f"call_{name}", task=task), *replies, call("final", pass_on=name)]


def panel(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Analyst")


def talk(page: Page) -> Locator:
    """The conversation, wherever the analyst is."""
    return page.get_by_role("region", name="Conversation")


def ask(page: Page, question: str) -> None:
    field = page.get_by_label("Question to the analyst")
    field.fill(question)
    field.press("Enter")


def answer_of(served: Served, page: Page, question: str, *replies: Reply) -> None:
    """Ask, and wait for the answer."""
    served.provider.add(*replies)
    ask(page, question)
    expect(page.get_by_role("button", name="Copy the answer").last).to_be_visible()


def told(served: Served, request: int = -1) -> str:
    """The last messages of the model's request."""
    return str(served.provider.requests[request].messages)


def test_it_opens_by_key_and_asks_about_what_is_open(page: Page, served: Served) -> None:
    served.take_spans(span(1, text="Hello"))
    page.goto(LINK)
    expect(page.get_by_role("main")).to_be_visible()
    page.keyboard.press("a")
    chips = panel(page).get_by_label("Context of the question")
    expect(chips.get_by_role("listitem")).to_have_count(2)
    page.get_by_label(f"Exclude Trace {TRACE}").click()
    expect(chips.get_by_role("listitem")).to_have_count(1)
    served.provider.add(call("final", answer="Nothing went **wrong** there."))
    talk(page).get_by_role("button", name="What went wrong in this span?").click()
    expect(talk(page).get_by_text("wrong", exact=True)).to_be_visible()
    question = str(served.provider.requests[0].messages[-1]["content"])
    assert f'open span id: "{SPAN}"' in question
    assert "trace id" not in question
    assert re.search(r"[?&]analyst=[0-9a-f-]{36}", page.url)
    page.goto("/settings")  # the chips describe the open screen
    expect(page.get_by_role("main")).to_be_visible()
    page.keyboard.press("a")
    expect(chips).to_have_count(0)


def test_the_tools_of_the_page_act_on_it(page: Page, served: Served) -> None:
    served.call_gateway("Hi", Answer("Hello, dear person."))
    page.goto("/settings")
    recorded = _model_call(served)
    experiment = served.post("/experiments", {"spans": [recorded]})["id"]
    trace_id, _, span_id = recorded.partition("/")
    spans, runs = f"/traces/{trace_id}?span={span_id}", "/runs?query=label"
    expect(page.get_by_role("main")).to_be_visible()
    page.keyboard.press("a")
    ui: list[Reply] = [
        Answer("", (Call("navigate_to", {"url": spans}), Call("get_collapsed_spans"))),
        call("apply_label_filter", labels=["prod"], action="set", view="runs"),
        call("navigate_to_experiment", spanId=span_id),
        call("navigate_to", url=f"/experiments/{experiment}"),
        call("final", answer="All of it is open."),
    ]
    served.provider.add(*by_agent("ui", *ui))
    ask(page, "Show me everything")
    for place in (spans, runs, "/experiments/new", f"/experiments/{experiment}"):
        page.wait_for_url(re.compile(re.escape(place)))
    expect(talk(page).get_by_text("All of it is open.").first).to_be_visible()
    assert "analyst=" in page.url  # the panel stays after every navigation

    changed = {"parameters": {"temperature": 0.25}}
    work: list[Reply] = [
        call("get_experiment_data"),
        call("apply_experiment_data", data=changed),
        call("run_experiment"),
        Answer("Hello."),  # opens the experiment itself
        call("evaluate_experiment_results"),
        call("final", answer="It is shorter."),
    ]
    served.provider.add(*by_agent("experiment", *work))
    ask(page, "Make it shorter")
    for name in ("apply_experiment_data", "run_experiment"):
        card = talk(page).get_by_label(f"Permission for {name}")
        card.get_by_role("button", name="Allow once").click()
    expect(talk(page).get_by_text("It is shorter.").first).to_be_visible()
    outcome = page.get_by_role("article", name="Output of v1")
    expect(outcome).to_contain_text("Hello.")  # the page shows the run
    page.evaluate(_OPEN_ALL)
    for name in ACTING:
        expect(_step(page, name)).to_contain_text("on this page")
    for name in READING:
        expect(_step(page, name)).to_be_visible()
    expect(talk(page).get_by_text("Allowed once on this page")).to_have_count(2)
    shown = _asked(served, "get_experiment_data")
    assert shown["experimentData"]["parameters"]["temperature"] == 0.25
    assert _asked(served, "evaluate_experiment_results")["hasResults"] is True


def _model_call(served: Served) -> str:
    for _ in range(100):
        found = served.get("/spans", query="kind:model")["data"]
        if found:
            return f"{found[0]['trace_id']}/{found[0]['span_id']}"
    raise AssertionError("the call is not recorded")


def _step(page: Page, name: str) -> Locator:
    done = page.get_by_role("button", name=re.compile(rf"done: {name}\b"))
    return panel(page).locator("[data-state]").filter(has=done).last


def _asked(served: Served, kind: str) -> Any:
    """The page's answers to requests that no tool sends."""
    return served.post("/ui/requests", {"request": {"type": kind}})["answer"]


@pytest.mark.slow
def test_only_the_page_that_asked_acts(page: Page, served: Served) -> None:
    other = page.context.new_page()
    for each in (page, other):
        each.goto("/threads?analyst=new")
        expect(each.get_by_label("Question to the analyst")).to_be_visible()
    go = call("navigate_to", url="/models")
    answer_of(served, page, "Show the models", *by_agent("ui", go, call("final", answer="Done.")))
    page.wait_for_url("**/models?*")
    assert "/threads" in other.url
    conversation = page.url.partition("analyst=")[2]
    other.goto(f"/threads?analyst={conversation}")
    expect(talk(other).get_by_text("Done.")).to_be_visible()
    again = by_agent("ui", call("navigate_to", url="/tools"), call("final", answer="Again."))
    served.provider.add(*again)
    ask(page, "And the tools")
    page.wait_for_url("**/tools?*")
    expect(
        talk(other).get_by_text("Again.").first
    ).to_be_visible()  # a question of one page appears on all
    talk(other).get_by_role("button", name="ui agent: ").last.click()
    expect(talk(other).get_by_text("on another page")).to_be_visible()
    assert "/threads" in other.url


@pytest.mark.slow
def test_steps_unfold_and_link_to_their_spans(page: Page, served: Served) -> None:
    page.goto("/threads?analyst=new")
    first = Answer("I look.", (Call("call_data", {"task": "Labels?"}),), reasoning="Hm, labels.")
    data = call("list_labels"), call("final", answer="None.")
    answer_of(served, page, "Which labels?", first, *data, call("final", pass_on="data"))
    inside = talk(page)
    inside.get_by_role("button", name="Reasoning").click()
    expect(inside.get_by_text("Hm, labels.")).to_be_visible()
    inside.get_by_role("button", name="data agent: 1 call").click()
    inside.get_by_role("button", name="list_labels").click()
    expect(inside.get_by_text("Arguments")).to_be_visible()
    inside.get_by_role("link", name="Open in trace").click()
    page.wait_for_url(re.compile(r"/traces/[0-9a-f]{32}\?.*span=[0-9a-f]{16}"))
    expect(inside.get_by_text("None.").first).to_be_visible()  # the panel stays


@pytest.mark.slow
def test_a_failure_states_why_and_can_be_retried(
    page: Page, served: Served, faults: Faults
) -> None:
    page.goto("/threads?analyst=new")
    served.provider.add(error(503, "The provider rests."))
    ask(page, "What went wrong?")
    expect(talk(page).get_by_text("⚠ No answer")).to_be_visible()
    expect(talk(page).get_by_text("The provider rests.").first).to_be_visible()
    served.provider.add(call("final", answer="Now it works."))
    talk(page).get_by_role("button", name="Ask again").click()
    expect(talk(page).get_by_text("Now it works.")).to_be_visible()
    faults.expect("409|ERR_")
    served.http.delete(f"/api/v1/agents/conversations/{page.url.partition('analyst=')[2]}")
    faults.expect("404")
    page.reload()
    expect(talk(page).get_by_text("Conversation not found")).to_be_visible()


@pytest.mark.slow
def test_the_analyst_sees_every_tab_of_a_span(page: Page, served: Served) -> None:
    served.take_spans(span(1, text="Hello"))
    page.goto(f"/traces/{1:032x}?span={1:016x}&analyst=new")
    tabs = page.get_by_role("tablist", name="Views of the span")
    expect(tabs.get_by_role("tab")).to_have_count(4)
    expect(talk(page)).to_be_visible()
    assert tabs.evaluate("element => element.scrollWidth - element.clientWidth") == 0


@pytest.mark.slow
def test_an_unknown_conversation_is_reported_without_a_fault(page: Page) -> None:
    page.goto("/threads?analyst=zz")
    expect(talk(page).get_by_text("Conversation not found")).to_be_visible()


def test_an_answer_is_stopped_by_escape(page: Page, served: Served) -> None:
    page.goto("/threads?analyst=new")
    served.provider.add(sse(delta(content="It begins so"), Pause()))
    ask(page, "What went wrong?")
    expect(talk(page).get_by_text("It begins so")).to_be_visible()
    page.keyboard.press("Escape")
    expect(talk(page).get_by_text("You stopped this turn.")).to_be_visible()
    expect(talk(page).get_by_text("It begins so")).to_be_visible()
    page.reload()
    expect(talk(page).get_by_text("You stopped this turn.")).to_be_visible()
    expect(talk(page).get_by_text("It begins so")).to_be_visible()


@pytest.mark.slow
def test_a_saved_answer_shows_its_cost(page: Page, served: Served) -> None:
    page.goto("/threads?analyst=new")
    usage = {"prompt_tokens": 1_200, "completion_tokens": 34, "total_tokens": 1_234}
    served.provider.add(Answer("Nothing went wrong.", usage=usage))
    ask(page, "What went wrong?")
    spent = talk(page).get_by_title("1200 tokens in, 34 out")
    expect(spent).to_be_visible()
    page.reload()
    expect(talk(page).get_by_text("Nothing went wrong.")).to_be_visible()
    expect(spent).to_be_visible()


@pytest.mark.slow
def test_a_reload_and_another_tab_continue_the_answer(page: Page, served: Served) -> None:
    page.goto("/threads?analyst=new")
    end = delta(content=" and ends so.", finish_reason="stop")
    release = Release()
    served.provider.add(sse(delta(content="It begins so"), Pause(event=release), end))
    ask(page, "What went wrong?")
    expect(talk(page).get_by_text("It begins so")).to_be_visible()
    page.wait_for_url("**/threads?analyst=*-*")
    other = page.context.new_page()
    other.goto(page.url)
    page.reload()
    for each in (page, other):
        expect(talk(each).get_by_text("It begins so", exact=True)).to_be_visible()
        expect(talk(each).get_by_role("button", name="Stop")).to_be_visible()
    release.set()
    for each in (page, other):
        whole = talk(each).get_by_text("It begins so and ends so.", exact=True)
        expect(whole).to_have_count(1)
        expect(each.get_by_role("log")).to_have_text("Answer: It begins so and ends so.")


def test_a_writing_call_waits_for_a_person_on_any_screen(page: Page, served: Served) -> None:
    served.call_gateway("Hi", Answer("Hello."))
    experiment = served.post("/experiments", {"spans": [_model_call(served)]})["id"]
    change = call("apply_experiment_data", data={"model": "m2"}, experimentId=experiment)
    denied = [change, call("final", answer="Nothing was changed.")]
    page.goto("/threads?analyst=new")
    served.provider.add(*by_agent("experiment", *denied))
    ask(page, "Try another model")
    card = talk(page).get_by_label("Permission for apply_experiment_data")
    expect(card).to_contain_text("m2")  # the exact effect
    expect(page.get_by_role("button", name="1 call needs approval")).to_be_visible()
    card.get_by_role("button", name="Deny…").press("Enter")
    page.keyboard.type("not that model")
    page.keyboard.press("Enter")
    expect(talk(page).get_by_text("Nothing was changed.").first).to_be_visible()
    assert "not that model" in str([request.messages for request in served.provider.requests])

    page.goto("/tools")  # a question of the assistant, with no panel open
    served.provider.add(call("read_file", path=".env"), Answer("I may not read it."))
    (served.repo / ".env").write_text("KEY=1\n")
    begun = served.post("/turns", {"text": "What is in .env?"})
    page.get_by_role("button", name="1 call needs approval").click()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text(".env")
    (waiting,) = served.get("/approvals")["data"]
    served.post(f"/approvals/{waiting['approval_id']}", {"scope": "once"})
    expect(asked).to_have_count(0)  # the answer came from elsewhere
    assert served.get(f"/turns/{begun['request_id']}", wait=50)["state"] == "done"


def test_conversations_are_kept_opened_renamed_and_deleted(page: Page, served: Served) -> None:
    page.goto("/analyst")
    expect(page.get_by_text("No questions yet.")).to_be_visible()
    answer_of(served, page, "The first?", call("final", answer="One."))
    page.get_by_role("button", name="New conversation").click()
    answer_of(served, page, "The second?", call("final", answer="Two."))
    kept = page.get_by_role("navigation", name="Conversations")
    expect(kept.get_by_role("listitem")).to_have_count(2)
    kept.get_by_role("button", name=re.compile("^The first")).click()
    expect(talk(page).get_by_text("One.", exact=True)).to_be_visible()
    page.get_by_role("button", name="Actions for The first").click()
    page.get_by_role("menuitem", name="Rename…").click()
    page.get_by_label("Title").fill("Labels")
    page.keyboard.press("Enter")
    expect(kept.get_by_role("button", name=re.compile("^Labels"))).to_be_visible()
    page.get_by_role("button", name="Actions for Labels").click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(kept.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_text("Ask what happened, and why.")).to_be_visible()
    kept.get_by_role("button", name=re.compile("^The second")).click()
    page.get_by_role("button", name="Dock").click()
    page.wait_for_url("**/threads?analyst=*")
    expect(talk(page).get_by_text("Two.", exact=True)).to_be_visible()


def test_hostile_answers_are_text(page: Page, served: Served) -> None:
    served.take_spans(span(1, text="Hello"))
    hostile = (
        f"[the span]({LINK}) <img src=x onerror=alert(1)> ![dot](http://127.0.0.1:9/p.png) "
        "[there](https://evil.example/x) [run](javascript:alert(1)) \u202egnp.exe \x1b[31m"
    )
    page.goto("/threads?analyst=new")
    answer_of(served, page, "\u202e<b>What</b>?", call("final", answer=hostile))
    inside = talk(page)
    expect(inside.locator("img, b")).to_have_count(0)
    expect(inside.get_by_text("https://evil.example/x")).to_be_visible()
    links: Sequence[Any] = inside.get_by_role("link").all()
    assert all(str(each.get_attribute("href")).startswith("/") for each in links)
    inside.get_by_role("link", name="the span").click()
    page.wait_for_url(f"**/traces/{TRACE}?*span={SPAN}*")
    expect(inside.get_by_text("https://evil.example/x")).to_be_visible()


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_the_analyst_is_accessible(browser: Browser, served: Served, dark: bool) -> None:
    with context_of(browser, served.address, dark=dark) as (page, _):
        page.goto("/analyst")
        expect(page.get_by_text("Ask what happened, and why.")).to_be_visible()
        assert serious_faults(page) == []
        table = "| a | b |\n|---|--:|\n| 1 | 2 |\n\n```python\na = 1\n```"
        work = by_agent("data", call("list_labels"), call("nothing"), call("final", answer=table))
        answer_of(served, page, "Which?", *work)
        expect(page.get_by_role("table")).to_be_visible()
        page.evaluate(_OPEN_ALL)
        assert serious_faults(page) == []
        page.get_by_role("button", name="Dock").click()
        expect(panel(page)).to_be_visible()
        assert serious_faults(page) == []


@pytest.mark.slow
def test_on_a_narrow_page_the_analyst_closes_for_what_it_opens(
    browser: Browser, served: Served
) -> None:
    served.take_spans(span(1, text="Hello"))
    with context_of(browser, served.address, size=NARROW) as (page, _):
        page.goto("/threads?analyst=new")
        answer_of(served, page, "Where?", call("final", answer=f"[There]({LINK})."))
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width == NARROW[0]
        talk(page).get_by_role("link", name="There").click()
        expect(panel(page)).to_have_count(0)
        assert TRACE in page.url
