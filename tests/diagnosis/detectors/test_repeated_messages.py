"""A failure is reported at its first occurrence, with the spans that only repeat it."""

import json
import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.diagnosis.detectors.spans import assistant, calls, model, result, tool, user
from treadle.diagnosis.detectors import Finding, Kind, detect
from treadle.diagnosis.evidence import SpanReference, holds
from treadle.spans.span import Span, SpanKind, SpanStatus

FAILED = '{"ok": false, "error": "The service is down."}'


def conversation(
    contents: list[str], *, with_tools: bool, ids: list[str] | None = None
) -> list[Span]:
    """A session that calls one tool repeatedly and sends its whole history each time."""
    history = [user("What is the weather?")]
    spans: list[Span] = []
    for number, content in enumerate(contents):
        call_id = ids[number] if ids else f"call-{number}"
        asked = calls(("get_weather", json.dumps({"try": number})), ids=[call_id])
        spans.append(model(list(history), [asked]))
        if with_tools:
            spans.append(tool(content))
        history += [asked, result(content, call_id)]
    for _ in range(3):
        spans.append(model(list(history)))
        history += [assistant("Fine."), user("And now?")]
    return [
        replace(span, span_id=f"s{number}", start_us=1_000 * number)
        for number, span in enumerate(spans)
    ]


def told(spans: list[Span]) -> list[tuple[str, str, int]]:
    """The first span of each finding, and the number of repeats. All quotes are verified."""
    findings = detect(spans)
    by_id = {span.span_id: span for span in spans}
    assert all(holds(each.evidence, by_id[each.evidence.span.span_id]) for each in findings)
    return [
        (each.evidence.span.span_id, each.evidence.field, len(each.also_in)) for each in findings
    ]


def test_failed_message_in_every_request_is_reported_once() -> None:
    spans = conversation([FAILED], with_tools=False)
    (found,) = detect(spans)
    assert found.kind is Kind.FAILED_RESULT
    assert (found.evidence.span.span_id, found.evidence.field) == ("s1", "input[2].content.error")
    assert found.also_in == (SpanReference("t", "s2"), SpanReference("t", "s3"))
    assert found.repeats == "also in 2 later requests"


def test_finding_is_at_the_span_of_the_tool() -> None:
    assert told(conversation([FAILED], with_tools=True)) == [("s1", "output.error", 3)]


def test_failure_that_occurs_twice_is_two_findings() -> None:
    assert told(conversation([FAILED, "4 degrees", FAILED], with_tools=True)) == [
        ("s1", "output.error", 5),
        ("s5", "output.error", 3),
    ]
    assert told(conversation([FAILED, FAILED], with_tools=False)) == [
        ("s1", "input[2].content.error", 3),
        ("s2", "input[4].content.error", 2),
    ]


def test_ids_of_calls_may_be_empty_or_used_twice() -> None:
    for ids in (["", ""], ["same", "same"], ["a", "b"]):
        spans = conversation([FAILED, FAILED], with_tools=True, ids=ids)
        assert [place[0] for place in told(spans)] == ["s1", "s3"]


def test_equal_json_is_the_same_message() -> None:
    spans = conversation([FAILED], with_tools=True)
    spaced = json.dumps(json.dumps(json.loads(FAILED), indent=2))[1:-1]
    compact = json.dumps(FAILED)[1:-1]
    changed = [
        span if span.input is None else replace(span, input=span.input.replace(compact, spaced))
        for span in spans
    ]
    assert changed != spans
    assert told(changed) == [("s1", "output.error", 3)]


def test_error_of_a_span_without_a_result_is_the_same_failure() -> None:
    # Treadle's own recorder stores the error in the span, and the message in the history.
    spans = conversation([FAILED, FAILED], with_tools=True)
    changed = [
        replace(span, output=None, status=SpanStatus.ERROR, error="The service is down.")
        if span.kind is SpanKind.TOOL
        else span
        for span in spans
    ]
    assert told(changed) == [("s1", "error", 4), ("s3", "error", 3)]
    other = [replace(span, error="Another.") if span.error else span for span in changed]
    assert [place[0] for place in told(other)] == ["s1", "s2", "s3", "s4"]


def test_plain_text_is_followed_as_well() -> None:
    text = "Error: get_weather failed with timeout"
    assert told(conversation([text], with_tools=True)) == [("s1", "output", 3)]


def test_fault_of_a_later_span_is_reported_there() -> None:
    whole = conversation([FAILED], with_tools=True)
    assert told(whole[3:]) == [("s3", "input[2].content.error", 1)]


def test_next_run_of_a_thread_repeats_messages() -> None:
    first = conversation([FAILED], with_tools=True)
    later = [replace(span, trace_id="t2", start_us=span.start_us + 1_000_000) for span in first[2:]]
    (found,) = detect([*first, *later])
    assert [reference.trace_id for reference in found.also_in] == ["t", "t", "t", "t2", "t2", "t2"]


def test_invalid_arguments_in_reply_and_tool_are_reported_once() -> None:
    reply = model([user("?")], [calls(("get_weather", "{city: Oslo}"))])
    called = tool("4 degrees", arguments="{city: Oslo}")
    spans = [replace(reply, span_id="a", start_us=1), replace(called, span_id="b", start_us=2)]
    (found,) = detect(spans)
    assert found.kind is Kind.INVALID_ARGUMENTS
    assert _span_ids(found) == ("a", "b")


def test_call_without_a_result_is_reported_once() -> None:
    history = [user("?"), calls(("f", "{}"), ("g", "{}")), result("1")]
    spans = [
        replace(model([*history, user(text)]), span_id=text, start_us=number)
        for number, text in enumerate("abc")
    ]
    (found,) = detect(spans)
    assert found.kind is Kind.UNANSWERED_CALL
    assert found.evidence.quote == "g"
    assert _span_ids(found) == ("a", "b", "c")


@given(
    st.lists(st.sampled_from([FAILED, "ok", "Error: disk is full"]), max_size=5),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_order_of_arrival_does_not_matter(
    contents: list[str], with_tools: bool, order: random.Random
) -> None:
    spans = conversation(contents, with_tools=with_tools)
    findings: tuple[Finding, ...] = detect(spans)
    shuffled = list(spans)
    order.shuffle(shuffled)
    assert detect(shuffled) == findings
    assert len(findings) == sum(content != "ok" for content in contents)


def _span_ids(finding: Finding) -> tuple[str, ...]:
    return tuple(each.span_id for each in (finding.evidence.span, *finding.also_in))
