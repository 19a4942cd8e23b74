import json
from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.spans.runs import REQUEST, run_events, span
from treadle.display.lines import one_line
from treadle.display.trace_html import html_page
from treadle.display.trace_tree import Symbol, trace_lines, trace_to_json, view_trace
from treadle.events import Envelope
from treadle.events.types import ToolCallRequested, Usage
from treadle.spans.event_mapper import EventMapper
from treadle.spans.forest import arrange
from treadle.spans.span import SpanEvent, SpanKind, SpanStatus, Trace
from treadle.visible import printable

START_US = 1_700_000_000_000_000


def recorded(events: int | None = None) -> Trace:
    mapper = EventMapper()
    spans = {}
    for seq, event in enumerate(run_events(started_us=START_US + 7_500_000)[:events]):
        for one in mapper.apply(Envelope(seq + 1, START_US + seq * 1_000_000, event)):
            spans[one.span_id] = one
    return Trace(REQUEST.hex, tuple(sorted(spans.values(), key=lambda one: one.start_us)))


def test_trace_is_shown_as_a_readable_tree() -> None:
    assert "\n".join(trace_lines(view_trace(recorded()))) == snapshot("""\
trace 01930000000070008000000000000001  ok  12.0 s  2023-11-14 22:13:20 UTC
thread 01930000-0000-7000-8000-0000000000aa

  +0.000 s   12.0 s  ✓ run  How are tool calls matched?
  +1.000 s             • prompt  2 messages, about 300 of 4000 tokens
  +2.000 s   1.00 s    ✗ model  small
                           error: 503 busy
  +4.000 s             • retry  attempt 2 in 0.5 s: 503
  +5.000 s   1.00 s    ✓ model  small → calls request_code_context
                           100 tokens in (40 cached), 10 out, $0.001000, first token 250 ms
  +7.000 s   2.00 s      ✓ request_code_context  token_budget: 4000, hint: calls → 1 item
  +7.500 s  30.0 ms        ✓ retrieval  “calls”, 1 source, 2 left out, 3,900 of 4,000 tokens
                               src/bus.py:120-160 EventBus.publish
                               searched an index of 120 files, 3,400 items
 +10.000 s   1.00 s    ✓ model  small → By the key of turn and slot.
                           100 tokens in (40 cached), 10 out, $0.001000, first token 250 ms

answer:
By the key of turn and slot.

3 model calls, 1 tool call, 1 failed, 200 tokens in (80 cached), 20 out, $0.002000\
""")


def test_header_and_json_have_the_user_and_the_release() -> None:
    root = replace(span("a", kind=SpanKind.RUN), user="alice\x1b[31m", release="1.4")
    trace = Trace("t", (root, span("b", "a")))
    header = list(trace_lines(view_trace(trace)))[:3]
    page = b"".join(html_page("trace t", [trace])).decode()
    whole = trace_to_json(trace)

    assert any(line.startswith("user alice") and line.endswith("release 1.4") for line in header)
    assert "\x1b" not in "".join(header)
    assert "· user alice" in page
    assert (whole["user"], whole["release"]) == (root.user, "1.4")


def test_incomplete_trace_is_shown_as_unfinished() -> None:
    view = view_trace(recorded(8))

    assert view.status is SpanStatus.UNFINISHED
    assert view.answer is None
    assert [row.symbol for row in view.rows if row.span_id][-1] is Symbol.UNFINISHED
    assert any("no end was recorded" in note for note in view.rows[-2].notes + view.rows[0].notes)


def test_json_has_the_whole_trace() -> None:
    trace = recorded()
    whole = json.loads(json.dumps(trace_to_json(trace)))

    assert whole["status"] == "ok"
    assert whole["totals"]["tokens"]["input"] == 200
    assert [one["span_id"] for one in whole["spans"]] == [one.span_id for one in trace.spans]
    assert whole["spans"][0]["events"][1]["name"] == "retry"
    assert whole["spans"][0]["cost"] is None


def test_a_span_that_is_its_own_parent_is_a_root_marked_cycle() -> None:
    (node,) = arrange([span("a", "a")])

    assert (node.depth, node.cycle) == (0, True)
    assert "cycle" in view_trace(Trace("t", (span("a", "a"),))).rows[0].notes[0]


def test_a_ring_is_opened_at_its_earliest_span_and_its_tail_hangs_below() -> None:
    ring = [
        span("tail", "c", start_us=1),
        span("b", "a", start_us=3),
        span("a", "c", start_us=2),
        span("c", "b", start_us=4),
    ]

    assert [(node.span_id, node.depth, node.cycle) for node in arrange(ring)] == [
        ("a", 0, True),
        ("b", 1, False),
        ("c", 2, False),
        ("tail", 3, False),
    ]


def test_children_of_a_parent_that_never_came_hang_below_a_node_for_it() -> None:
    nodes = arrange([span("one", "gone"), span("two", "gone"), span("root")])

    assert [(node.span_id, node.depth, node.span is None) for node in nodes] == [
        ("gone", 0, True),
        ("one", 1, False),
        ("two", 1, False),
        ("root", 0, False),
    ]
    assert [row.symbol for row in view_trace(Trace("t", (span("one", "gone"),))).rows] == [
        Symbol.MISSING,
        Symbol.OK,
    ]


NAMES = st.sampled_from("abcdefgh")


@given(st.dictionaries(NAMES, st.none() | NAMES, min_size=1), st.randoms(use_true_random=False))
def test_every_span_is_shown_once_whatever_the_parents_say(
    parents: dict[str, str | None], random: object
) -> None:
    spans = [span(name, parent, start_us=ord(name)) for name, parent in parents.items()]

    nodes = arrange(spans)

    assert sorted(node.span_id for node in nodes if node.span) == sorted(parents)
    assert len([node for node in nodes if node.span is None]) == len(
        {parent for parent in parents.values() if parent and parent not in parents}
    )


def test_chain_of_ten_thousand_spans_needs_no_recursion() -> None:
    chain = [
        span(str(number), str(number - 1) if number else None, start_us=number)
        for number in range(10_000)
    ]

    assert arrange(chain)[-1].depth == 9_999
    assert len(view_trace(Trace("t", tuple(chain))).rows) == 10_000


def test_later_root_does_not_name_the_trace() -> None:
    true = replace(span("true", start_us=5, kind=SpanKind.RUN), input="the question")
    trace = Trace("t", (replace(span("false", start_us=1), input="another"), true))

    assert trace_to_json(trace)["question"] == "the question"


def test_end_before_the_start_has_no_duration() -> None:
    (row,) = view_trace(Trace("t", (span("s", start_us=10, end_us=5),))).rows

    assert row.duration_us is None
    assert "clock skew" in row.notes[0]


def test_arguments_that_are_not_json_are_shown_unchanged() -> None:
    event = ToolCallRequested(
        request_id=UUID(int=1),
        key=next(e.key for e in run_events(started_us=0) if isinstance(e, ToolCallRequested)),
        call_id="",
        vendor="",
        name="grep",
        arguments='{"pattern": ',
    )
    (tool,) = EventMapper().apply(Envelope(1, 1, event))

    assert view_trace(Trace("t", (tool,))).rows[0].detail == '{"pattern": (invalid JSON)'


@given(st.text() | st.text(alphabet="\x1b[31m\u202e\ud800\r\n\t ab"))
def test_shown_text_cannot_control_the_terminal(text: str) -> None:
    shown = printable(text)
    line = one_line(text, 20)

    assert not {"\x1b", "\r", "\x9b", "\u202e", "\0", "\x07"} & set(shown)
    shown.encode()
    assert len(line) <= 20
    assert "\n" not in line


def test_unknown_figures_are_shown_as_unknown() -> None:
    models = (span("a", kind=SpanKind.MODEL), replace(span("b", kind=SpanKind.MODEL), cost=0.5))
    unknown = list(trace_lines(view_trace(Trace("t", models[:1]))))[-1]
    partly = list(trace_lines(view_trace(Trace("t", models))))[-1]

    assert unknown == "1 model call, 0 tool calls, tokens unknown, cost unknown"
    assert partly.endswith("$0.5000+ (without 1 call of unknown price)")


def test_reply_of_a_foreign_program_is_shown_as_text() -> None:
    replies = [
        {"role": "assistant", "content": [{"type": "text", "text": "It is sunny."}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]},
    ]
    said, called = (
        Trace("t", (replace(span("a", kind=SpanKind.MODEL), output=json.dumps([reply])),))
        for reply in replies
    )

    assert view_trace(said).rows[0].detail == "unknown model → It is sunny."
    assert view_trace(said).answer == "It is sunny."
    assert view_trace(called).rows[0].detail == "unknown model → calls search"
    assert not view_trace(called).answer


def test_messages_of_a_foreign_agent_are_shown_as_text() -> None:
    asked = json.dumps([{"role": "user", "content": "Is it sunny?"}])
    said = json.dumps([{"role": "assistant", "content": "It is sunny."}])
    root = replace(span("a", kind=SpanKind.AGENT), input=asked, output=said)
    view = view_trace(Trace("t", (root,)))

    assert (view.rows[0].detail, view.answer) == ("Is it sunny?", "It is sunny.")
    for output in ('{"sky": "sunny"}', '[{"sky": "sunny"}]', "[1, 2]"):
        assert view_trace(Trace("t", (replace(root, output=output),))).answer == output


def test_exception_that_is_the_error_of_its_span_is_shown_once() -> None:
    raised = {"exception.type": "ValueError", "exception.message": "no such city"}
    events = (
        SpanEvent(5, "exception", raised),
        SpanEvent(6, "exception", {**raised, "exception.message": "tried again"}),
    )
    failed = replace(span("a"), error="ValueError: no such city", events=events)
    rows = view_trace(Trace("t", (failed,))).rows

    assert rows[0].notes == ("error: ValueError: no such city",)
    assert [row.detail for row in rows[1:]] == ["ValueError: tried again"]


def test_arguments_of_a_tool_are_shown_as_names_and_values() -> None:
    call = replace(span("a", kind=SpanKind.TOOL), input='{"city": "Oslo", "days": 3}')
    assert view_trace(Trace("t", (call,))).rows[0].detail == "city: Oslo, days: 3"
    text = replace(call, input="the weather in Oslo")
    assert view_trace(Trace("t", (text,))).rows[0].detail == "the weather in Oslo"


def test_events_are_shown_in_order_of_time() -> None:
    root = replace(
        span("root", start_us=0, kind=SpanKind.RUN),
        events=(SpanEvent(15, "notice", {"level": "info", "text": "x"}), SpanEvent(99, "end")),
        tokens=Usage(),
    )
    rows = view_trace(
        Trace("t", (root, span("a", "root", start_us=10), span("b", "root", start_us=20)))
    ).rows

    assert [(row.name, row.depth) for row in rows] == [
        ("run", 0),
        ("work a", 1),
        ("notice", 1),
        ("work b", 1),
        ("end", 1),
    ]
