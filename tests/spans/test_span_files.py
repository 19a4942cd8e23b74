import gzip
import json
import tracemalloc
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spans.otlp.exports import as_json, request, span
from treadle.events.types import Usage
from treadle.spans import span_files
from treadle.spans.span import (
    CostSource,
    JsonValue,
    Span,
    SpanEvent,
    SpanKind,
    SpanLink,
    SpanStatus,
    flat_metadata,
)
from treadle.spans.span_files import SpanFileError, read_spans, span_from_json, write_spans

TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
SCALARS = st.booleans() | st.integers() | st.floats() | TEXT
ATTRIBUTES = st.dictionaries(TEXT, JSON, max_size=3)
COUNT = st.none() | st.integers(0, 10**9)
TIME = st.integers(0, 2**53)
SPANS = st.builds(
    Span,
    trace_id=TEXT.filter(bool),
    span_id=TEXT.filter(bool),
    parent_id=st.none() | TEXT,
    kind=st.sampled_from(SpanKind),
    operation=TEXT,
    name=TEXT,
    start_us=TIME,
    end_us=st.none() | TIME,
    status=st.sampled_from(SpanStatus),
    error=st.none() | TEXT,
    model=st.none() | TEXT,
    provider=st.none() | TEXT,
    tokens=st.builds(
        Usage, input=COUNT, output=COUNT, cached=COUNT, reasoning=COUNT, cache_write=COUNT
    ),
    input_counts_cache=st.none() | st.booleans(),
    cost=st.none() | st.floats(0, 1e5),
    cost_source=st.none() | st.sampled_from(CostSource),
    time_to_first_token_us=st.none() | TIME,
    labels=st.lists(TEXT, max_size=3).map(tuple),
    thread_id=st.none() | TEXT,
    run_id=st.none() | TEXT,
    user=st.none() | TEXT,
    release=st.none() | TEXT,
    metadata=st.dictionaries(TEXT, SCALARS, max_size=3).map(flat_metadata),
    start_ns=st.none() | st.integers(0, 2**63 - 1),
    end_ns=st.none() | st.integers(0, 2**63 - 1),
    attributes=ATTRIBUTES,
    resource=ATTRIBUTES,
    events=st.lists(st.builds(SpanEvent, TIME, TEXT, ATTRIBUTES), max_size=2).map(tuple),
    links=st.lists(st.builds(SpanLink, TEXT, TEXT, ATTRIBUTES), max_size=2).map(tuple),
    input=st.none() | TEXT,
    output=st.none() | TEXT,
)


def plain(number: int, text: str = "") -> Span:
    return Span(
        trace_id="t",
        span_id=str(number),
        kind=SpanKind.OTHER,
        operation="o",
        name="n",
        start_us=number,
        input=text,
    )


def spans_of(path: Path) -> list[Span]:
    return [each for batch in read_spans(path) for each in batch.spans]


@pytest.mark.parametrize("name", ["spans.jsonl", "spans.jsonl.gz"])
@settings(max_examples=40)
@given(st.lists(SPANS, max_size=3))
def test_written_spans_are_read_unchanged(
    tmp_path_factory: pytest.TempPathFactory, name: str, spans: list[Span]
) -> None:
    path = tmp_path_factory.mktemp("span_files") / name
    assert write_spans(path, spans) == len(spans)
    assert spans_of(path) == spans


def test_file_with_suffix_gz_is_compressed(tmp_path: Path) -> None:
    write_spans(tmp_path / "a.jsonl.gz", [plain(1)])
    lines = gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).splitlines()
    assert json.loads(lines[0]) == {"treadle.spans": 1}
    assert len(lines) == 2


def test_large_values_are_part_of_the_line(tmp_path: Path) -> None:
    large = plain(1, "data:image/png;base64," + "A" * (5 << 20))
    write_spans(tmp_path / "a.jsonl", [large])
    assert spans_of(tmp_path / "a.jsonl") == [large]


def test_files_are_read_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    tracemalloc.start()
    try:
        write_spans(path, (plain(number, f"{number:04}" * 2_500) for number in range(2_000)))
        number = sum(len(batch.spans) for batch in read_spans(path))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert number == 2_000
    assert path.stat().st_size > 20_000_000
    assert most < 15_000_000


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{broken", "Line 4 of a.jsonl is not a JSON object"),
        ("[" * 10_000, "Line 4 of a.jsonl is not a JSON object"),
        ("7", "Line 4 of a.jsonl is not a JSON object"),
        ('{"attributes": {"a": NaN}}', "Line 4 of a.jsonl is not a JSON object"),
        ("{}", "Line 4 of a.jsonl is not a span"),
        ('{"color": 1}', "a span has no color"),
    ],
)
def test_error_names_the_line(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "a.jsonl"
    write_spans(path, [plain(1)])
    with path.open("a") as stream:
        stream.write(f"\n{line}\n")
    with pytest.raises(SpanFileError, match=what):
        spans_of(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("trace_id", 7), ("span_id", ""), ("kind", "no kind"), ("status", None), ("start_us", "1"),
        ("end_us", 1.5), ("tokens", {"input": "1"}), ("tokens", {"more": 1}), ("tokens", None),
        ("cost", "free"), ("labels", [1]), ("labels", None), ("attributes", []), ("input", 7),
        ("events", [{"name": "e"}]), ("events", [{"at_us": 1, "name": 7, "attributes": {}}]),
        ("links", [{"trace_id": 1, "span_id": "s", "attributes": {}}]), ("start_us", True),
        ("cost_source", "guess"), ("input_counts_cache", 1), ("start_us", 10**25),
        ("end_us", -1), ("start_ns", 1 << 63), ("tokens", {"input": 1 << 63}),
        ("tokens", {"output": -1}), ("cost", -0.1), ("cost", float("nan")), ("cost", 1e300),
        ("time_to_first_token_us", 1 << 63),
        ("events", [{"at_us": 1 << 63, "name": "e", "attributes": {}}]),
    ],
)  # fmt: skip
def test_value_of_another_type_is_refused(field: str, value: object) -> None:
    values = json.loads(json.dumps(plain(1).to_json()))
    assert span_from_json(values) == plain(1)
    with pytest.raises(ValueError, match=r"\w"):
        span_from_json({**values, field: value})


@pytest.mark.parametrize("field", [item.name for item in fields(Span)])
def test_nested_list_is_refused_in_every_field(field: str) -> None:
    values = json.loads(json.dumps(plain(1).to_json()))
    with pytest.raises(ValueError, match=r"\w"):
        span_from_json(values | {field: [["x"]]})


def test_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"treadle.spans": 99}\n')
    with pytest.raises(SpanFileError, match="version 99"):
        spans_of(tmp_path / "a.jsonl")


@pytest.mark.parametrize("text", ["hello", '{"other": 1}', "[]", "\x00\xff"])
def test_file_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(SpanFileError, match="Line 1 of a is neither"):
        spans_of(tmp_path / "a")


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_empty_file_has_no_spans(tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    assert spans_of(tmp_path / "a") == []


def test_truncated_compressed_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    write_spans(path, [plain(number, str(number) * 50) for number in range(2_000)])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(SpanFileError, match="truncated"):
        spans_of(path)
    path.write_bytes(b"no gzip")
    with pytest.raises(SpanFileError, match="Line 1"):
        spans_of(path)


def test_file_of_the_collector_is_read_line_by_line(tmp_path: Path) -> None:
    good, bad = span(name="good"), span(name="bad", spanId="")
    path = tmp_path / "traces.json.gz"
    lines = as_json(request(good)) + b"\n\n" + as_json(request(good, bad)) + b"\n"
    path.write_bytes(gzip.compress(lines))
    batches = list(read_spans(path))
    assert [[each.name for each in batch.spans] for batch in batches] == [["good"], ["good"]]
    assert [batch.rejected for batch in batches] == [0, 1]
    assert batches[1].reasons[0].startswith('line 3: span "bad"')


def test_request_may_span_many_lines(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(request(span(name="good")), indent=2))
    assert [each.name for each in spans_of(path)] == ["good"]


def test_endless_export_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed file of 1 MB can contain 1 GB of lines."""
    monkeypatch.setattr(span_files, "_LINE_LIMIT", 30)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b"x\n" * 20))
    with pytest.raises(SpanFileError, match="too far"):
        list(read_spans(path))


def test_error_names_the_broken_line_of_the_collector(tmp_path: Path) -> None:
    path = tmp_path / "traces.json"
    path.write_bytes(as_json(request(span())) + b'\n{"resourceSpans": [\n')
    with pytest.raises(SpanFileError, match="Line 2"):
        spans_of(path)
