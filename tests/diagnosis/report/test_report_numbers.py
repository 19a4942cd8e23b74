"""Every number of a report, checked against traces that were written by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.report.spans import MS, model, run, span, stored, tool
from treadle.diagnosis.quote_verification import verify_answer
from treadle.diagnosis.report import Cause, Focus, Report, Suspect, analyse, render
from treadle.diagnosis.report.model import NamedSpan, Value
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanKind, SpanStatus
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


def _reply(span_id: str, at: int, ms: int, output: int | None, **rest: Any) -> Span:
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
        "spans": 5,
        "model calls": 2,
        "tool calls": 2,
        "failed spans": 1,
        "from first to last": 1_000 * MS,
        "input tokens": 2_000,
        "output tokens": 100,
        "cost": 0.05,
        "p50": 300 * MS,
        "p95": 1_000 * MS,
        "p99": 1_000 * MS,
        "first token p50": 100 * MS,
        "first token p95": 200 * MS,
        "first token p99": 200 * MS,
        "runs": 1,
        "successful runs": 1,
        "cost of a successful run": 0.05,
        "read from caches": None,
    }
    assert report.summary[0] == (
        "5 spans in 1.00 s: 2 model calls, 2 tool calls, 1 failed span, $0.0500."
    )
    tables = _tables(report)
    assert tables["Tools"] == [("get_order", 2, 1, 100 * MS, 200 * MS)]
    assert tables["Models"] == [("large", 2, 2_000, 100, 0.05, 300 * MS, 400 * MS)]
    assert tables["The critical path of the longest trace"] == [
        ("chat large", 400 * MS, 0.4),
        ("chat large", 300 * MS, 0.3),
        ("execute_tool get_order", 200 * MS, 0.2),
        ("execute_tool get_order", 100 * MS, 0.1),
    ]
    assert tables["Own time of spans, without the time of their children"] == [
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
        "It took 20.0 s for 400 output tokens, which is 50.0 ms for each. The median of 7 replies"
        ' of "large" is 10.0 ms. 20% of the time of its trace is its own.'
    )
    title = "Spans that took far longer than similar spans"
    assert _tables(report)[title] == [("chat large", 20_000 * MS, 400, 50 * MS, 10 * MS, 7)]
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
    assert issue.why == ('The span ended with an error: "timed out".',)


def test_own_time_is_compared_with_similar_spans(tmp_path: Path) -> None:
    spans = [tool(f"t{n}", f"{n}", at=200 * n, ms=100) for n in range(7)]
    slow = tool("slow", "7", at=2_000, ms=3_000)
    issue = _issue(_report(tmp_path, run(10_000), *spans, slow), "slow")
    (why,) = issue.why
    assert why == (
        "Its own time is 3.00 s. The median of 8 similar spans is 100 ms. 30% of the time of its"
        " trace is its own."
    )


def test_dominating_step_names_the_next_one(tmp_path: Path) -> None:
    spans = [tool("a", "x", at=0, ms=900), tool("b", "y", at=900, ms=100, tool_name="other")]
    issue = _issue(_report(tmp_path, run(1_000), *spans), "a")
    assert issue.why == (
        "Its trace waited 900 ms for it, 90% of its time. The next step took 100 ms.",
    )


def test_only_step_of_a_trace_does_not_dominate_it(tmp_path: Path) -> None:
    assert _report(tmp_path, _reply("only", 0, 9_000, 100, parent_id=None)).issues == ()


def test_cost_is_compared_with_similar_calls(tmp_path: Path) -> None:
    calls = [model(f"m{n}", at=20 * n, cost=0.01) for n in range(9)]
    calls.append(model("costly", at=400, cost=0.91, tokens=Usage(9_000, 500)))
    issue = _issue(_report(tmp_path, run(1_000), *calls, focus=Focus.COST), "costly")
    assert issue.why == (
        (
            "It cost $0.9100, 91.0 times the median of 10 similar calls of all models: 91% of all"
            " cost."
        ),
        "It has 9,000 input and 500 output tokens.",
    )


def test_other_model_is_compared_by_name_without_instructions(tmp_path: Path) -> None:
    asked = json.dumps([{"role": "user", "content": "?"}])
    names = [*["large"] * 5, "other"]
    calls = [
        span(f"m{n}", "run", at=20 * n, kind=SpanKind.MODEL, name="chat", model=name, input=asked)
        for n, name in enumerate(names)
    ]
    issue = _issue(_report(tmp_path, run(1_000), *calls), "m5")
    assert issue.why[0] == 'It went to "other". 5 of 6 calls of the same name go to "large".'


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
    assert [(each.name, len(each.spans)) for each in report.repeated] == [("get_order", 3)]


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
