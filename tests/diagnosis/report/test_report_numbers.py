"""Every number of a report, checked against traces that were written by hand."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.report.spans import BEGIN, MS, model, run, span, stored, tool
from treadle.diagnosis.detectors import Severity
from treadle.diagnosis.quote_verification import verify_answer
from treadle.diagnosis.report import Cause, Focus, Report, Suspect, analyse, render
from treadle.diagnosis.report.model import NamedSpan, Value
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanEvent, SpanKind, SpanStatus
from treadle.traces.query import Query

ERROR = SpanStatus.ERROR


def _report(folder: Path, *spans: Span, focus: Focus = Focus.EVERYTHING) -> Report:
    with stored(folder, spans) as store:
        return analyse(store, Query(), focus=focus, now_us=0)


def _tables(report: Report) -> Mapping[str, list[tuple[Value, ...]]]:
    """The rows of each table. A span is its name."""
    return {
        table.title.partition(" (")[0]: [
            tuple(each.name if isinstance(each, NamedSpan) else each for each in row)
            for row in table.rows
        ]
        for table in report.tables
    }


def _issue(report: Report, span_id: str) -> Suspect:
    return next(each for each in report.issues if each.span.span_id == span_id)


def _reply(span_id: str, at: int, ms: int | None, output: int | None, **rest: Any) -> Span:
    tokens = Usage(1_000, output) if output is not None else Usage()
    return model(span_id, at=at, ms=ms, tokens=tokens, **rest)


def test_figures_and_tables_of_a_small_trace(tmp_path: Path) -> None:
    spans = [
        run(1_000, input="?", output="!"),
        _reply("m1", 0, 300, 30, cost=0.02, time_to_first_token_us=100 * MS),
        tool("t1", {"order": 1}, at=300, ms=100),
        tool("t2", None, at=400, ms=200, status=ERROR, error="timed out"),
        _reply("m2", 600, 400, 70, cost=0.03, time_to_first_token_us=200 * MS),
    ]
    report = _report(tmp_path, *spans)
    figures = {each.name: each.value for each in report.figures}
    assert figures == {
        "runs": 1,
        "successful runs": 1,
        "failed runs": 0,
        "duration of a run, p50": 1_000 * MS,
        "duration of a run, p95": 1_000 * MS,
        "duration of a run, p99": 1_000 * MS,
        "model calls": 2,
        "tool calls": 2,
        "failed calls": 1,
        "time to first token, p50": 100 * MS,
        "time to first token, p95": 200 * MS,
        "time to first token, p99": 200 * MS,
        "input tokens": 2_000,
        "output tokens": 100,
        "cost": 0.05,
        "cost of a successful run": 0.05,
        "spans": 5,
        "time from first start to last end": 1_000 * MS,
    }
    assert report.summary == (
        "1 run with 2 model calls and 2 tool calls (1 failed) cost $0.0500.",
        "The first span began at 2026-09-21 14:13 UTC, and the last span ended 1.00 s later.",
    )
    tables = _tables(report)
    assert tables["Tools"] == [("get_order", 2, 1, 100 * MS, 200 * MS)]
    assert tables["Models"] == [("large", 2, 2_000, 100, 0.05, 300 * MS, 400 * MS)]
    assert tables["What the longest trace waited for"] == [
        ("chat large", 2, 700 * MS, 0.7),
        ("execute_tool get_order", 2, 300 * MS, 0.3),
    ]
    assert tables["Time of spans by name, without the time of their children"] == [
        ("chat large", 2, 700 * MS, 0.7),
        ("execute_tool get_order", 2, 300 * MS, 0.3),
        ("answer", 1, 0, 0),
    ]


def test_arguments_by_position_are_not_faults(tmp_path: Path) -> None:
    named = [tool(f"n{n}", f"{n}", at=20 * n, arguments={"city": f"C{n}"}) for n in range(8)]
    by_position = [
        tool("list", "3", at=200, arguments=["Oslo"]),
        tool("call", "3", at=220, arguments={"args": ["Rome"], "kwargs": {}}),
        tool("words", "3", at=240, arguments={"args": [], "kwargs": {"city": "Bern"}}),
    ]
    assert _report(tmp_path, run(1_000), *named, *by_position).issues == ()


def test_replies_are_compared_by_the_time_for_an_output_token(tmp_path: Path) -> None:
    # 10 ms for a token, whatever the length, and once 50 ms.
    spans = [_reply(f"m{n}", 10_000 * n, 1_000 * (n + 1), 100 * (n + 1)) for n in range(6)]
    slow = _reply("slow", 70_000, 20_000, 400)
    report = _report(tmp_path, run(100_000), *spans, slow, focus=Focus.PERFORMANCE)
    issue = _issue(report, "slow")
    assert issue.kind is Cause.SLOW_STEP
    assert issue.why[0] == (
        'It took 50.0 ms for each output token. The median of 7 replies of "large" is 10.0 ms. With'
        " 400 tokens, it took 20.0 s. That is 20% of the duration of its trace."
    )
    title = "Spans that took far longer than similar spans"
    row = ("chat large", 20_000 * MS, "time per token", 50 * MS, 10 * MS, 7)
    assert _tables(report)[title] == [row]
    assert len(report.issues) == 1


def test_replies_of_other_models_are_not_compared(tmp_path: Path) -> None:
    fast = [_reply(f"f{n}", 100 * n, 100, 100, model_name="small") for n in range(8)]
    slow = [_reply(f"s{n}", 5_000 + 2_000 * n, 1_500, 100) for n in range(3)]
    report = _report(tmp_path, run(20_000), *fast, *slow)
    assert not [each for each in report.issues if each.kind is Cause.SLOW_STEP]


def test_short_reply_is_not_slow(tmp_path: Path) -> None:
    spans = [_reply(f"m{n}", 3_000 * n, 1_400, 100) for n in range(8)]
    short = _reply("short", 30_000, 420, 2)
    assert _report(tmp_path, run(40_000), *spans, short).issues == ()


@pytest.mark.parametrize("kind", [SpanKind.MODEL, SpanKind.TOOL])
def test_failed_call_is_not_slow(tmp_path: Path, kind: SpanKind) -> None:
    if kind is SpanKind.MODEL:
        spans = [_reply(f"m{n}", 3_000 * n, 1_000, 100) for n in range(8)]
        failed = _reply("failed", 30_000, 60_000, None, status=ERROR, error="timed out")
    else:
        spans = [tool(f"t{n}", f"{n}", at=3_000 * n, ms=1_000) for n in range(8)]
        failed = tool("failed", None, at=30_000, ms=60_000, status=ERROR, error="timed out")
    report = _report(tmp_path, run(100_000, status=ERROR), *spans, failed)
    issue = _issue(report, "failed")
    assert issue.kind is Cause.FAILED_CALL
    assert issue.why == (
        'The span ended with an error: "timed out".',
        "The span around it ended with an error too.",
    )


def test_own_time_is_compared_with_similar_spans(tmp_path: Path) -> None:
    spans = [tool(f"t{n}", f"{n}", at=200 * n, ms=100) for n in range(7)]
    slow = tool("slow", "7", at=2_000, ms=3_000)
    issue = _issue(_report(tmp_path, run(10_000), *spans, slow), "slow")
    (why,) = issue.why
    assert why == (
        "The median of 8 similar spans is 100 ms. The own time of this span is 3.00 s. That is 30%"
        " of the duration of its trace."
    )


def test_dominating_step_names_the_next_one(tmp_path: Path) -> None:
    spans = [
        tool("a", "x", at=0, ms=18_000),
        tool("b", "y", at=18_000, ms=2_000, tool_name="other"),
    ]
    issue = _issue(_report(tmp_path, run(20_000), *spans), "a")
    assert issue.severity is Severity.MEDIUM
    assert issue.why == (
        (
            "Its trace waited 18.0 s for this span, which is 90% of the duration of the trace. The"
            " second longest wait was 2.00 s. There are too few similar spans for a comparison."
        ),
    )


@pytest.mark.parametrize("ms", [900, 9_000])
def test_step_that_always_takes_long_does_not_dominate(tmp_path: Path, ms: int) -> None:
    traces: list[Span] = []
    for n in range(1 if ms == 900 else 3):
        trace: dict[str, Any] = {"trace_id": f"t{n}", "parent_id": f"run{n}"}
        traces += [
            span(f"run{n}", kind=SpanKind.RUN, name="answer", ms=ms + 100, trace_id=f"t{n}"),
            tool(f"crawl{n}", f"{n}", ms=ms, tool_name="crawl", **trace),
            tool(f"other{n}", f"{n}", at=ms, ms=100, tool_name="other", **trace),
        ]
    assert _report(tmp_path, *traces).issues == ()


def test_only_step_of_a_trace_does_not_dominate_it(tmp_path: Path) -> None:
    assert _report(tmp_path, _reply("only", 0, 9_000, 100, parent_id=None)).issues == ()


def test_cost_is_compared_with_similar_calls(tmp_path: Path) -> None:
    calls = [model(f"m{n}", at=20 * n, cost=0.01) for n in range(9)]
    calls.append(model("costly", at=400, cost=0.91, tokens=Usage(9_000, 500)))
    issue = _issue(_report(tmp_path, run(1_000), *calls, focus=Focus.COST), "costly")
    assert issue.why == (
        (
            'It cost $0.9100. The median of 10 calls of "large" with the same instructions is'
            " $0.0100."
        ),
        "It has 9,000 input and 500 output tokens, and its cost is 91% of the total.",
    )


def test_other_model_is_compared_by_name_without_instructions(tmp_path: Path) -> None:
    asked = json.dumps([{"role": "user", "content": "?"}])
    names = [*["large"] * 5, "other"]
    calls = [
        span(f"m{n}", "run", at=20 * n, kind=SpanKind.MODEL, name="chat", model=name, input=asked)
        for n, name in enumerate(names)
    ]
    issue = _issue(_report(tmp_path, run(1_000), *calls), "m5")
    assert issue.why[0] == (
        'The model of this call is "other". 5 of 6 calls of the same name use "large".'
    )


def test_failure_that_reaches_outer_spans_counts_once(tmp_path: Path) -> None:
    failed: dict[str, Any] = {"status": ERROR, "error": "no order 99"}
    spans: list[Span] = []
    for n in range(3):
        trace: dict[str, Any] = {"trace_id": f"t{n}"}
        spans += [
            span(f"run{n}", kind=SpanKind.RUN, name="run", ms=500, **failed, **trace),
            span(f"a{n}", f"run{n}", kind=SpanKind.AGENT, name="a", ms=400, **failed, **trace),
            tool(f"t{n}", None, parent_id=f"a{n}", ms=300, **failed, **trace),
        ]
    report = _report(tmp_path, *spans)
    (issue,) = report.issues
    assert (issue.name, len(issue.also)) == ("execute_tool get_order", 2)
    assert issue.why == (
        'The span ended with an error: "no order 99".',
        "The 2 spans around it ended with errors too.",
    )
    assert "and 2 more like it: " in render(report)


def test_spans_are_links_and_the_summary_comes_first(tmp_path: Path) -> None:
    evil = "a](http://evil.example) | b"
    spans = [run(1_000), tool("t", None, tool_name=evil, status=ERROR, error="timed out")]
    with stored(tmp_path, spans) as store:
        text = render(analyse(store, Query(), now_us=0))
        assert verify_answer(text, store).dropped == ()
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles[:3] == ["## Summary", "## Issues", "## Recommendations"]
    name = r'"execute_tool a\](http://evil.example) \| b"'
    assert f"1. **failed call** (high) at [{name}](/traces/t1?span=t): " in text
    assert f": [{name}](/traces/t1?span=t)." in text


def test_runs_are_counted_by_their_outcomes(tmp_path: Path) -> None:
    statuses = [*[SpanStatus.OK] * 15, ERROR, ERROR, SpanStatus.CANCELLED, SpanStatus.UNFINISHED]
    spans: list[Span] = []
    for n, status in enumerate(statuses):
        trace: dict[str, Any] = {"trace_id": f"t{n}"}
        ms = None if status is SpanStatus.UNFINISHED else 10 * (n + 1)
        parent = span(f"r{n}", kind=SpanKind.RUN, name="answer", ms=ms, status=status, **trace)
        call = _reply(f"m{n}", 0, 10, 10, parent_id=f"r{n}", cost=0.01, **trace)
        spans += [parent, call]
    spans[1] = replace(spans[1], tokens=Usage(1_000, 10, 500), cost=None)
    report = _report(tmp_path, *spans)
    figures = {each.name: (each.value, each.n) for each in report.figures}
    assert figures["runs"] == (19, None)
    assert figures["successful runs"] == (15, None)
    assert figures["failed runs"] == (2, None)
    assert figures["duration of a run, p50"] == (90 * MS, 18)
    assert figures["duration of a run, p95"] == (180 * MS, 18)
    assert figures["cost of a successful run"][0] == pytest.approx(0.18 / 15)
    assert figures["input tokens from caches"] == (500 / 19_000, None)
    assert report.summary[0] == (
        "19 runs (2 failed, 1 cancelled, 1 unfinished) with 19 model calls cost $0.1800, without 1"
        " call of unknown price."
    )


def test_report_without_a_fault_says_so_first(tmp_path: Path) -> None:
    text = render(_report(tmp_path, run(1_000), _reply("m", 0, 900, 90)))
    assert text.startswith("## Summary\n\n**No fault was found.**\n\n1 run with 1 model call cost")
    assert [line for line in text.splitlines() if line.startswith("##")] == [
        "## Summary", "## Numbers", "## Breakdown",
    ]  # fmt: skip
    assert "time to first token" not in text
    assert "caches" not in text


def test_minor_issues_are_not_called_the_main_issue(tmp_path: Path) -> None:
    asked = {"order_id": "O-1"}
    failed = tool("one", None, at=10, arguments=asked, status=ERROR, error="HTTP 503")
    text = render(_report(tmp_path, run(1_000), failed, tool("two", "3", at=30, arguments=asked)))
    assert "**No serious fault was found.** The issues below are minor." in text


def test_cancelled_run_is_not_a_fault(tmp_path: Path) -> None:
    cancelled: dict[str, Any] = {"status": SpanStatus.CANCELLED}
    event = SpanEvent(0, "exception", {"exception.type": "CancelledError", "exception.message": ""})
    call = replace(_reply("m", 0, 900, None, **cancelled), events=(event,))
    assert _report(tmp_path, run(1_000, **cancelled), call).issues == ()


def test_stop_by_a_guardrail_is_minor(tmp_path: Path) -> None:
    name = "agents.exceptions.InputGuardrailTripwireTriggered"
    event = SpanEvent(0, "exception", {"exception.type": name, "exception.message": "no PII"})
    report = _report(tmp_path, replace(run(1_000, status=ERROR), events=(event,)))
    (issue,) = report.issues
    assert (issue.kind, issue.severity) == (Cause.STOPPED_RUN, Severity.LOW)
    assert issue.why == (
        (
            "A guardrail stopped it. The span ended with the exception"
            ' InputGuardrailTripwireTriggered: "no PII".'
        ),
    )


def test_exception_without_a_message_is_named_by_its_type(tmp_path: Path) -> None:
    event = SpanEvent(0, "exception", {"exception.type": "TimeoutError", "exception.message": ""})
    failed = replace(tool("t", None, status=ERROR), events=(event,))
    issue = _issue(_report(tmp_path, run(1_000), failed), "t")
    assert issue.why[0] == 'The span ended with the exception TimeoutError: "TimeoutError".'


def test_different_failures_of_a_tool_are_different_issues(tmp_path: Path) -> None:
    texts = ["timed out", "no order 7", "no order 8"]
    calls = [
        tool(f"t{n}", None, at=20 * n, status=ERROR, error=text, arguments={"n": n * 1_000})
        for n, text in enumerate(texts)
    ]
    report = _report(tmp_path, run(1_000), *calls)
    assert [(each.evidence[0].quote, len(each.also)) for each in report.issues] == [
        ("timed out", 0),
        ("no order 7", 1),
    ]


def test_outer_span_that_continued_keeps_its_own_failure(tmp_path: Path) -> None:
    failed = tool("t", None, at=0, status=ERROR, error="timed out")
    later = tool("later", "3", at=100, tool_name="other")
    report = _report(tmp_path, run(1_000, status=ERROR, error="bad plan"), failed, later)
    outer = _issue(report, "run")
    assert outer.kind is Cause.FAILED_STEP
    assert outer.why[-1] == "A span inside it failed first."


def test_repeated_call_with_other_calls_between_is_not_a_loop(tmp_path: Path) -> None:
    spans: list[Span] = []
    for n in range(6):
        spans.append(tool(f"edit{n}", "ok", at=40 * n, tool_name="edit", arguments={"n": n}))
        result = {"ok": False, "error": "1 failed"}
        check = tool(f"check{n}", result, at=40 * n + 20, tool_name="check", arguments={"p": "."})
        spans.append(check)
    report = _report(tmp_path, run(1_000), *spans)
    assert {each.kind for each in report.issues} == {Cause.FAILED_CALL}


def test_alternating_calls_are_loops(tmp_path: Path) -> None:
    spans = [
        tool(f"{name}{n}", "3", at=40 * n + at, tool_name=name, arguments={"p": "."})
        for n in range(5)
        for name, at in (("look", 0), ("wait", 20))
    ]
    report = _report(tmp_path, run(1_000), *spans)
    assert [each.kind for each in report.issues] == [Cause.LOOP, Cause.LOOP]


def test_polling_is_described_by_its_answers(tmp_path: Path) -> None:
    spans = [tool(f"t{n}", {"state": n}, at=100 * n, ms=20, arguments={"job": 1}) for n in range(4)]
    (issue,) = _report(tmp_path, run(1_000), *spans).issues
    assert issue.why == (
        (
            "The same call was made 4 times, and the answers differ. The caller probably waited for"
            " a change. The 3 repetitions took 60.0 ms."
        ),
    )


def test_large_result_counts_the_requests_of_its_thread(tmp_path: Path) -> None:
    sizes = [[1_000, 1_100], [1_200, 21_200], [21_300, 21_400], [900, 1_000]]
    spans: list[Span] = []
    for n, (first, second) in enumerate(sizes):
        trace: dict[str, Any] = {"trace_id": f"t{n}", "thread_id": "one"}
        at = 1_000 * n
        spans += [
            span(f"r{n}", kind=SpanKind.RUN, name="answer", at=at, ms=500, **trace),
            model(f"a{n}", at=at, tokens=Usage(first, 50), parent_id=f"r{n}", **trace),
            tool(f"b{n}", "x" * (80_000 if n == 1 else 8), at=at + 20, parent_id=f"r{n}", **trace),
            model(f"c{n}", at=at + 40, tokens=Usage(second, 50), parent_id=f"r{n}", **trace),
        ]
    issue = _issue(_report(tmp_path, *spans), "b1")
    assert issue.kind is Cause.LARGE_RESULT
    total = sum(map(sum, sizes))
    assert issue.why == (
        ("Its result has 80,000 characters. The next request has 21,200 tokens instead of 1,200."),
        (
            "In this request and the 2 requests after it, it makes up"
            f" {20_000 * 3 / total:.0%} of all input tokens, if no request leaves it out."
        ),
    )


def test_cache_miss_states_the_tokens_of_both_calls(tmp_path: Path) -> None:
    cached = Usage(4_000, 50, 3_800)
    calls = [model(str(n), at=20 * n, tokens=cached) for n in range(3)]
    calls += [model(str(n), at=20 * n, tokens=Usage(4_100, 50, 0)) for n in (3, 4)]
    issue = _issue(_report(tmp_path, run(1_000), *calls), "3")
    assert issue.why[0] == (
        "It read 0 of 4,100 tokens from the cache. The preceding call read 3,800 of 4,000."
    )
    assert [each.span_id for each in issue.also] == ["4"]
    assert issue.severity is Severity.MEDIUM  # two calls with 41 % of all input tokens


def test_two_models_in_turn_are_not_a_fault(tmp_path: Path) -> None:
    names = ["large" if n % 8 == 3 else "small" for n in range(40)]
    calls = [
        model(f"m{n}", at=100 * n, trace_id=f"t{n}", parent_id=None, model_name=name)
        for n, name in enumerate(names)
    ]
    assert _report(tmp_path, *calls).issues == ()


def test_own_time_is_compared_with_spans_of_as_many_steps(tmp_path: Path) -> None:
    spans: list[Span] = []
    for n in range(8):
        steps = 20 if n == 5 else 1
        trace: dict[str, Any] = {"trace_id": f"t{n}"}
        agent = span(f"r{n}", kind=SpanKind.RUN, name="answer", ms=200 * steps, **trace)
        calls = [
            tool(f"s{n}-{k}", f"{k}", at=200 * k, ms=100, parent_id=f"r{n}", arguments=[k], **trace)
            for k in range(steps)
        ]
        spans += [agent, *calls]
    assert _report(tmp_path, *spans).issues == ()


def test_slow_span_of_few_milliseconds_is_not_an_issue(tmp_path: Path) -> None:
    spans = [tool(f"t{n}", f"{n}", at=20 * n, ms=2) for n in range(9)]
    assert _report(tmp_path, run(300), *spans, tool("slow", "9", at=220, ms=60)).issues == ()


def test_embeddings_are_compared_by_the_time_for_an_input_token(tmp_path: Path) -> None:
    def call(span_id: str, at: int, ms: int, tokens: int) -> Span:
        return span(
            span_id, "run", at=at, ms=ms, kind=SpanKind.EMBEDDING, name="embeddings e", model="e",
            tokens=Usage(tokens, 0),
        )  # fmt: skip

    calls = [call(f"e{n}", 1_000 * n, 100, 10_000) for n in range(8)]
    calls += [call("large", 9_000, 1_000, 100_000), call("slow", 11_000, 4_000, 20_000)]
    (issue,) = _report(tmp_path, run(20_000), *calls).issues
    assert issue.why == (
        (
            'It took 200 µs for each input token. The median of 10 calls of "e" is 10 µs. With'
            " 20,000 tokens, it took 4.00 s. That is 20% of the duration of its trace."
        ),
    )


def test_late_first_token_is_named(tmp_path: Path) -> None:
    calls = [_reply(f"m{n}", 3_000 * n, 1_000, 100) for n in range(8)]
    slow = _reply("slow", 30_000, 9_000, 100, time_to_first_token_us=8_000 * MS)
    issue = _issue(_report(tmp_path, run(40_000), *calls, slow), "slow")
    assert issue.why[-1] == "Its first token came after 8.00 s."


def test_rare_arguments_of_a_successful_call_are_minor(tmp_path: Path) -> None:
    by_id = [tool(f"i{n}", {"name": "x"}, at=20 * n, arguments={"id": n}) for n in range(20)]
    by_mail = tool("mail", {"name": "x"}, at=500, arguments={"mail": "a@example.com"})
    issue = _issue(_report(tmp_path, run(1_000), *by_id, by_mail), "mail")
    assert issue.severity is Severity.LOW
    assert issue.why == (
        'It has the argument "mail", which few other calls of "get_order" have.',
        'It lacks "id", which nearly all of the other 20 calls have.',
        "Its result has the form of the other results, so the call may be correct.",
    )


def test_tool_that_often_finds_nothing_is_described(tmp_path: Path) -> None:
    calls = [
        tool(f"t{n}", [] if n % 2 else [n], at=20 * n, arguments={"q": f"{n}" * 9})
        for n in range(6)
    ]
    why = [each.why for each in _report(tmp_path, run(1_000), *calls).issues]
    assert any('3 of 6 calls of "execute_tool get_order" find nothing.' in each for each in why)


def test_running_call_is_not_reported_as_never_ended(tmp_path: Path) -> None:
    spans = [run(None), _reply("m", 0, None, None)]
    with stored(tmp_path, spans) as store:
        assert analyse(store, Query(), now_us=BEGIN + 9_000 * MS).issues == ()
        (issue,) = analyse(store, Query(), now_us=BEGIN + 3_600_000 * MS).issues
    assert issue.kind is Cause.NEVER_ENDED


def test_status_and_output_of_a_failed_call_are_one_fault(tmp_path: Path) -> None:
    output = json.dumps({"error": {"message": "The quota is used up."}})
    failed = _reply("m", 0, 100, None, status=ERROR, error="HTTP 429: The quota is used up.")
    (issue,) = _report(tmp_path, run(1_000), replace(failed, output=output)).issues
    assert issue.why == ('The span ended with an error: "HTTP 429: The quota is used up."',)


def test_frequent_failure_comes_before_a_single_one(tmp_path: Path) -> None:
    spans: list[Span] = []
    for n, text in enumerate(["host refused", *["disk full"] * 9]):
        trace: dict[str, Any] = {"trace_id": f"t{n}", "parent_id": f"r{n}"}
        spans += [
            span(f"r{n}", kind=SpanKind.RUN, name="answer", trace_id=f"t{n}"),
            tool(f"c{n}", None, at=n, status=ERROR, error=text, **trace),
        ]
    report = _report(tmp_path, *spans)
    assert [len(each.also) for each in report.issues] == [8, 0]
