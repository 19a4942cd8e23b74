"""Lists of runs, spans, groups and labels: complete, ordered, bounded and reproducible."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.toolbox.traces.recordings import Recordings, model_call, opened, tool_call
from treadle.spans.span import ANALYST_LABEL, EXPERIMENT_LABEL, SpanStatus
from treadle.tokens import estimate

SIZES = (0, 1, 100, 101, 250, 10_000)


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recordings]:
    """A thread with one run of so many spans for each size."""
    folder = tmp_path_factory.mktemp("threads")
    with opened(folder) as store:
        recordings = Recordings(store, folder)
        for size in SIZES:
            recordings.record(
                *(
                    tool_call(
                        f"s{number}", at=number, trace_id=f"trace {size}", thread_id=f"of {size}"
                    )
                    for number in range(size)
                )
            )
        yield recordings


def walked(recordings: Recordings, name: str, way: str, **arguments: Any) -> list[dict[str, Any]]:
    """All rows of a list, by its offsets or by its cursors."""
    rows: list[dict[str, Any]] = []
    place: dict[str, Any] = {}
    while True:
        answer = recordings.ok(name, **arguments, **place)
        rows += answer["data"]
        assert answer["pagination"]["returned"] == len(answer["data"])
        if "more" not in answer:
            return rows
        if way == "cursor":
            place = {"cursor": answer["pagination"]["next_cursor"]}
        else:
            place = {"offset": len(rows)}
            by_cursor = "next_cursor" in answer["pagination"]
            told = "pagination.next_cursor" if by_cursor else f"offset {len(rows)}."
            assert told in answer["more"]


@pytest.mark.parametrize("size", SIZES)
def test_list_reports_its_total(threads: Recordings, size: int) -> None:
    answer = threads.ok("fetch_spans", threadIds=[f"of {size}"])
    assert answer["success"] is True
    assert answer["pagination"]["total"] == size
    assert answer["pagination"]["returned"] == len(answer["data"]) == min(size, 10)
    runs = threads.ok("fetch_runs", threadIds=[f"of {size}"])
    assert runs["pagination"]["total"] == min(size, 1)
    assert [run["spans"] for run in runs["data"]] == ([size] if size else [])


@pytest.mark.parametrize("way", ["offset", "cursor"])
@pytest.mark.parametrize("size", SIZES[:-1])
def test_all_rows_are_reached_once(threads: Recordings, size: int, way: str) -> None:
    rows = walked(threads, "fetch_spans", way, threadIds=[f"of {size}"], limit=100, maxTokens=2_000)
    assert [row["span_id"] for row in rows] == [f"s{each}" for each in reversed(range(size))]


def test_cursors_stay_correct_while_spans_arrive(recordings: Recordings) -> None:
    recordings.record(*(tool_call(f"s{number}", at=number) for number in range(60)))
    seen: list[str] = []
    place: dict[str, Any] = {}
    for late in range(100, 200):
        answer = recordings.ok("fetch_spans", limit=10, **place)
        seen += [row["span_id"] for row in answer["data"]]
        recordings.record(tool_call(f"late{late}", at=late))
        if "more" not in answer:
            break
        place = {"cursor": answer["pagination"]["next_cursor"]}
    assert seen == [f"s{number}" for number in reversed(range(60))]


def test_equal_calls_have_equal_bytes(threads: Recordings) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("fetch_spans", {"threadIds": ["of 10000"], "limit": 50}),
        ("fetch_runs", {}),
        ("fetch_groups", {"groupBy": "thread"}),
        ("get_run_details", {"runId": "trace 250"}),
        ("search_spans", {"query": "flights", "threadIds": ["of 101"]}),
        ("list_labels", {}),
    ]
    for name, arguments in calls:
        assert threads.content(name, **arguments) == threads.content(name, **arguments)


@pytest.mark.parametrize("most", [200, 250, 400, 800, 1_500, 6_000])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fetch_spans", {"limit": 100}),
        ("fetch_runs", {}),
        ("fetch_groups", {"groupBy": "operation"}),
        ("get_run_details", {"runId": "trace 10000"}),
        ("search_spans", {"query": "flights", "limit": 100}),
        ("list_labels", {}),
    ],
)
def test_answer_fits_its_tokens(
    threads: Recordings, name: str, arguments: dict[str, Any], most: int
) -> None:
    assert estimate(threads.content(name, **arguments, maxTokens=most)) <= most


def test_texts_are_cut_before_rows_are(recordings: Recordings) -> None:
    long = "The weather is fine today and so is the flight. " * 40
    recordings.record(*(tool_call(f"s{number}", at=number, result=long) for number in range(10)))
    answer = recordings.ok("fetch_spans", maxTokens=1_500)
    assert len(answer["data"]) == 10
    few = recordings.ok("fetch_spans", maxTokens=400)
    assert 0 < len(few["data"]) < 10
    assert few["pagination"]["total"] == 10


def test_omitted_row_is_reported(recordings: Recordings) -> None:
    name = "".join(f"{number:x}-" for number in range(500))
    recordings.record(tool_call(name))
    answer = recordings.ok("fetch_spans", maxTokens=200)
    assert answer["data"] == []
    assert answer["pagination"]["total"] == 1
    assert "next_cursor" not in answer["pagination"]
    assert "larger maxTokens" in answer["more"]
    assert recordings.ok("fetch_spans", maxTokens=20_000)["data"][0]["span_id"] == name


IDS = (
    *("a,b", 'say "hi"', "../../etc", "שלום", "😀", "half\ud800", "50%_*?", " ", "line\nbreak"),
    *("un\u200bseen\u202e", "long " * 50),
)


@pytest.mark.parametrize("odd", IDS)
def test_links_of_any_id_lead_to_its_span(recordings: Recordings, odd: str) -> None:
    recordings.record(
        tool_call("other", trace_id="elsewhere"),
        tool_call(odd, trace_id=f"t{odd}", thread_id=f"th{odd}", run_id=f"r{odd}", labels=(odd,)),
    )
    (row,) = recordings.ok("fetch_spans", spanIds=[odd])["data"]
    assert (row["span_id"], row["trace_id"]) == (odd, f"t{odd}")
    assert (row["run_id"], row["thread_id"], row["labels"]) == (f"r{odd}", f"th{odd}", [odd])
    (run,) = recordings.ok("fetch_runs", threadIds=[f"th{odd}"])["data"]
    assert run["run_id"] == f"r{odd}"
    details = recordings.ok("get_run_details", runId=f"r{odd}")
    assert [span["span_id"] for span in details["spans"]] == [odd]
    assert recordings.ok("list_labels", threadId=f"th{odd}")["data"] == [{"name": odd, "count": 1}]
    (group,) = recordings.ok("fetch_groups", groupBy="label", labels=[odd])["data"]
    assert (group["value"], group["spans"]) == (odd, 1)
    (content,) = recordings.ok("get_span_content", spanIds=[odd])["data"]
    assert content["span_id"] == odd


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fetch_runs", {}),
        ("fetch_spans", {}),
        ("get_run_details", {"runId": "t1"}),
        ("fetch_groups", {"groupBy": "model"}),
        ("fetch_spans_summary", {"runIds": ["t1"]}),
        ("get_span_content", {"spanIds": ["s1"]}),
        ("list_labels", {}),
        ("search_spans", {"query": "x"}),
        ("analyze_with_llm", {"spanIds": ["s1"]}),
    ],
)
def test_unknown_argument_is_rejected_by_name(
    recordings: Recordings, name: str, arguments: dict[str, Any]
) -> None:
    error = recordings.failed(name, **arguments, colour="red").error
    assert error.field == "colour"
    assert error.message == f"{name} has no argument `colour`."


def test_single_name_equals_a_list(recordings: Recordings) -> None:
    recordings.record(tool_call("s1", labels=("a, b",)))
    assert len(recordings.ok("fetch_spans", labels="a, b")["data"]) == 1
    assert len(recordings.ok("fetch_spans", spanIds='["s1"]')["data"]) == 1


def test_own_spans_are_left_out_unless_their_label_is_given(recordings: Recordings) -> None:
    recordings.record(tool_call("user's", labels=("prod",)))
    before = {
        name: recordings.content(name, **arguments)
        for name, arguments in (
            ("fetch_spans", {}),
            ("fetch_runs", {}),
            ("fetch_groups", {"groupBy": "operation"}),
            ("list_labels", {}),
            ("search_spans", {"query": "flights"}),
        )
    }
    recordings.record(
        tool_call("own", at=1, trace_id="t2", labels=(ANALYST_LABEL,), thread_id="own thread"),
        model_call("run of it", at=2, trace_id="t3", labels=(EXPERIMENT_LABEL, "treadle:x")),
    )
    arguments: dict[str, Any] = {
        "fetch_groups": {"groupBy": "operation"},
        "search_spans": {"query": "flights"},
    }
    for name, content in before.items():
        assert recordings.content(name, **arguments.get(name, {})) == content, name

    def shown(name: str, **arguments: Any) -> list[str]:
        return [row["span_id"] for row in recordings.ok(name, **arguments)["data"]]

    assert shown("fetch_spans", spanIds=["own"]) == ["own"]
    assert shown("fetch_spans", threadIds=["own thread"]) == ["own"]
    assert shown("fetch_spans", runIds=["t2"]) == ["own"]
    assert shown("fetch_spans", labels=[ANALYST_LABEL]) == ["own"]
    assert shown("fetch_spans", labels=[ANALYST_LABEL, "prod"]) == ["own", "user's"]
    assert shown("search_spans", query=f'label:"{ANALYST_LABEL}"') == ["own"]
    assert shown("search_spans", query="span:own") == ["own"]
    assert recordings.ok("list_labels", threadId="own thread")["total"] == 1
    assert shown("fetch_spans", labels=[EXPERIMENT_LABEL]) == ["run of it"]
    assert shown("search_spans", query="label:treadle:exp*") == ["run of it"]
    # The switch shows them among the others.
    assert shown("fetch_spans", own="include") == ["run of it", "own", "user's"]
    assert shown("search_spans", query="own:include kind:tool") == ["own", "user's"]
    assert recordings.ok("fetch_runs", own="include")["pagination"]["total"] == 3
    assert recordings.ok("list_labels", own="include")["total"] == 4
    by_label = recordings.ok("fetch_groups", groupBy="label", own="include")["data"]
    assert {row["value"] for row in by_label} == {
        "prod", ANALYST_LABEL, EXPERIMENT_LABEL, "treadle:x"
    }  # fmt: skip
    assert recordings.failed("fetch_runs", own="only").error.field == "own"


def test_filters_are_combined(recordings: Recordings) -> None:
    recordings.record(
        model_call("m1", model="gpt-small", labels=("a",)),
        model_call("m2", at=1, model="gpt-large", labels=("b",), parent_id="m1"),
        tool_call("x1", at=2, status=SpanStatus.ERROR, error="refused", labels=("a", "b")),
    )

    def ids(**arguments: Any) -> list[str]:
        return [row["span_id"] for row in recordings.ok("fetch_spans", **arguments)["data"]]

    assert ids(operationNames=["chat"]) == ["m2", "m1"]
    assert ids(labels=["a", "b"]) == ["x1", "m2", "m1"]
    assert ids(labels=["b"], status="error") == ["x1"]
    assert ids(parentSpanIds=["m1"]) == ["m2"]
    assert ids(spanIds=["none"]) == []
    assert recordings.ok("fetch_runs", modelName="gpt-*")["pagination"]["total"] == 1
    assert recordings.ok("fetch_runs", modelName="gpt")["pagination"]["total"] == 0
    models = recordings.ok("fetch_groups", groupBy="model", modelName="*large")["data"]
    assert [row["value"] for row in models] == ["gpt-large"]


def test_times_count_back_from_the_clock(recordings: Recordings) -> None:
    at = recordings.clock.now_us() / 1e6
    begin = 1_790_000_000
    for name, ago in (("new", 60), ("older", 7_200), ("old", 8 * 86_400)):
        recordings.record(tool_call(name, at=at - begin - ago))

    def ids(**arguments: Any) -> list[str]:
        return [row["span_id"] for row in recordings.ok("fetch_spans", **arguments)["data"]]

    assert ids(period="last_hour") == ["new"]
    assert ids(period="last_day") == ["new", "older"]
    assert ids(period="last_month") == ["new", "older", "old"]
    assert ids(since="3h", until="1h") == ["older"]
    failure = recordings.failed("fetch_runs", since="soon").error
    assert "`since`" in failure.message
    assert recordings.failed("fetch_spans", period="last_minute").error.field == "period"


def test_run_has_its_spans_in_order(recordings: Recordings) -> None:
    recordings.record(
        model_call("m1", run_id="run 1", thread_id="thread 1"),
        tool_call("x1", at=1, parent_id="m1", run_id="run 1", thread_id="thread 1"),
    )
    answer = recordings.ok("get_run_details", runId="run 1")
    assert answer["run"]["thread_id"] == "thread 1"
    assert [(span["span_id"], span.get("parent_id")) for span in answer["spans"]] == [
        ("m1", None),
        ("x1", "m1"),
    ]
    failure = recordings.failed("get_run_details", runId="run 2").error
    assert (failure.kind.value, failure.field) == ("not_found", "runId")


def test_search_shows_the_position_of_the_text(recordings: Recordings) -> None:
    long = "padding " * 100
    recordings.record(
        tool_call("x1", result=f"{long}the 50%_off coupon expired{long}"),
        tool_call("x2", at=1, result="500off"),
    )
    (found,) = recordings.ok("search_spans", query="50%_off", maxTokens=300)["data"]
    assert found["span_id"] == "x1"
    assert found["found_in"] == "output"
    assert "50%_off" in found["excerpt"]
    assert recordings.failed("search_spans", query="colour:red").error.kind.value == "validation"
    every = recordings.ok("search_spans", query="kind:tool")
    assert [row["span_id"] for row in every["data"]] == ["x2", "x1"]


def test_groups_are_those_of_all_spans(recordings: Recordings) -> None:
    recordings.record(
        model_call("m1", cost=0.5), model_call("m2", at=3_600, cost=None), tool_call("x1", at=1)
    )
    by_time = recordings.ok("fetch_groups", groupBy="time", bucketSize=3_600)
    assert [row["spans"] for row in by_time["data"]] == [1, 2]
    by_model = {row["value"]: row for row in recordings.ok("fetch_groups", groupBy="model")["data"]}
    assert by_model["large"]["cost"] == 0.5
    assert by_model["large"]["unpriced"] == 1
    assert "cost" not in by_model[""]
    assert (by_model["large"]["runs"], by_model["large"]["failed_runs"]) == (1, 0)
    assert by_model["large"]["cost_per_run"] == 0.5
    assert recordings.failed("fetch_groups").error.field == "groupBy"


def test_labels_are_counted_and_come_in_parts(recordings: Recordings) -> None:
    recordings.record(
        *(tool_call(f"x{n}", at=n, labels=tuple(f"l{m}" for m in range(n))) for n in range(8))
    )
    every = recordings.ok("list_labels")
    assert every["data"][0] == {"name": "l0", "count": 7}
    assert every["total"] == 7
    assert walked(recordings, "list_labels", "offset", limit=3) == every["data"]
    beyond = recordings.ok("list_labels", offset=50)
    assert (beyond["data"], beyond["total"]) == ([], 7)


TEXT = st.text(st.characters(), max_size=60)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=6),
    most=st.integers(200, 1_000),
)
def test_answer_to_any_record_is_bounded_json(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str, str]], most: int
) -> None:
    folder: Path = tmp_path_factory.mktemp("any")
    with opened(folder) as store:
        recordings = Recordings(store, folder)
        recordings.record(
            *(
                tool_call(f"s{number}", at=number, tool=name, result=result, labels=(label,))
                for number, (name, result, label) in enumerate(texts)
            )
        )
        for name in ("fetch_spans", "fetch_runs", "list_labels"):
            content = recordings.content(name, maxTokens=most)
            content.encode()
            assert json.loads(content)["ok"] is True
            assert estimate(content) <= most


def test_further_conditions_select_users_and_metadata(recordings: Recordings) -> None:
    named = replace(tool_call("named"), user="alice", metadata={"tenant": "acme"})
    recordings.record(named)

    (row,) = recordings.ok("fetch_spans", where="user:alice metadata.tenant:acme")["data"]
    (group,) = recordings.ok("fetch_groups", groupBy="metadata.tenant", where="user:alice")["data"]
    refused = recordings.failed("fetch_spans", where="tenant:acme")

    assert (row["span_id"], row["user"], row["metadata"]) == ("named", "alice", {"tenant": "acme"})
    assert (group["value"], group["spans"]) == ("acme", 1)
    assert "tenant" in refused.error.message
