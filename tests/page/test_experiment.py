"""The experiment screens, on calls that OpenAI's own client made through the gateway.

A page costs a second of processor time. The quick suite has one test for each thing that a person
does here; the tests of further states, sizes and themes are slow.
"""

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.fakes.provider import RecordedRequest
from tests.fakes.replies import Answer, Pause, Script, error
from tests.page.axe import serious_faults
from tests.page.browsing import NARROW, WIDE, Faults, context_of
from tests.page.served import Served
from tests.server.exports import span

LONG = "A monad is a structure that represents computations.\nIt has two operations.\n"
SHORT = "A monad chains computations."
ASKED = "What is a monad?"
_DEAF = """
    window.WebSocket = class extends WebSocket {
      constructor(...told) {
        super(...told);
        this.addEventListener("message", (event) => {
          if (event.data.includes("ExperimentChanged")) event.stopImmediatePropagation();
        });
      }
    };
"""
"""A page that receives no events about experiments."""
_TOO_WIDE = """
    part => [part, ...part.querySelectorAll("*")]
      .filter(each => each.scrollWidth > each.clientWidth + 1)
      .filter(each => each.clientWidth > 1 && getComputedStyle(each).display !== "inline")
      .map(each => `${each.tagName} ${each.className}`)
      .filter(name => !/visually-hidden|code/i.test(name))
"""
"""The parts of a region whose content is wider than they are, other than code."""
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look a word up",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}


def _answer(request: RecordedRequest) -> Answer:
    """A short answer if the request asks for one."""
    system = str(request.messages[0]["content"])
    tokens = {"prompt_tokens": 40, "completion_tokens": 6 if "short" in system else 60}
    return Answer(SHORT if "short" in system else LONG, usage=tokens)


def _recorded(served: Served, asked: str = ASKED) -> str:
    """A model call with every field of a request, as `TRACE/SPAN`."""
    served.provider.add(_answer)
    with openai.OpenAI(base_url=f"{served.address}/v1", api_key="any", max_retries=0) as client:
        raw = client.chat.completions.with_raw_response.create(
            model="m",
            temperature=0.7,
            messages=[
                {"role": "system", "content": "Explain at length."},
                {"role": "user", "content": asked},
            ],
            tools=[TOOL],
        )
    return f"{raw.headers['x-trace-id']}/{raw.headers['x-span-id']}"


def _until(ready: Callable[[], Any]) -> Any:
    """The value, as soon as it is not empty."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = ready()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come in time")


def _made(served: Served, *changes: dict[str, Any], asked: str = ASKED) -> str:
    """An experiment with a call, and a version for each change; returns its id."""
    reference = _recorded(served, asked)

    def make() -> Any:
        made = served.http.post("/api/v1/experiments", json={"spans": [reference]})
        return made.json() if made.status_code == 201 else None

    experiment = _until(make)  # the call is recorded a moment after its answer
    for change in changes:
        answer = served.http.patch(f"/api/v1/experiments/{experiment['id']}", json={"data": change})
        assert answer.is_success, answer.text
    return str(experiment["id"])


def _newest(served: Served, experiment: str) -> dict[str, Any]:
    """The request of the newest version."""
    found = served.get(f"/experiments/{experiment}")
    return dict(found["items"][0]["current"])


def _run(served: Served, experiment: str, repeats: int, *variants: str) -> None:
    """Run it to its end."""
    served.provider.add(*[_answer] * repeats * len(variants))
    body = {"repeats": repeats, "variants": variants}
    batch = served.post(f"/experiments/{experiment}/batches", body)
    path = f"/experiments/{experiment}/batches/{batch['id']}"
    _until(lambda: served.get(path)["state"] == "finished")


def _call(served: Served, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool that changes nothing."""
    return dict(served.post(f"/tools/{tool}/call", arguments))


def _allowed_call(served: Served, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of a tool that needs approval, which a person gives once."""
    with ThreadPoolExecutor(1) as thread:
        calling = thread.submit(_call, served, tool, **arguments)
        [asked] = _until(lambda: served.get("/approvals")["data"])
        assert asked["name"] == tool, asked
        served.post(f"/approvals/{asked['approval_id']}", {"scope": "once"})
        return calling.result(timeout=60)


def _open(page: Page, served: Served, experiment: str) -> None:
    """Open it, and wait until the server knows."""
    page.goto(f"/experiments/{experiment}")
    expect(page.get_by_role("tab", name="Request")).to_be_visible()
    _until(lambda: served.get("/ui")["experiment_id"] == experiment)


@pytest.mark.slow
def test_without_experiments_the_list_explains_how_to_create_one(
    page: Page, served: Served
) -> None:
    page.goto("/experiments")
    expect(page.get_by_role("heading", name="No experiments yet")).to_be_visible()
    expect(page.get_by_text("treadle experiment new LAST")).to_be_visible()
    assert served.get("/experiments")["data"] == []


def test_a_recorded_call_is_changed_run_and_compared(page: Page, served: Served) -> None:
    trace, call = _recorded(served).split("/")
    _until(lambda: served.http.get(f"/api/v1/spans/{trace}/{call}").is_success)
    page.goto(f"/experiments/new?trace={trace}&span={call}")
    expect(page.get_by_text("that can be run again")).to_be_visible()
    page.get_by_label("Name").fill("Shorter answers")
    page.get_by_role("button", name="Create experiment").click()
    expect(page.get_by_role("heading", name="Shorter answers")).to_be_visible()

    page.get_by_label("Text of message 1").fill("Be short, {{tone}}.")
    page.get_by_role("textbox", name="temperature").fill("0.2")
    page.get_by_role("button", name="{{tone}}").click()
    page.get_by_role("textbox", name="tone", exact=True).fill("kind")
    page.get_by_label("Description of tool 1").fill("Look a word up in a book")
    page.get_by_label("Note").fill("short and cool")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saved as version 1.")).to_be_visible()
    experiment = page.url.rsplit("/", 1)[1]
    request = _newest(served, experiment)
    assert request["messages"][0]["content"] == "Be short, {{tone}}."
    assert request["parameters"] == {"temperature": 0.2}
    assert request["tools"][0]["function"]["description"] == "Look a word up in a book"
    assert request["variables"] == {"tone": "kind"}

    served.provider.add(*[_answer] * 6)
    page.keyboard.press("Control+Enter")
    page.get_by_label("Repeats").fill("3")
    expect(page.get_by_text("6 runs. Each run calls the provider")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("6 of 6 runs")).to_be_visible()
    comparison = page.get_by_role("region", name="Comparison")
    expect(comparison.get_by_text("not enough runs")).to_be_visible()
    tokens = comparison.get_by_role("row", name=re.compile("^Tokens"))
    expect(tokens).to_contain_text("100 (100)")
    expect(tokens).to_contain_text("46 (46)")
    expect(tokens).to_contain_text("54.0 %")
    expect(comparison.get_by_role("row", name=re.compile("^Cost"))).to_contain_text(
        "Unknown for every pair."
    )
    expect(page.get_by_role("article", name="Output of original")).to_contain_text("two operations")
    output = page.get_by_role("article", name="Output of v1")
    expect(output).to_contain_text(SHORT)
    page.keyboard.press("d")
    expect(output.locator("del").first).to_be_visible()
    output.get_by_role("link", name="trace").click()
    expect(page).to_have_url(re.compile(r"/traces/[0-9a-f]+\?span="))
    assert [request.body["temperature"] for request in served.provider.requests[-2:]] == [0.7, 0.2]
    assert served.provider.requests[-1].messages[0]["content"] == "Be short, kind."


def test_results_fit_and_no_colour_claims_more_than_the_verdict(page: Page, served: Served) -> None:
    experiment = _made(served, {"system": "Be short."})
    served.provider.add(*[_answer] * 10)
    body = {
        "repeats": 5,
        "variants": ["original", "v1"],
        "models": ["fake/a-model-with-a-long-name-and-a-date-2026-11-30"],
    }
    batch = served.post(f"/experiments/{experiment}/batches", body)
    path = f"/experiments/{experiment}/batches/{batch['id']}"
    _until(lambda: served.get(path)["state"] == "finished")
    page.goto(f"/experiments/{experiment}?tab=results&base=recorded")
    comparison = page.get_by_role("region", name="Comparison")
    outputs = page.get_by_role("region", name="Outputs")
    # The recorded call is one run: the fewer tokens of v1 may be chance.
    expect(comparison.get_by_text("not enough runs")).to_have_count(2)
    fewer = comparison.get_by_role("row", name=re.compile("^Tokens")).last
    expect(fewer).to_contain_text("54.0 %")
    expect(comparison.locator("td [data-tone=good], td [data-tone=bad]")).to_have_count(0)
    for width in (1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        for part in (outputs, comparison):
            assert part.evaluate(_TOO_WIDE) == []
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert headings == ["Outputs", "Comparison"]


@pytest.mark.slow
def test_the_same_request_is_edited_as_json(page: Page, served: Served) -> None:
    experiment = _made(served)
    _open(page, served, experiment)
    page.get_by_role("textbox", name="temperature").fill("0.3")
    page.get_by_role("button", name="Edit as JSON").click()
    expect(page).to_have_url(re.compile("edit=json"))
    field = page.get_by_label("The request as JSON")
    text = field.input_value()
    assert '"temperature": 0.3' in text
    field.fill(text.replace("0.3", "0.4")[:-1])
    expect(page.get_by_text("This is not JSON").first).to_be_visible()
    expect(page.get_by_role("button", name="Save as v1")).to_be_disabled()
    field.fill(text.replace("0.3", "0.4"))
    page.get_by_role("button", name="Edit as a form").click()
    expect(page.get_by_role("textbox", name="temperature")).to_have_value("0.4")
    page.get_by_role("button", name="Save as v1").click()
    expect(page.get_by_text("Saved as version 1.")).to_be_visible()
    assert _newest(served, experiment)["parameters"] == {"temperature": 0.4}


@pytest.mark.slow
def test_messages_are_added_moved_and_removed(page: Page, served: Served) -> None:
    experiment = _made(served)
    _open(page, served, experiment)
    page.get_by_role("button", name="Add a message").click()
    page.get_by_role("menuitem", name="assistant").click()
    page.get_by_label("Text of message 3").fill("Is it?")
    page.get_by_role("button", name="Move message 3 up").click()
    page.get_by_role("button", name="Remove message 1").click()
    page.get_by_role("button", name="Save as v1").click()
    expect(page.get_by_text("Saved as version 1.")).to_be_visible()
    assert _newest(served, experiment)["messages"] == [
        {"role": "assistant", "content": "Is it?"},
        {"role": "user", "content": ASKED},
    ]


@pytest.mark.slow
def test_an_error_is_shown_at_its_field_and_blocks_saving(page: Page, served: Served) -> None:
    experiment = _made(served)
    _open(page, served, experiment)
    page.get_by_role("textbox", name="temperature").fill("3")
    problems = page.get_by_role("list", name="Problems")
    expect(problems).to_contain_text("parameters.temperature")
    expect(page.get_by_role("textbox", name="temperature")).to_have_attribute(
        "aria-invalid", "true"
    )
    expect(page.get_by_role("button", name="Save as v1")).to_be_disabled()
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Nothing was saved.")).to_be_visible()
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("region", name="Unsaved changes")).to_be_hidden()
    assert served.get(f"/experiments/{experiment}")["version"] == 0


@pytest.mark.slow
def test_a_call_that_cannot_run_again_is_reported(page: Page, served: Served) -> None:
    served.take_spans(span(1))  # the page does not learn of this question
    [row] = _until(lambda: served.get("/spans")["data"])
    page.goto(f"/experiments/new?trace={row['trace_id']}&span={row['span_id']}")
    expect(page.get_by_role("heading", name="This call cannot be run again")).to_be_visible()
    expect(page.get_by_text("Its messages were not recorded.")).to_be_visible()
    assert len(served.get("/threads")["data"]) == 1  # reading is not a tool call


@pytest.mark.slow
def test_failed_runs_are_shown_and_retried(page: Page, served: Served) -> None:
    experiment = _made(served)
    _open(page, served, experiment)
    served.provider.add(error(400, "the model is out of order"), _answer)
    page.get_by_role("button", name="Run…").click()
    page.get_by_label("Repeats").fill("2")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("2 of 2 runs, 1 failed")).to_be_visible()
    expect(page.get_by_text("out of order").first).to_be_visible()
    served.provider.add(_answer)
    page.get_by_role("button", name="Retry failed").click()
    expect(page.get_by_text("2 of 2 runs", exact=True)).to_be_visible()
    page.get_by_role("button", name="Repeat").click()
    page.get_by_role("option", name="1 of 2").click()
    output = page.get_by_role("article", name="Output of original")
    expect(output).to_contain_text("two operations")


def test_runs_are_cancelled_and_continued(page: Page, served: Served) -> None:
    experiment = _made(served)
    served.provider.add(_answer, Script(before=(Pause(),)))
    served.post(f"/experiments/{experiment}/batches", {"repeats": 2})
    page.goto(f"/experiments/{experiment}?tab=results")
    expect(page.get_by_text("1 of 2 runs")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("c")
    expect(page.get_by_text("cancelled")).to_be_visible()
    served.provider.add(_answer)
    page.keyboard.press("r")
    expect(page.get_by_text("2 of 2 runs")).to_be_visible()


def test_an_older_version_is_compared_with_and_restored(page: Page, served: Served) -> None:
    first = {"system": "Be short.", "parameters": {"temperature": 0.1}}
    second = {"system": "Be kind.", "parameters": {"temperature": None}, "model": "fake/m2"}
    experiment = _made(served, first, second)
    page.goto(f"/experiments/{experiment}?tab=history")
    newer = page.get_by_role("listitem").filter(has_text="v2")
    expect(newer).to_contain_text("messages[0]")
    expect(newer.get_by_text("fake/m → fake/m2")).to_be_visible()  # names are not truncated
    page.get_by_role("button", name="Restore v1").click()
    expect(page.get_by_text("Restored as version 3.")).to_be_visible()
    assert _newest(served, experiment)["messages"][0]["content"] == "Be short."
    assert _newest(served, experiment)["parameters"] == {"temperature": 0.1}
    page.get_by_role("tab", name="Request").click()
    page.keyboard.press("]")
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("version=2"))
    expect(page.get_by_text("Be kind.")).to_be_visible()


@pytest.mark.slow
def test_leaving_unsaved_changes_is_asked_for(page: Page, served: Served) -> None:
    experiment = _made(served)
    _open(page, served, experiment)
    page.get_by_label("Text of message 1").fill("Be short.")
    page.get_by_role("link", name="Threads").click()
    dialog = page.get_by_role("alertdialog")
    dialog.get_by_role("button", name="Stay").click()
    expect(page.get_by_label("Text of message 1")).to_have_value("Be short.")
    page.get_by_role("link", name="Threads").click()
    dialog.get_by_role("button", name="Save and leave").click()
    expect(page).to_have_url(re.compile("/threads"))
    assert _newest(served, experiment)["messages"][0]["content"] == "Be short."


def test_a_data_set_is_created_from_a_query_and_changed_as_a_whole(
    page: Page, served: Served
) -> None:
    _recorded(served, "What is a fold?")
    _recorded(served, "What is a lens?")
    _until(lambda: len(served.get("/spans", query="kind:model")["data"]) == 2)
    page.goto("/experiments")
    expect(page.get_by_role("heading", name="No experiments yet")).to_be_visible()
    page.keyboard.press("n")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_text("2 calls", exact=True)).to_be_visible()
    page.get_by_label("Text of message 1").fill("Be short.")
    page.get_by_role("button", name="Call").click()
    page.get_by_role("option", name="2 of 2").click()
    expect(page.get_by_label("Text of message 1")).to_have_value("Be short.")
    page.get_by_role("button", name="Save as v1").click()
    expect(page.get_by_text("Saved as version 1.")).to_be_visible()
    [listed] = served.get("/experiments")["data"]
    items = served.get(f"/experiments/{listed['id']}")["items"]
    assert [[each["content"] for each in item["current"]["messages"]] for item in items] == [
        ["Be short.", "What is a lens?"],
        ["Be short.", "What is a fold?"],
    ]


@pytest.mark.slow
def test_deleting_an_experiment_asks_first(page: Page, served: Served) -> None:
    _made(served)
    page.goto("/experiments")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("link", name=ASKED)).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="No experiments yet")).to_be_visible()
    assert served.get("/experiments")["data"] == []


def test_the_tools_of_the_analyst_act_on_the_open_page(page: Page, served: Served) -> None:
    experiment = _made(served)
    _open(page, served, experiment)
    read = _call(served, "get_experiment_data")
    assert read["experimentData"]["parameters"] == {"temperature": 0.7}

    page.get_by_label("Text of message 2").fill("What is a monad, in one word?")
    shown = _asked(served, "get_experiment_data")
    assert shown["experimentData"]["messages"][1]["content"] == "What is a monad, in one word?"
    assert shown["originalExperimentData"]["messages"][1]["content"] == ASKED
    cooler = {"parameters": {"temperature": 0}}
    applied = _allowed_call(served, "apply_experiment_data", data=cooler)
    assert applied["success"], applied
    expect(page.get_by_role("textbox", name="temperature")).to_have_value("0")
    expect(page.get_by_label("Text of message 2")).to_have_value("What is a monad, in one word?")
    expect(page.get_by_role("button", name="Save as v2")).to_be_visible()

    page.get_by_role("button", name="Save as v2").click()
    expect(page.get_by_text("Saved as version 2.")).to_be_visible()
    served.provider.add(*[_answer] * 4)
    ran = _allowed_call(served, "run_experiment", n=2)
    assert ran["success"], ran
    expect(page).to_have_url(re.compile("tab=results"))
    expect(page.get_by_text("4 of 4 runs")).to_be_visible()
    evaluated = _call(served, "evaluate_experiment_results")
    told = _asked(served, "evaluate_experiment_results")
    assert told["hasResults"]
    assert told["new"]["variant"] == evaluated["new"]["variant"] == "v2"
    assert told["comparison"]["verdict"] == evaluated["comparison"]["verdict"]

    page.get_by_role("link", name="Threads").click()
    _until(lambda: served.get("/ui")["experiment_id"] is None)


@pytest.mark.slow
def test_tools_see_runs_that_the_page_has_not_loaded(page: Page, served: Served) -> None:
    experiment = _made(served, {"system": "Be short."})
    page.add_init_script(_DEAF)
    _open(page, served, experiment)
    assert not _asked(served, "evaluate_experiment_results")["hasResults"]
    _run(served, experiment, 1, "original", "v1")
    assert _asked(served, "evaluate_experiment_results")["hasResults"]
    assert _asked(served, "get_experiment_data")["result"]["content"]


@pytest.mark.slow
def test_a_tool_never_overwrites_unsaved_changes(page: Page, served: Served) -> None:
    experiment = _made(served)
    _open(page, served, experiment)
    page.get_by_label("Text of message 1").fill("Mine.")
    applied = _allowed_call(served, "apply_experiment_data", data={"system": "Theirs."})
    assert applied["success"], applied  # the server has it; the page must report what it shows
    expect(page.get_by_text("Version 1 was saved elsewhere")).to_be_visible()
    expect(page.get_by_label("Text of message 1")).to_have_value("Mine.")
    page.get_by_role("button", name="Keep my changes").click()
    page.get_by_role("button", name="Save as v2").click()
    expect(page.get_by_text("Saved as version 2.")).to_be_visible()
    assert _newest(served, experiment)["messages"][0]["content"] == "Mine."


def _asked(served: Served, kind: str) -> dict[str, Any]:
    """What the page itself answers."""
    told = served.post("/ui/requests", {"request": {"type": kind}})
    assert told["answer"] is not None, told
    return dict(told["answer"])


def test_hostile_text_is_text(page: Page, served: Served) -> None:
    hostile = "<img src=x onerror=alert(1)> \u202eabc\x1b[31m " + "x" * 100_000
    experiment = _made(served, asked=hostile)
    _open(page, served, experiment)
    expect(page.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
    page.goto("/experiments")
    expect(page.get_by_role("link", name="<img src=x")).to_be_visible()
    page.goto(f"/experiments/{experiment}?edit=json")
    expect(page.get_by_label("The request as JSON")).to_be_visible()


@pytest.mark.parametrize(
    "dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_the_experiment_screen_is_accessible(browser: Browser, served: Served, dark: bool) -> None:
    experiment = _made(served, {"system": "Be short."})
    _run(served, experiment, 5, "original", "v1")
    for size in (WIDE, NARROW):
        with context_of(browser, served.address, size=size, dark=dark) as (page, _):
            for address in (
                "/experiments",
                "/experiments/new",
                f"/experiments/{experiment}",
                f"/experiments/{experiment}?edit=json",
                f"/experiments/{experiment}?tab=results",
                f"/experiments/{experiment}?tab=history",
            ):
                page.goto(address)
                page.wait_for_load_state("networkidle")
                assert serious_faults(page) == [], (address, size)
                width = page.evaluate("document.documentElement.scrollWidth")
                assert width <= size[0], (address, size)
            page.goto(f"/experiments/{experiment}")
            page.get_by_role("button", name="Run…").click()
            assert serious_faults(page) == [], ("run", size)


@pytest.mark.slow
def test_all_keys_are_listed(page: Page, served: Served) -> None:
    experiment = _made(served)
    _open(page, served, experiment)
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    for does in ("Save as a new version", "Run…", "Edit as a form or as JSON"):
        expect(keys.get_by_text(does)).to_be_visible()


@pytest.mark.slow
def test_a_missing_experiment_is_reported(page: Page, served: Served, faults: Faults) -> None:
    faults.expect("404")
    page.goto("/experiments/nope")
    expect(page.get_by_role("alert")).to_contain_text("The experiment could not be read")
    assert served.get("/experiments")["data"] == []
