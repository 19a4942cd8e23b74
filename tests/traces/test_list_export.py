"""Whole lists as CSV and JSON lines."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import pytest

from tests.spans.runs import span
from treadle.json_values import to_json
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.traces import TraceStore
from treadle.traces.list_export import (
    ListFormat,
    all_groups,
    all_runs,
    all_spans,
    all_threads,
    columns,
    encoded,
    harmless,
)
from treadle.traces.query import NEWEST, GroupBy, Page, Part, Query
from treadle.traces.store.results import Group, ListedSpan, RunSummary, ThreadSummary
from treadle.traces.store.span_reader import EVERYTHING


def run(number: int, question: str) -> Span:
    start = 1_900_000_800_000_000 + number * 1_000_000
    return replace(
        span(f"s{number}", trace_id=f"t{number}", start_us=start, end_us=start + 500_000),
        kind=SpanKind.MODEL,
        operation="chat",
        name="half of a pair: \ud800",
        model="small",
        status=SpanStatus.OK,
        input=question,
        cost=0.000000125,
        labels=("a", "b"),
        user="@alice",
        metadata={"tenant": "acme"},
    )


@pytest.fixture
def store(tmp_path: Path) -> TraceStore:
    opened = TraceStore.open(tmp_path / "traces.db")
    questions = ["=1+2", 'two "quoted", lines\nhere', "plain"]
    opened.write([run(number, text) for number, text in enumerate(questions)]).result()
    return opened


def read_csv(lines: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(lines.decode(), newline="")))


def test_csv_has_every_member_of_a_row_as_a_column(store: TraceStore) -> None:
    rows = read_csv(b"".join(encoded(all_runs(store, EVERYTHING, NEWEST), ListFormat.CSV)))

    assert [row["run_id"] for row in rows] == ["t2", "t1", "t0"]
    assert tuple(rows[0]) == columns(RunSummary)
    assert rows[1]["question"] == 'two "quoted", lines\nhere'
    assert rows[0]["name"] == "half of a pair: \\ud800"
    assert rows[0]["sums.cost"] == "0.000000125"
    assert rows[0]["sums.tokens.input"] == ""
    assert rows[0]["duration_us"] == "500000"
    assert (rows[0]["labels"], rows[0]["metadata"]) == ('["a", "b"]', '{"tenant": "acme"}')


@pytest.mark.parametrize("text", ["=1+2", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_text_that_begins_like_a_formula_gets_an_apostrophe(text: str) -> None:
    assert harmless(text) == f"'{text}"
    assert harmless(f"a{text}") == f"a{text}"


def test_csv_of_a_list_contains_no_formula(store: TraceStore) -> None:
    rows = read_csv(b"".join(encoded(all_runs(store, EVERYTHING, NEWEST), ListFormat.CSV)))

    assert rows[2]["question"] == "'=1+2"
    assert rows[2]["user"] == "'@alice"


def test_json_lines_are_the_rows_of_the_list(store: TraceStore) -> None:
    lines = list(encoded(all_spans(store, EVERYTHING, NEWEST), ListFormat.JSONL))

    assert [json.loads(line) for line in lines] == [to_json(s) for s in store.spans().data]


def test_columns_are_the_members_of_the_json(store: TraceStore) -> None:
    listed = to_json(store.spans().data[0])
    assert {name.partition(".")[0] for name in columns(ListedSpan)} == set(listed)
    assert {"same_call.trace_id", "same_call.span_id"} <= set(columns(ListedSpan))
    assert columns(Group)[:2] == ("value", "spans")
    assert "thread_id" in columns(ThreadSummary)


def test_threads_and_groups_are_exported(store: TraceStore) -> None:
    threads = read_csv(b"".join(encoded(all_threads(store, EVERYTHING, NEWEST), ListFormat.CSV)))
    by_model = all_groups(store, GroupBy.MODEL, EVERYTHING, 3_600)
    groups = read_csv(b"".join(encoded(by_model, ListFormat.CSV)))

    assert [row["thread_id"] for row in threads] == ["t2", "t1", "t0"]
    assert [(row["value"], row["model_calls"]) for row in groups] == [("small", "3")]


def test_all_pages_are_exported_and_read_one_at_a_time(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle.traces.list_export._PAGE", 2)
    read: list[int] = []

    class Counting(TraceStore):
        def spans(self, query: Query = EVERYTHING, **part: Unpack[Part]) -> Page[ListedSpan]:
            page = super().spans(query, **part)
            read.append(len(page.data))
            return page

    store.close()
    counting = Counting.open(store.folder / "traces.db")
    rows = all_spans(counting, EVERYTHING, NEWEST).rows
    next(rows)
    assert read == [2]
    assert len(list(rows)) == 2
    assert read == [2, 1]
