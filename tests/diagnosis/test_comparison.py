"""Comparisons of traces, step by step."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.spans.runs import span
from treadle.diagnosis.comparison import compare
from treadle.diagnosis.comparison_records import Aspect, TraceComparison
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanKind, SpanStatus, Trace
from treadle.traces.subjects import Subject, SubjectKind

A, B = Subject(SubjectKind.RUN, "a"), Subject(SubjectKind.RUN, "b")
START = 1_900_000_800_000_000
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather?"}]


def step(number: int, kind: SpanKind, name: str, **more: Any) -> Span:
    start = START + number * 1_000_000
    made = replace(
        span(f"s{number}", "root", start_us=start, end_us=start + 500_000),
        kind=kind,
        operation="chat" if kind is SpanKind.MODEL else "execute_tool",
        name=name if kind is SpanKind.MODEL else f"execute_tool {name}",
        status=SpanStatus.OK,
    )
    return replace(made, **more)


def call(number: int, messages: Sequence[object], reply: str, **more: Any) -> Span:
    values = {
        "input": json.dumps(messages),
        "output": json.dumps([{"role": "assistant", "content": reply}]),
        "model": "small",
        "tokens": Usage(input=100, output=10),
        "cost": 0.5,
        **more,
    }
    return step(number, SpanKind.MODEL, "chat", **values)


def tool(number: int, name: str, **more: Any) -> Span:
    return step(number, SpanKind.TOOL, name, **more)


def trace(*spans: Span) -> Trace:
    root = replace(
        span("root", start_us=START, end_us=START + 9_000_000),
        kind=SpanKind.RUN,
        status=SpanStatus.OK,
        input="Weather?",
    )
    return Trace("t", (root, *spans))


def compared(a: Trace, b: Trace) -> TraceComparison:
    return compare(A, [a], B, [b])


def test_additional_step_does_not_move_the_steps_after_it() -> None:
    a = trace(call(1, ASKED, "x"), tool(2, "weather"), call(3, ASKED, "y"))
    b = trace(call(1, ASKED, "x"), tool(2, "search"), tool(3, "weather"), call(4, ASKED, "y"))

    steps = compared(a, b).steps

    assert [(s.name, s.a is not None, s.b is not None) for s in steps[1:]] == [
        ("chat", True, True),
        ("search", False, True),
        ("weather", True, True),
        ("chat", True, True),
    ]
    assert [s.changes for s in steps] == [(), (), (), (), ()]


def test_differences_of_figures_and_texts_are_stated() -> None:
    a = trace(call(1, ASKED, "It rains.\nBring a coat."))
    b = trace(
        call(
            1,
            [{"role": "system", "content": "Be long."}, ASKED[1]],
            "It rains.\nBring an umbrella.",
            model="large",
            tokens=Usage(input=120, output=10),
            cost=0.75,
        )
    )

    (changed,) = [s for s in compared(a, b).steps if s.kind is SpanKind.MODEL]

    assert set(changed.changes) == {
        Aspect.MODEL,
        Aspect.TOKENS,
        Aspect.COST,
        Aspect.INPUT,
        Aspect.OUTPUT,
    }
    texts = {text.aspect: text.lines for text in changed.texts}
    assert {"-Be brief.", "+Be long.", " [user]"} <= set(texts[Aspect.INPUT])
    assert {" It rains.", "-Bring a coat.", "+Bring an umbrella."} <= set(texts[Aspect.OUTPUT])


def test_difference_of_an_early_message_is_stated_once() -> None:
    other = [{"role": "user", "content": "Wind?"}]
    more = [{"role": "user", "content": "Thanks."}]
    a = trace(call(1, ASKED, "x"), call(2, [*ASKED, *more], "y"))
    b = trace(call(1, other, "x"), call(2, [*other, *more], "y"))

    changes = [s.changes for s in compared(a, b).steps if s.kind is SpanKind.MODEL]

    assert changes == [(Aspect.INPUT,), ()]


def test_failed_call_and_numbers_of_tool_calls_differ() -> None:
    a = trace(tool(1, "weather"))
    b = trace(tool(1, "weather", status=SpanStatus.ERROR, error="no such city"), tool(2, "weather"))

    comparison = compared(a, b)

    assert [(each.name, each.a, each.b) for each in comparison.tools] == [("weather", 1, 2)]
    assert Aspect.STATUS in comparison.steps[1].changes
    assert Aspect.ERROR in comparison.steps[1].changes
    assert comparison.steps[2].a is None


def test_sides_have_the_sums_of_all_their_traces() -> None:
    one = trace(call(1, ASKED, "x"))
    comparison = compare(A, [one], B, [one, one])

    assert comparison.a.totals.cost == 0.5
    assert comparison.b.totals.cost == 1.0
    assert comparison.b.totals.tokens.input == 200
    assert comparison.b.totals.model_calls == 2
    assert comparison.a.duration_us == 9_000_000


def test_many_steps_are_paired_by_position() -> None:
    a = trace(*(tool(n, "left" if n % 2 else "both") for n in range(1, 3_001)))
    b = trace(*(tool(n, "right" if n % 2 else "both") for n in range(1, 3_001)))

    steps = compared(a, b).steps

    assert sum(s.a is not None and s.b is not None for s in steps) == 1_501
    assert len(steps) == 4_501


def test_summary_states_the_most_important_differences_in_one_line() -> None:
    a = trace(call(1, ASKED, "It rains."))
    b = trace(call(1, ASKED, "Sun."), tool(2, "weather"), tool(3, "weather"))
    b = replace(
        b,
        spans=tuple(
            replace(each, model="large", cost=0.504) if each.kind is SpanKind.MODEL else each
            for each in b.spans
        ),
    )
    end = b.spans[0].end_us
    assert end is not None
    b = replace(b, spans=(replace(b.spans[0], end_us=end + 1_200_000), *b.spans[1:]))

    assert compared(a, b).summary == (
        "Same question. Model large instead of small, 2 more tool calls, +1.20 s, +$0.004000, "
        "other answer."
    )


def test_summary_states_another_release_and_another_system_message() -> None:
    a = trace(call(1, ASKED, "It rains.", release="1.4"))
    instructed = [{"role": "system", "content": "Explain."}, *ASKED[1:]]
    b = trace(call(1, instructed, "It rains.", release="1.5"))

    comparison = compared(a, b)
    assert (comparison.a.releases, comparison.b.releases) == (("1.4",), ("1.5",))
    assert comparison.summary.startswith(
        "Same question. Release 1.5 instead of 1.4, other system message"
    )
    assert "other system message" not in compared(a, a).summary
    assert compared(a, trace(call(1, ASKED, "Sun."))).same_instructions is True


def test_summary_of_one_run_with_itself_states_that_it_is_the_same() -> None:
    one = trace(call(1, ASKED, "x"))

    comparison = compare(A, [one], A, [one])

    assert comparison.summary == "A and B are the same run."
    assert not any(s.changes for s in comparison.steps)


def test_differences_of_endless_texts_are_cut() -> None:
    a = trace(*(tool(n, "read", output="x " * 9_000) for n in range(1, 4)))
    b = trace(*(tool(n, "read", output="y " * 9_000) for n in range(1, 4)))

    for changed in compared(a, b).steps[1:]:
        (text,) = changed.texts
        assert text.cut
        assert max(map(len, text.lines)) <= 4_000


def test_arguments_of_a_tool_are_compared_as_a_whole() -> None:
    a = trace(tool(1, "read", input='{"text": "x", "limit": 10}'))
    b = trace(tool(1, "read", input='{"text": "x", "limit": 20}'))

    (change,) = compared(a, b).steps[1].texts

    assert change.lines[-3:] == ('-  "limit": 10', '+  "limit": 20', " }")


def test_messages_of_an_agent_are_compared_without_the_syntax_of_json() -> None:
    def agent(text: str) -> Span:
        asked = json.dumps([{"role": "user", "content": text}])
        return replace(step(1, SpanKind.AGENT, "helper"), input=asked)

    (change,) = compared(trace(agent("one\ntwo")), trace(agent("one\nthree"))).steps[1].texts

    assert change.lines[-2:] == ("-two", "+three")
