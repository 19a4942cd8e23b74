"""Stored findings equal those of the detectors, whatever happened to the spans."""

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spans.runs import span
from treadle.diagnosis import findings as findings_module
from treadle.diagnosis.detectors import Finding, Kind, Rule, detect
from treadle.diagnosis.findings import examiners, findings
from treadle.spans.span import Span, SpanEvent, SpanKind, SpanStatus
from treadle.traces import TraceStore
from treadle.traces.query import Field, Query, any_of
from treadle.traces.store import examination_writer
from treadle.traces.store.examinations import KEYED_BY_SPAN
from treadle.traces.store.queries import examinations as reading

FAILED = json.dumps({"ok": False, "error": "The service is down."})
TEXTS = [
    FAILED,
    FAILED.replace(" ", ""),
    "Error: disk is full",
    "4 degrees",
    "[]",
    "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'ü \ud800'",
    "",
]
RULES = [
    (),
    (Rule("degrees", r"\d degrees"),),
    (Rule("degrees", r"\d degrees"), Rule("disk", "disk", fields=("output*",))),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    opened = TraceStore.open(tmp_path / "traces.db")
    yield opened
    opened.close()


def tool(span_id: str, output: str | None, **changes: object) -> Span:
    call = replace(
        span(span_id, kind=SpanKind.TOOL),
        name="execute_tool get_weather",
        operation="execute_tool",
        input='{"city": "Oslo"}',
        output=output,
    )
    return replace(call, **changes)  # type: ignore[arg-type]  # names of fields


def request(span_id: str, results: Sequence[str], **changes: object) -> Span:
    """A model call with these results in its history."""
    history: list[dict[str, object]] = [{"role": "user", "content": "?"}]
    for number, result in enumerate(results):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
        }
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
        history.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    made = replace(
        span(span_id, kind=SpanKind.MODEL),
        operation="chat",
        input=json.dumps(history),
        output='[{"role": "assistant", "content": "Fine.", "finish_reason": "length"}]',
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # names of fields


@st.composite
def versions(draw: st.DrawFn) -> Span:
    """A version of one of a few spans."""
    start = draw(st.sampled_from([5, 5, 7, 9, 4_000_000_000]))
    changes = {
        "trace_id": draw(st.sampled_from(["t1", "t2"])),
        "start_us": start,
        "end_us": draw(st.sampled_from([None, start + 10])),
        "thread_id": draw(st.sampled_from([None, "th"])),
        "labels": draw(st.sampled_from([(), ("x",)])),
    }
    span_id = draw(st.sampled_from(["a", "b", "c", "d", "e"]))
    if draw(st.booleans()):
        return request(span_id, draw(st.lists(st.sampled_from(TEXTS), max_size=3)), **changes)
    failed = draw(st.booleans())
    return tool(
        span_id,
        None if failed else draw(st.sampled_from(TEXTS)),
        status=SpanStatus.ERROR if failed else SpanStatus.OK,
        error="The service is down." if failed else None,
        events=draw(st.sampled_from([(), (SpanEvent(6, "exception"),)])),
        **changes,
    )


@dataclass(frozen=True)
class Step:
    """An event of a store: spans are written, deleted or examined."""

    write: Sequence[Span] = ()
    delete: str = ""
    examine: int = 0
    rules: Sequence[Rule] = ()


steps = st.one_of(
    st.builds(Step, write=st.lists(versions(), min_size=1, max_size=4)),
    st.builds(Step, write=st.lists(versions(), min_size=1, max_size=4)),
    st.builds(Step, delete=st.sampled_from(["t1", "t2"])),
    st.builds(Step, examine=st.integers(1, 3), rules=st.sampled_from(RULES)),
)
queries = st.sampled_from(
    [
        Query(),
        Query((any_of(Field.LABEL, ["x"]),)),
        Query((any_of(Field.TRACE, ["t1"]),)),
        Query((any_of(Field.THREAD, ["th"]),)),
        Query((any_of(Field.KIND, ["tool"]),)),
    ]
)


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, max_size=8), queries, st.sampled_from(RULES), st.booleans())
def test_stored_findings_equal_those_of_the_spans(
    history: list[Step], query: Query, rules: Sequence[Rule], ahead: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore.open(Path(folder) / "traces.db")
        with closing(store):
            for step in history:
                store.write(step.write).result()
                if step.delete:
                    store.delete(traces=[step.delete])
                if step.examine:
                    store.examine(examiners(step.rules), most=step.examine)
            if ahead:
                store.examine(examiners(rules))
            there = spans_of(store, query)
            found = findings(store, query, rules=rules)

    assert found.data == detect(there, rules)
    assert (found.spans, found.unexamined, found.total) == (len(there), 0, len(found.data))


def spans_of(store: TraceStore, query: Query) -> list[Span]:
    listed = store.spans(query, limit=100).data
    return [found for each in listed if (found := store.span(each.trace_id, each.span_id))]


def kinds(found: Sequence[Finding]) -> list[tuple[str, Kind]]:
    return [(each.evidence.span.span_id, each.kind) for each in found]


def rows(store: TraceStore) -> int:
    """The number of stored results."""
    with store.reader() as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in KEYED_BY_SPAN
        ]
    return sum(counts)


def test_empty_store_has_no_findings(store: TraceStore) -> None:
    found = findings(store, rules=RULES[1])
    assert (found.snapshot, found.spans, found.unexamined, found.data) == (0, 0, 0, ())
    assert store.examine(examiners()) == 0


def test_each_version_is_examined_once(store: TraceStore) -> None:
    store.write([tool(f"s{number}", FAILED) for number in range(450)]).result()
    counts = [store.examine(examiners(), most=most) for most in (300, None, None)]
    assert counts == [300, 150, 0]
    store.write([tool("s0", "", attributes={"more": 1}), span("other")]).result()
    assert store.examine(examiners()) == 2
    assert len(findings(store).data) == 450


def test_changed_rules_are_examined_again(store: TraceStore) -> None:
    store.write([tool("s", "4 degrees"), tool("other", FAILED)]).result()
    first, second = RULES[1], RULES[2]
    assert [each.kind for each in findings(store, rules=first).data if each.detector[:5] == "rule:"]
    assert store.examine(examiners(first)) == 0
    assert store.examine(examiners(second)) == 2, "the rules changed"
    assert store.examine(examiners()) == 0, "but the detectors did not"
    assert len(findings(store).data) == 1
    assert len(findings(store, rules=second).data) == 2


def test_changed_detectors_examine_again(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write([tool(f"s{number}", FAILED) for number in range(5)]).result()
    assert store.examine(examiners()) == 5
    with monkeypatch.context() as patch:
        patch.setattr(findings_module, "_digest_of_detectors", lambda: b"other")
        patch.setattr(examination_writer, "_DELETED_AT_ONCE", 2)
        assert store.examine(examiners()) == 5
        assert store.examine(examiners()) == 0
        assert findings(store).total == 5
    assert findings(store).total == 5
    assert rows(store) == 5


def test_deleted_span_leaves_no_findings(store: TraceStore) -> None:
    rule = Rule("secret", "needle-[0-9]+")
    text = json.dumps({"ok": False, "error": "needle-4711 is broken"})
    store.write([tool("s", text, trace_id="gone"), tool("t", FAILED)]).result()
    assert findings(store, rules=[rule]).total == 3
    store.delete(traces=["gone"])
    assert rows(store) == 1
    assert findings(store, rules=[rule]).total == 1
    held = b"".join(path.read_bytes() for path in store.folder.iterdir())
    assert b"needle" not in held


def test_number_of_unexamined_spans_is_reported(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treadle.traces.store.trace_store._EXAMINED_FIRST", 2)
    monkeypatch.setattr(reading, "MAX_EXAMINED_SPANS", 3)
    store.write([tool(f"s{number}", FAILED, start_us=number) for number in range(9)]).result()
    found = findings(store)
    assert (found.spans, found.unexamined, found.total) == (9, 4, 5)
    assert [each.evidence.span.span_id for each in found.data] == ["s0", "s1", "s6", "s7", "s8"]
    asked = findings(store, Query((any_of(Field.SPAN, ["s5"]),)))
    assert (asked.spans, asked.unexamined, asked.total) == (1, 0, 1)
    for _ in range(5):
        found = findings(store)
    assert (found.unexamined, found.total) == (0, 9)


def test_limit_keeps_the_most_severe_in_order_of_time(store: TraceStore) -> None:
    store.write(
        [
            tool("empty", "[]", start_us=1),
            tool("late", "Error: the request timed out", start_us=2),
            tool("failed", FAILED, start_us=3),
            tool("again", "Error: disk is full", start_us=4),
        ]
    ).result()
    found = findings(store, limit=3)
    assert found.total == 4
    assert [each.evidence.span.span_id for each in found.data] == ["late", "failed", "again"]
    assert kinds(findings(store, limit=0).data) == []


def test_several_stores_of_one_file_examine_together(store: TraceStore) -> None:
    other = TraceStore.open(store.folder / "traces.db")
    store.write([tool(f"s{number}", FAILED, start_us=number) for number in range(600)]).result()
    with closing(other):
        assert other.examine(examiners(), most=200) == 200
        assert store.examine(examiners(), most=200) == 200
        assert findings(other).data == findings(store).data
        assert len(findings(other).data) == 600


def test_file_without_examination_tables_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    store = TraceStore.open(path)
    store.write([tool("s", FAILED)]).result()
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in (*KEYED_BY_SPAN, "examinations"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("PRAGMA user_version = 3")

    store = TraceStore.open(path)
    with closing(store):
        assert findings(store).total == 1
