"""Traces as HTML pages."""

import json
from dataclasses import replace
from html.parser import HTMLParser

from tests.spans.runs import span
from treadle.display.trace_html import html_page
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanKind, SpanStatus, Trace

START = 1_900_000_800_000_000
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[31m"
VOID = {"meta", "br", "img"}


class Page(HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def call(number: int, messages: list[dict[str, str]], **more: object) -> Span:
    made = replace(
        span(f"call{number}", "root", start_us=START + number, end_us=START + number + 1_000_000),
        kind=SpanKind.MODEL,
        operation="chat",
        model="small",
        status=SpanStatus.OK,
        input=json.dumps(messages),
        output=json.dumps([{"role": "assistant", "content": f"reply {number}"}]),
        tokens=Usage(input=1_000, output=20),
        cost=0.25,
    )
    return replace(made, **more)  # type: ignore[arg-type]  # fields by name


def page_of(*traces: Trace, name: str = "trace one") -> Page:
    return Page(b"".join(html_page(name, traces)).decode())


def root(**more: object) -> Span:
    made = replace(
        span("root", start_us=START, end_us=START + 2_000_000), kind=SpanKind.RUN, input="Why?"
    )
    return replace(made, **more)  # type: ignore[arg-type]  # fields by name


def test_page_shows_times_tokens_cost_and_folded_contents() -> None:
    user = {"role": "user", "content": "a question"}
    page = page_of(Trace("one", (root(output="Because."), call(1, [user]))))

    assert "1.00 s · 1,000 tokens in, 20 out · $0.2500" in page.text
    assert "a question" in page.text
    assert "reply 1" in page.text
    assert "Because." in page.text
    folded = [attributes for tag, attributes in page.elements if tag == "details"]
    assert len(folded) == 6
    assert not any("open" in attributes for attributes in folded)
    assert page.open == []


def test_foreign_text_is_escaped_everywhere() -> None:
    spans = (
        root(input=HOSTILE, output=HOSTILE, error=HOSTILE, status=SpanStatus.ERROR),
        call(1, [{"role": "user", "content": HOSTILE}], model=HOSTILE, error=HOSTILE),
        replace(
            span("<b>", "root", start_us=START + 5),
            kind=SpanKind.TOOL,
            name=HOSTILE,
            input=HOSTILE,
            output="lone \ud800",
        ),
    )
    page = page_of(Trace(HOSTILE, spans), name=HOSTILE)

    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "b"})
    assert not [name for _, attributes in page.elements for name in attributes if name[:2] == "on"]
    assert "\x1b" not in page.text
    assert "<script>alert(1)</script>" in page.text
    assert page.open == []


def test_page_loads_no_other_resource() -> None:
    page = page_of(Trace("one", (root(), call(1, [{"role": "user", "content": "http://x.test"}]))))

    assert {tag for tag, _ in page.elements}.isdisjoint({"link", "script", "iframe", "object"})
    assert not [a for _, attributes in page.elements for a in attributes if a == "src"]
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert all(link is not None and link.startswith("#") for link in links)
    policies = [a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_repeated_messages_are_shown_once_with_a_link_to_the_earlier_call() -> None:
    first = {"role": "user", "content": "only once"}
    second = {"role": "user", "content": "and then"}
    page = page_of(Trace("one", (root(), call(1, [first]), call(2, [first, second]))))

    assert page.text.count("only once") == 1
    assert page.text.count("and then") == 1
    (link,) = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert link is not None
    assert link.removeprefix("#") in [attributes.get("id") for _, attributes in page.elements]


def test_thread_has_a_section_for_each_run() -> None:
    runs = (Trace("one", (root(),)), Trace("two", (root(input="And?"),)))
    page = page_of(*runs, name="thread 7")

    assert [tag for tag, _ in page.elements].count("section") == 2
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids) == 2
