"""Summaries: figures at a snapshot, faults with evidence, repeated failures, changes."""

import asyncio
from typing import Any

import pytest

from tests.toolbox.traces.flights import FAILURE, THREAD, flights
from tests.toolbox.traces.recordings import BEGIN, Recordings, model_call, tool_call
from treadle.config.traces import DetectorRule
from treadle.diagnosis.detectors import Rule
from treadle.diagnosis.field_paths import text_at
from treadle.diagnosis.findings import examiners
from treadle.events import EventBus, Outcome
from treadle.events.types import ErrorKind, ToolCallCompleted, Usage
from treadle.spans.span import ANALYST_LABEL, SpanStatus
from treadle.tokens import estimate
from treadle.toolbox.traces import trace_tools
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor

CONTRACT = {
    "total_spans", "by_operation", "by_status", "total_duration_ms", "busy_ms", "total_cost",
    "total_input_tokens", "total_output_tokens", "cached_tokens", "models_used", "labels_found",
}  # fmt: skip
LISTS = {
    "model_breakdown", "tool_usage", "repeated_failures", "error_spans", "semantic_error_spans",
    "slowest_spans", "expensive_spans",
}  # fmt: skip


def summary(recordings: Recordings, **arguments: Any) -> dict[str, Any]:
    return recordings.ok("fetch_spans_summary", maxTokens=6_000, **arguments)


def test_empty_store_has_a_summary(recordings: Recordings) -> None:
    answer = summary(recordings, threadIds=["none"])
    assert answer["snapshot_id"] == 0
    assert answer["summary"].keys() >= CONTRACT
    assert answer["summary"]["total_spans"] == 0
    assert answer["summary"]["total_cost"] is None
    assert answer["latency"] == {"n": 0, "p50": None, "p95": None, "p99": None, "max": None}
    assert all(answer[name] == [] for name in LISTS)
    assert answer["efficiency"]["cost_per_successful_run"] is None


def test_figures_are_of_all_spans(recordings: Recordings) -> None:
    recordings.record(*flights())
    answer = summary(recordings, threadIds=[THREAD])
    figures = answer["summary"]
    assert figures["total_spans"] == 8
    assert figures["by_operation"] == {"chat": 4, "execute_tool": 3, "invoke_agent": 1}
    assert figures["by_status"] == {"ok": 8}
    assert figures["total_duration_ms"] == 7_000
    assert figures["total_input_tokens"] == 10_000
    assert figures["cached_tokens"] == 2_000
    assert figures["total_cost"] == pytest.approx(0.1)
    assert figures["models_used"] == ["large"]
    assert figures["labels_found"] == ["prod"]
    assert answer["efficiency"] == {
        "runs": 1,
        "successful_runs": 1,
        "cost_per_successful_run": 0.1,
        "cache_hit_rate": 0.2,
    }
    assert answer["tool_usage"][0]["calls"] == 3
    assert [span["span_id"] for span in answer["expensive_spans"]] == ["m3", "m2", "m1", "m0"]
    assert answer["slowest_spans"][0]["span_id"] == "run"


def test_failure_in_every_request_is_reported_once(recordings: Recordings) -> None:
    recordings.record(*flights())
    answer = summary(recordings, threadIds=[THREAD])
    assert answer["faults"] == {"found": 3, "spans": 3, "unexamined": 0}
    (failure,) = answer["repeated_failures"]
    assert failure["name"] == "find_flights"
    assert failure["count"] == 3
    assert failure["repeated_in"] == 3
    assert failure["span_ids"] == ["x0", "x1", "x2"]
    first = answer["semantic_error_spans"][0]
    assert first["span_id"] == "x0"
    assert first["status"] == "ok"
    assert first["link"] == "/traces/t1?span=x0"
    (issue,) = first["issues"]
    assert issue["also_in"] == 3
    span = recordings.store.span("t1", "x0")
    assert span is not None
    text = text_at(span, issue["field"])
    assert text is not None
    assert text[issue["start"] : issue["end"]] == issue["context"]


def test_failures_of_different_tools_are_separate(recordings: Recordings) -> None:
    recordings.record(
        *(
            tool_call(f"{tool}{number}", at=number, tool=tool, result=FAILURE)
            for tool in ("trains", "buses")
            for number in range(3)
        )
    )
    failures = summary(recordings, runIds=["t1"])["repeated_failures"]
    assert {(each["name"], each["count"]) for each in failures} == {
        ("trains", 3),
        ("buses", 3),
    }


def test_failures_that_differ_by_numbers_and_ids_are_equal(recordings: Recordings) -> None:
    recordings.record(
        *(
            tool_call(
                f"x{number}", at=number, result=f'{{"error": "no seat {number} on 0x{number:08x}"}}'
            )
            for number in range(4)
        )
    )
    (failure,) = summary(recordings, runIds=["t1"])["repeated_failures"]
    assert failure["count"] == 4


@pytest.mark.parametrize(
    "result",
    [
        '{"flights": [1], "error": null}',
        '{"message": "no errors found", "flights": [1]}',
        "Everything went well: 0 failed, 12 passed",
        '{"errors": [], "failed": 0, "flights": [1]}',
    ],
)
def test_harmless_words_are_not_a_fault(recordings: Recordings, result: str) -> None:
    recordings.record(tool_call("x1", result=result))
    answer = summary(recordings, runIds=["t1"])
    assert answer["semantic_error_spans"] == []
    assert answer["faults"]["found"] == 0


def test_error_spans_differ_from_hidden_faults(
    recordings: Recordings,
) -> None:
    recordings.record(
        tool_call("loud", status=SpanStatus.ERROR, error="refused by the host", result=None),
        tool_call("quiet", at=1, result=FAILURE),
    )
    answer = summary(recordings, runIds=["t1"])
    assert [(span["span_id"], span["error"]) for span in answer["error_spans"]] == [
        ("loud", "refused by the host")
    ]
    assert [span["span_id"] for span in answer["semantic_error_spans"]] == ["quiet"]


def test_rules_of_the_user_count(recordings: Recordings) -> None:
    recordings.record(tool_call("x1", result="a fare of -1 EUR"))
    assert summary(recordings, runIds=["t1"])["faults"]["found"] == 0
    recordings.rules = [Rule.of(DetectorRule(name="fare", pattern=r"-1 EUR", severity="high"))]
    (span,) = summary(recordings, runIds=["t1"])["semantic_error_spans"]
    assert span["issues"][0]["pattern"] == "rule"


def test_outliers_are_far_from_similar_spans(recordings: Recordings) -> None:
    recordings.record(
        *(tool_call(f"x{number}", at=number, seconds=1 + number / 100) for number in range(20)),
        tool_call("slow", at=30, seconds=60),
        *(model_call(f"m{number}", at=number, cost=0.01) for number in range(20)),
        model_call("dear", at=31, cost=2.0),
        tool_call("alone", at=32, tool="other", seconds=500),
    )
    rows = {row["span_id"]: row for row in summary(recordings, runIds=["t1"])["outliers"]}
    assert rows.keys() == {"slow", "dear"}
    assert rows["slow"]["duration_ms"] == 60_000
    assert rows["slow"]["n"] == 21
    assert rows["dear"]["cost"] == 2.0
    assert rows["dear"]["times"] == 200


def test_period_is_compared_with_the_preceding_one(recordings: Recordings) -> None:
    now = (recordings.clock.now_us() - BEGIN) / 1e6
    recordings.record(
        *(model_call(f"n{number}", at=now - 600, cost=0.02) for number in range(3)),
        *(model_call(f"b{number}", at=now - 5_000, cost=0.02) for number in range(2)),
    )
    change = summary(recordings, period="last_hour")["change_to_period_before"]
    assert change["total_spans"] == {"before": 2, "change_percent": 50.0}
    assert change["total_cost"]["change_percent"] == 50.0
    assert change["latency_p50"]["change_percent"] == 0.0
    assert change["errors"] == {"before": 0, "change_percent": None}
    assert "change_to_period_before" not in summary(recordings, runIds=["t1"])


def test_change_from_zero_is_unknown(recordings: Recordings) -> None:
    now = (recordings.clock.now_us() - BEGIN) / 1e6
    recordings.record(model_call("new", at=now - 60, tokens=Usage(), cost=None))
    change = summary(recordings, period="last_hour")["change_to_period_before"]
    assert change["total_spans"] == {"before": 0, "change_percent": None}
    assert change["total_cost"] == {"before": None, "change_percent": None}


def test_omitted_entries_are_counted(recordings: Recordings) -> None:
    recordings.record(*flights(20))
    for most in (800, 1_000, 1_500, 2_500):
        content = recordings.content("fetch_spans_summary", threadIds=[THREAD], maxTokens=most)
        assert estimate(content) <= most
    answer = recordings.ok("fetch_spans_summary", threadIds=[THREAD], maxTokens=1_000)
    cut = answer["left_out"]["semantic_error_spans"]
    whole = recordings.ok("fetch_spans_summary", threadIds=[THREAD], maxTokens=50_000)
    shown = len(answer["semantic_error_spans"])
    assert shown + cut == len(whole["semantic_error_spans"])
    assert "larger maxTokens" in answer["more"]
    assert "left_out" not in whole


def test_summary_has_equal_bytes_until_spans_arrive(recordings: Recordings) -> None:
    recordings.record(*flights())
    first = recordings.content("fetch_spans_summary", labels=["prod"])
    assert recordings.content("fetch_spans_summary", labels=["prod"]) == first
    recordings.record(tool_call("own", trace_id="t9", labels=("prod", ANALYST_LABEL)))
    own = recordings.ok("fetch_spans_summary", labels=["prod"])
    assert own["summary"]["total_spans"] == 8
    meant = recordings.ok("fetch_spans_summary", labels=[ANALYST_LABEL])
    assert meant["summary"]["total_spans"] == 1


def test_summary_requires_a_filter(recordings: Recordings) -> None:
    failure = recordings.failed("fetch_spans_summary").error
    assert failure.kind is ErrorKind.VALIDATION
    assert "threadIds, runIds, labels" in failure.message
    assert recordings.failed("fetch_spans_summary", runIds=["t1"], maxTokens=100).error.field == (
        "maxTokens"
    )


def test_outdated_quote_is_not_shown(
    recordings: Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings.record(tool_call("x1", result=FAILURE), tool_call("x2", at=1, result=FAILURE))
    before = recordings.store.examinations(examiners=examiners())
    recordings.record(tool_call("x1", seconds=2, result='{"flights": [7]}', labels=("a", "b")))
    monkeypatch.setattr(recordings.store, "examinations", lambda *_, **__: before)
    answer = summary(recordings, runIds=["t1"])
    assert [span["span_id"] for span in answer["semantic_error_spans"]] == ["x2"]
    assert answer["repeated_failures"] == []
    assert answer["faults"]["unverified"] == 1


def test_concurrent_calls_return_the_same_summaries(recordings: Recordings) -> None:
    recordings.record(*flights())

    async def ask() -> list[Outcome]:
        registry = Registry(trace_tools(recordings.store))
        async with ToolExecutor(EventBus(), registry, recordings.root) as executor:
            calls = [
                executor.call(name, arguments)
                for _ in range(6)
                for name, arguments in (
                    ("fetch_spans_summary", '{"labels": ["prod"]}'),
                    ("get_span_content", '{"spanIds": ["x1"]}'),
                    ("fetch_spans", "{}"),
                )
            ]
            return list(await asyncio.gather(*calls))

    contents = [
        outcome.content for outcome in asyncio.run(ask()) if isinstance(outcome, ToolCallCompleted)
    ]
    assert len(contents) == 18
    assert contents == contents[:3] * 6
