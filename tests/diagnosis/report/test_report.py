"""The report: figures of all spans, and causes with evidence."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.diagnosis.report.spans import BEGIN, MS, model, named, run, span, stored, tool
from treadle.diagnosis.detectors import Rule, Severity
from treadle.diagnosis.report import Cause, Focus, Report, Unit, analyse, render
from treadle.diagnosis.report.model import NamedSpan
from treadle.events.types import Usage
from treadle.spans.span import ANALYST_LABEL, WAITED, Span, SpanKind, SpanStatus
from treadle.traces.query import Query, any_of, parse_query
from treadle.traces.query.conditions import Field

ORDER = {"order": "O-1", "state": "sent", "items": [1]}


def _analysed(folder: Path, *spans: Span, focus: Focus = Focus.EVERYTHING) -> Report:
    with stored(folder, [run(), *spans]) as store:
        return analyse(store, Query((any_of(Field.TRACE, ["t1"]),)), focus=focus, now_us=0)


def _first(report: Report) -> tuple[Cause, str]:
    return report.issues[0].kind, report.issues[0].span.span_id


def test_empty_store_is_reported(tmp_path: Path) -> None:
    with stored(tmp_path, []) as store:
        report = analyse(store, Query(), now_us=0)
    assert report.summary == ("No recorded span matches the query.",)
    assert report.issues == ()
    assert render(report) == "## Summary\n\nNo recorded span matches the query.\n"


def test_spans_around_a_failure_belong_to_its_issue(tmp_path: Path) -> None:
    error = SpanStatus.ERROR
    agent = span("agent", "run", ms=500, kind=SpanKind.AGENT, error="call failed", status=error)
    call = tool("call", None, parent_id="agent", error="connection refused", status=error)
    report = _analysed(tmp_path, agent, call)
    assert _first(report) == (Cause.FAILED_CALL, "call")
    assert report.issues[0].involved == (named("agent"),)
    assert report.issues[0].why[-1] == "The span around it ended with an error too."
    assert len(report.issues) == 1
    (evidence,) = report.issues[0].evidence
    assert (evidence.field, evidence.quote) == ("error", "connection refused")


def test_failure_with_a_successful_retry_scores_low(tmp_path: Path) -> None:
    asked = {"order_id": "O-1"}
    spans = [
        tool("one", None, at=10, arguments=asked, status=SpanStatus.ERROR, error="HTTP 503"),
        tool("two", ORDER, at=30, arguments=asked),
    ]
    report = _analysed(tmp_path, *spans)
    assert report.issues[0].severity is Severity.LOW
    assert "A later attempt succeeded." in report.issues[0].why
    assert report.recommendations == ()


def test_repeated_call_is_reported_at_its_first_span(tmp_path: Path) -> None:
    asked = {"order_id": "O-1"}
    spans = [tool(str(n), ORDER, at=100 * n, ms=50, arguments=asked) for n in range(5)]
    report = _analysed(tmp_path, *spans)
    assert _first(report) == (Cause.LOOP, "0")
    assert [each.span_id for each in report.issues[0].involved] == ["1", "2", "3", "4"]
    assert report.issues[0].why == (
        (
            "The same call was made 5 times, and each call returned the same answer. The 4"
            " repetitions took 200 ms."
        ),
    )
    table = next(table for table in report.tables if "Repeated" in table.title)
    assert table.rows == ((NamedSpan("execute_tool get_order", named("0")), 5, "loop", 200 * MS),)


def test_repeated_failing_call_is_a_retry(tmp_path: Path) -> None:
    asked = {"order_id": "O-1"}
    spans = [
        tool(str(n), None, at=100 * n, arguments=asked, status=SpanStatus.ERROR, error="HTTP 429")
        for n in range(4)
    ]
    report = _analysed(tmp_path, *spans)
    assert _first(report) == (Cause.RETRIES, "0")
    assert report.issues[0].why[0] == (
        "The same call was made 4 times, and most of these calls failed. The 3 repetitions took"
        " 30.0 ms."
    )
    assert "**Main issue: retries** at " in render(report)


def test_unusual_argument_is_found_without_a_schema(tmp_path: Path) -> None:
    spans = [tool(str(n), ORDER, at=20 * n) for n in range(6)]
    spans[3] = tool("3", ORDER, at=60, arguments={"orderId": "O-3"})
    report = _analysed(tmp_path, *spans)
    assert _first(report) == (Cause.WRONG_ARGUMENT, "3")


def test_result_without_a_common_value_is_found(tmp_path: Path) -> None:
    spans = [tool(str(n), ORDER | {"order": f"O-{n}"}, at=20 * n) for n in range(6)]
    spans[2] = tool("2", {"order": "O-2", "state": "sent", "items": []}, at=40)
    report = _analysed(tmp_path, *spans)
    assert _first(report) == (Cause.EMPTY_RESULT, "2")


def test_slow_call_is_found_without_the_wait_for_a_person(tmp_path: Path) -> None:
    spans = [tool(str(n), ORDER | {"n": n}, at=200 * n, ms=100 + n) for n in range(8)]
    slow = tool("slow", ORDER, at=1_700, ms=7_000)
    asked = replace(tool("asked", ORDER, at=8_800, ms=900), attributes={
        "gen_ai.tool.name": "get_order", WAITED: 800 * MS})  # fmt: skip
    report = _analysed(tmp_path, *spans, slow, asked, focus=Focus.PERFORMANCE)
    assert _first(report) == (Cause.SLOW_STEP, "slow")
    assert len(report.issues) == 1
    assert report.tables[0].rows[0] == (
        NamedSpan("execute_tool get_order", named("slow")),
        10,
        (7_000 + 8 * 100 + 28 + 900) * MS,
        0.8728,
    )


def test_expensive_call_comes_first_for_the_focus_on_cost(tmp_path: Path) -> None:
    calls = [model(str(n), at=20 * n) for n in range(8)]
    calls[5] = model("5", at=100, cost=0.9, tokens=Usage(1_000, 42_000))
    failed = tool("f", None, at=300, status=SpanStatus.ERROR, error="connection refused")
    report = _analysed(tmp_path / "a", *calls, failed, focus=Focus.ERRORS)
    assert _first(report) == (Cause.FAILED_CALL, "f")
    report = _analysed(tmp_path / "b", *calls, failed, focus=Focus.COST)
    assert _first(report) == (Cause.COST_SPIKE, "5")
    assert report.tables[0].title == "Models"


def test_cache_miss_names_the_changed_message(tmp_path: Path) -> None:
    cached = Usage(4_000, 50, 3_800)
    calls = [model(str(n), at=20 * n, tokens=cached) for n in range(5)]
    calls[3] = model("3", at=60, tokens=Usage(4_100, 50, 0), instructions="It is 09:41. Be brief.")
    report = _analysed(tmp_path, *calls, focus=Focus.COST)
    assert _first(report) == (Cause.CACHE_MISS, "3")
    assert any("Message 0" in why for why in report.issues[0].why)


def test_conflict_is_quoted_from_the_prompt(tmp_path: Path) -> None:
    prompt = "Answer in English. Sell shoes. Respond only in German."
    report = _analysed(tmp_path, model("one", instructions=prompt), model("two", at=50))
    assert _first(report) == (Cause.CONTRADICTORY_PROMPT, "one")
    quotes = [each.quote for each in report.issues[0].evidence]
    assert quotes == ["Answer in English", "Respond only in German"]


def test_earlier_spans_are_the_baseline(tmp_path: Path) -> None:
    hour = 3_600_000
    before = [
        model(f"b{n}", at=-hour + 20 * n, trace_id="t0", model_name="small") for n in range(6)
    ]
    report = _analysed(tmp_path, *before, model("now", model_name="huge"))
    assert _first(report) == (Cause.OTHER_MODEL, "now")
    assert report.total == 2


def test_figures_are_compared_with_the_period_before(tmp_path: Path) -> None:
    spans = [
        model(name, at=at, trace_id=name, parent_id=None)
        for name, at in (("old", -3_000), ("new", 0), ("newer", 20))
    ]
    since = parse_query("since:2s", now_us=BEGIN + 1_000 * MS)
    with stored(tmp_path, spans) as store:
        report = analyse(store, since, now_us=BEGIN + 1_000 * MS)
    calls = next(figure for figure in report.figures if figure.name == "model calls")
    assert (calls.value, calls.before, calls.change_percent) == (2, 1, 100)
    assert "| model calls | 2 |  | 1 | +100% |" in render(report)
    runs = next(figure for figure in report.figures if figure.name == "duration of a run, p50")
    assert (runs.value, runs.n, runs.before) == (10 * MS, 2, 10 * MS)


def test_change_from_zero_has_no_percentage(tmp_path: Path) -> None:
    with stored(tmp_path, [model("new", cost=None)]) as store:
        query = parse_query("since:2s", now_us=BEGIN + 1_000 * MS)
        report = analyse(store, query, now_us=BEGIN + 1_000 * MS)
    assert all(figure.change_percent is None for figure in report.figures)


def test_cost_of_a_successful_run_is_reported(tmp_path: Path) -> None:
    spans = [model(f"m{n}", trace_id=f"t{n}", parent_id="r", cost=0.1) for n in range(3)]
    roots = [
        replace(run(), trace_id=f"t{n}", span_id="r", run_id=f"r{n}",
                status=SpanStatus.ERROR if n else SpanStatus.OK)
        for n in range(3)
    ]  # fmt: skip
    with stored(tmp_path, [*spans, *roots]) as store:
        report = analyse(store, Query(), now_us=0)
    figures = {figure.name: figure for figure in report.figures}
    assert figures["successful runs"].value == 1
    assert figures["cost of a successful run"].value == pytest.approx(0.3)
    assert figures["cost of a successful run"].unit is Unit.DOLLARS


def test_own_spans_are_left_out_by_default(tmp_path: Path) -> None:
    own = replace(model("own", trace_id="t9"), labels=(ANALYST_LABEL,))
    with stored(tmp_path, [model("user"), own]) as store:
        assert analyse(store, Query(), now_us=0).total == 1
        by_id = Query((any_of(Field.TRACE, ["t9"]),))
        assert analyse(store, by_id, now_us=0).total == 1


def test_excluded_label_does_not_include_own_spans(
    tmp_path: Path,
) -> None:
    own = replace(tool("own", "x"), labels=(ANALYST_LABEL,))
    with stored(tmp_path, [tool("theirs", "y"), own]) as store:
        report = analyse(store, parse_query("-label:other", now_us=0), now_us=0)
    assert report.total == 1


def test_report_does_not_depend_on_the_order_of_writes(
    tmp_path: Path,
) -> None:
    spans = [run(), *(tool(str(n), ORDER, at=n % 3, arguments={"o": n % 2}) for n in range(20))]
    texts = set()
    for number, order in enumerate((spans, spans[::-1])):
        with stored(tmp_path / str(number), order) as store:
            texts |= {render(analyse(store, Query(), now_us=0)) for _ in range(2)}
    assert len(texts) == 1


def test_number_of_spans_that_are_read_is_reported(tmp_path: Path) -> None:
    spans = [tool(str(n), ORDER, at=n) for n in range(30)]
    with stored(tmp_path, [run(), *spans]) as store:
        report = analyse(store, Query(), now_us=0, most_read=10)
    assert (report.total, report.read) == (31, 10)
    assert any("newest 10 spans" in sentence for sentence in report.summary)


def test_match_of_a_user_rule_is_an_issue(tmp_path: Path) -> None:
    rule = Rule(name="home", pattern="at home", severity=Severity.HIGH)
    with stored(tmp_path, [run(), tool("s", {"note": "call me at home"})]) as store:
        report = analyse(store, Query(), rules=[rule], now_us=0)
    assert _first(report) == (Cause.RULE_MATCH, "s")


def test_report_is_cut_to_its_limit(tmp_path: Path) -> None:
    spans = [
        tool(str(n), None, tool_name=f"tool_{n}", at=20 * n, status=SpanStatus.ERROR, error="no")
        for n in range(12)
    ]
    report = _analysed(tmp_path, *spans)
    assert "\n10. " in (text := render(report))
    assert "\n11. " not in text
    assert "more with lower scores" in text


def test_recorded_text_cannot_leave_its_fence(tmp_path: Path) -> None:
    evil = "x | y\n## Issues\n[now](http://evil.example) <script>"
    report = _analysed(
        tmp_path,
        tool("s", None, tool_name=evil, status=SpanStatus.ERROR, error=evil),
        model("m", model_name=evil, at=50),
    )
    text = render(report)
    assert text.count("\n## Issues\n") == 1
    assert not re.search(r"(?<!\\)\]\(http", text)
    assert "<script>" not in text


def test_successful_retry_below_a_model_call_is_recognised(tmp_path: Path) -> None:
    asked = {"order_id": "O-1"}
    spans = [
        model("m1"),
        tool("one", None, at=20, parent_id="m1", arguments=asked, status=SpanStatus.ERROR),
        model("m2", at=40),
        tool("two", ORDER, at=60, parent_id="m2", arguments=asked),
    ]
    report = _analysed(tmp_path, *spans)
    assert all(issue.severity is Severity.LOW for issue in report.issues)
