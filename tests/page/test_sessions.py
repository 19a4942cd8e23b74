"""The session screens: sessions are started, continued, steered, branched and deleted.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fakes.replies import Answer, Call, error
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, Faults, context_of
from tests.page.served import Served


def _conversation(served: Served, *texts: str) -> str:
    """A session with these questions, each answered with its number; returns its id."""
    session: str | None = None
    for number, text in enumerate(texts, 1):
        served.provider.add(Answer(f"Answer {number}."))
        begun = served.post("/turns", {"text": text, "session": session})
        session = begun["session_id"]
        assert served.get(f"/turns/{begun['request_id']}", wait=50)["state"] == "done"
    assert session is not None
    return session


def _send(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.keyboard.press("Enter")


def test_a_session_is_started_and_continued(page: Page, served: Served) -> None:
    page.goto("/sessions")
    expect(page.get_by_role("heading", name="No sessions")).to_be_visible()
    page.keyboard.press("n")
    field = page.get_by_role("textbox", name="First message of a new session")
    expect(field).to_be_focused()
    field.fill("What adds?")
    served.provider.add(
        Answer("I look.", calls=[Call("read_file", {"path": "calc.py"})]), Answer("add does.")
    )
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions/*")
    conversation = page.get_by_role("region", name="Conversation")
    expect(conversation.get_by_text("add does.")).to_be_visible()
    expect(conversation.get_by_role("button", name=re.compile("read_file"))).to_be_visible()
    expect(conversation.get_by_text("0.0", exact=True)).to_have_count(0)  # its position
    served.provider.add(Answer("Numbers."))
    _send(page, "What of?")
    expect(conversation.get_by_text("Numbers.")).to_be_visible()
    page.reload()
    expect(conversation.get_by_text("add does.")).to_be_visible()
    expect(conversation.get_by_role("link", name="Trace").first).to_be_visible()
    conversation.get_by_role("link", name="Trace").first.click()
    page.wait_for_url("**/traces/*")


def test_a_running_turn_is_steered_and_stopped(page: Page, served: Served) -> None:
    session = _conversation(served, "Hello")
    page.goto(f"/sessions/{session}")
    served.provider.add(Answer("word " * 400, pause=0.2))
    _send(page, "Talk on")
    field = page.get_by_role("textbox", name="Message")
    expect(page.get_by_role("button", name="Add guidance")).to_be_visible()
    expect(page.get_by_role("button", name="Queue")).to_be_visible()
    field.fill("Be short")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Guidance: Be short")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped this turn.")).to_be_visible()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()


@pytest.mark.slow
def test_deeply_nested_answers_stay_in_their_box(page: Page, served: Served) -> None:
    served.ask("Nest.", Answer(f"{'- ' * 500}deep\n\n{'> ' * 300}quoted"))
    page.goto(f"/sessions/{served.get('/sessions')['data'][0]['id']}")
    answer = page.get_by_role("article").filter(has_text="quoted").last
    expect(answer.get_by_role("list").first).to_be_visible()
    assert answer.evaluate("element => element.scrollWidth - element.clientWidth") == 0


def test_a_write_of_a_turn_is_approved_on_the_page(page: Page, served: Served) -> None:
    session = _conversation(served, "Hello")
    page.goto(f"/sessions/{session}")
    replace = {"old": "left + right", "new": "right + left"}
    edits = {"edits": [{"file": "calc.py", "replace": replace}]}
    served.provider.add(Answer("", calls=[Call("apply_code_edit", edits)]), Answer("It is done."))
    _send(page, "Swap them")
    page.get_by_role("button", name="Allow once").first.click()
    expect(page.get_by_text("It is done.", exact=True)).to_be_visible()
    assert "right + left" in (served.repo / "calc.py").read_text()
    page.get_by_role("button", name=re.compile("Proposals: 1")).click()
    page.get_by_role("menuitem", name=re.compile("change calc.py")).click()
    page.wait_for_url("**/proposals/*")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()


def test_a_conversation_branches_and_goes_back(page: Page, served: Served) -> None:
    session = _conversation(served, "First?", "Second?")
    page.goto(f"/sessions/{session}")
    conversation = page.get_by_role("region", name="Conversation")
    expect(conversation.get_by_text("Answer 2.")).to_be_visible()
    conversation.get_by_role("article", name="Turn: First?").get_by_role(
        "button", name="Branch at this turn"
    ).click()
    page.get_by_role("menuitem", name="Continue from here").click()
    expect(conversation.get_by_text("Answer 2.")).to_be_hidden()
    served.provider.add(Answer("Another."))
    _send(page, "Instead?")
    expect(conversation.get_by_text("Another.")).to_be_visible()
    page.reload()
    page.get_by_role("button", name=re.compile("Other branches here: 1")).click()
    page.get_by_role("menuitem", name=re.compile("Second")).click()
    expect(conversation.get_by_text("Answer 2.")).to_be_visible()
    expect(conversation.get_by_text("Another.")).to_be_hidden()


def test_a_session_is_renamed_and_deleted(page: Page, served: Served) -> None:
    session = _conversation(served, "Hello")
    page.goto(f"/sessions/{session}")
    expect(page.get_by_role("heading", name="Hello")).to_be_visible()
    page.keyboard.press("e")
    title = page.get_by_role("dialog").get_by_role("textbox", name="Title")
    title.fill("Greetings")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Greetings")).to_be_visible()
    page.get_by_role("button", name="Session", exact=True).click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/sessions")
    expect(page.get_by_role("heading", name="No sessions")).to_be_visible()
    assert served.get("/sessions")["data"] == []


@pytest.mark.slow
def test_another_page_sees_a_new_title_and_a_deletion(
    page: Page, served: Served, faults: Faults
) -> None:
    session = _conversation(served, "Hello")
    page.goto(f"/sessions/{session}")
    expect(page.get_by_role("heading", name="Hello", level=1)).to_be_visible()
    renamed = served.http.patch(f"/api/v1/sessions/{session}", json={"title": "Greetings"})
    assert renamed.is_success, renamed.text
    expect(page.get_by_role("heading", name="Greetings", level=1)).to_be_visible()
    faults.expect("404")
    assert served.http.delete(f"/api/v1/sessions/{session}").is_success
    expect(page.get_by_role("heading", name="Session not found")).to_be_visible()
    page.get_by_role("link", name="Sessions").click()
    expect(page.get_by_role("heading", name="No sessions")).to_be_visible()


@pytest.mark.slow
def test_a_draft_message_survives_a_reload(page: Page, served: Served) -> None:
    session = _conversation(served, "Hello")
    page.goto(f"/sessions/{session}")
    message = page.get_by_role("textbox", name="Message")
    message.fill("How does the im")
    page.reload()
    expect(message).to_have_value("How does the im")
    page.get_by_role("link", name="Sessions").click()
    expect(page.get_by_role("textbox", name="First message of a new session")).to_have_value("")
    page.go_back()
    expect(message).to_have_value("How does the im")
    served.provider.add(Answer("Answer 2."))
    message.press("Enter")
    expect(page.get_by_text("Answer 2.", exact=True)).to_be_visible()
    page.reload()
    expect(message).to_have_value("")


@pytest.mark.slow
def test_a_failing_provider_is_reported_and_retried(page: Page, served: Served) -> None:
    session = _conversation(served, "Hello")
    page.goto(f"/sessions/{session}")
    served.provider.add(error(400, "the model is out of order"))
    _send(page, "And now?")
    expect(page.get_by_text("⚠ No answer")).to_be_visible()
    expect(page.get_by_text("out of order")).to_be_visible()
    served.provider.add(Answer("Now I am here."))
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_text("Now I am here.", exact=True)).to_be_visible()


@pytest.mark.slow
def test_a_missing_session_is_reported(page: Page, shared: Served, faults: Faults) -> None:
    faults.expect("404")
    page.goto("/sessions/01234567-89ab-7cde-8f01-23456789abcd")
    expect(page.get_by_role("heading", name="Session not found")).to_be_visible()


@pytest.mark.slow
def test_another_page_follows_a_turn_from_its_middle(
    browser: Browser, page: Page, served: Served
) -> None:
    session = _conversation(served, "Hello")
    page.goto(f"/sessions/{session}")
    served.provider.add(Answer("word " * 200 + "end.", pause=0.1))
    _send(page, "Talk on")
    expect(page.get_by_text("word word").first).to_be_visible()
    with context_of(browser, served.address) as (other, _):
        other.goto(f"/sessions/{session}")
        expect(other.get_by_role("button", name="Add guidance")).to_be_visible()
        expect(other.get_by_text("word word").first).to_be_visible()
        expect(other.get_by_text("end.").first).to_be_visible(timeout=60_000)
        expect(other.get_by_role("button", name="Send", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_axe_finds_nothing(browser: Browser, served: Served, dark: bool) -> None:
    session = _conversation(served, "First?", "Second?")
    with context_of(browser, served.address, dark=dark) as (page, _):
        page.goto("/sessions")
        expect(page.get_by_role("table", name="Sessions")).to_be_visible()
        assert serious_faults(page) == []
        page.goto(f"/sessions/{session}")
        expect(page.get_by_text("Answer 2.", exact=True)).to_be_visible()
        assert serious_faults(page) == []


@pytest.mark.slow
def test_a_session_fits_a_narrow_page(browser: Browser, served: Served) -> None:
    session = _conversation(served, "First?")
    with context_of(browser, served.address, size=NARROW) as (page, _):
        page.goto(f"/sessions/{session}")
        expect(page.get_by_text("Answer 1.")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]


def test_an_answer_links_to_its_sources(page: Page, served: Served) -> None:
    read = Call("read_file", {"path": "calc.py"})
    turn = served.ask("What adds?", Answer("", calls=[read]), Answer("add does."))
    page.goto(f"/sessions/{turn['session_id']}")
    sources = page.get_by_role("region", name="Sources")
    link = sources.get_by_role("link", name="calc.py:1-3")
    expect(link).to_be_visible()
    link.click()
    lines = page.get_by_role("dialog", name="calc.py:1-3")
    expect(lines).to_contain_text("return left + right")
    page.reload()
    expect(lines).to_contain_text("return left + right")
    page.keyboard.press("Escape")
    expect(lines).to_be_hidden()
    expect(page.get_by_text("add does.").first).to_be_visible()


def test_a_live_answer_links_to_its_sources(page: Page, served: Served) -> None:
    page.goto("/sessions")
    read = Call("read_file", {"path": "calc.py"})
    served.provider.add(Answer("", calls=[read]), Answer("add does."))
    page.get_by_role("textbox", name="First message of a new session").fill("What adds?")
    page.keyboard.press("Enter")
    sources = page.get_by_role("region", name="Sources")
    expect(sources.get_by_role("link", name="calc.py:1-3")).to_be_visible()
