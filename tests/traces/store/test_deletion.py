import base64
import json
import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.spans.runs import span
from tests.traces.store.dumps import dump
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanKind
from treadle.traces import TraceStore
from treadle.traces.store.deletion import Deleter
from treadle.traces.store.recount import wrong_sums
from treadle.traces.store.results import Deleted

IMAGE = base64.b64encode(random.Random(1).randbytes(4_000)).decode()


@pytest.fixture
def file_store(tmp_path: Path) -> Iterator[TraceStore]:
    """A new store in a SQLite file."""
    opened = TraceStore.open(tmp_path / "traces.db")
    yield opened
    opened.close()


def a_trace(number: int, count: int = 6, word: str = "") -> list[Span]:
    """A trace of its own hour, two of which are one thread."""
    picture = {"role": "user", "content": f"data:image/png;base64,{IMAGE}"}
    start = 1_700_000_000_000_000 + number * 3_600_000_000
    return [
        replace(
            span(
                f"s{place}",
                "s0" if place else None,
                trace_id=f"t{number}",
                kind=SpanKind.MODEL if place else SpanKind.RUN,
                start_us=start + place,
                end_us=start + 500,
            ),
            thread_id=f"thread{number // 2}",
            run_id=f"run{number}",
            model=f"model{number}" if place else None,
            labels=("all", f"label {number} {word}"),
            tokens=Usage(input=3, output=2),
            cost=0.01,
            input=json.dumps([{"role": "user", "content": f"the question {word}"}, picture]),
            output=f"an answer {word} {place}",
            attributes={"note": f"kept {word}"},
        )
        for place in range(count)
    ]


def whole_files(store: TraceStore) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(store.folder.iterdir()) if path.is_file())


@pytest.mark.parametrize(
    "gone", [{"threads": ["thread1"]}, {"runs": ["run2", "run3"]}, {"traces": ["t2", "t3", "no"]}]
)
def test_what_is_deleted_leaves_everything_as_if_it_had_never_come(
    new_address: NewAddress, gone: dict[str, list[str]]
) -> None:
    store, other = TraceStore.open(new_address()), TraceStore.open(new_address())
    for number in range(6):
        store.write(a_trace(number)).result()
    for number in (0, 1, 4, 5):
        other.write(a_trace(number)).result()

    deleted = store.delete(**gone)

    assert (deleted.spans, deleted.traces) == (12, 2)
    assert deleted.bytes > 0
    assert dump(store, ["question"]) == dump(other, ["question"])
    store.close()
    other.close()


def test_deleted_words_are_no_longer_in_the_files(file_store: TraceStore) -> None:
    word = "xylophonist"
    for number in range(40):
        secret = word if number == 20 else "plain"
        file_store.write(
            [replace(one, end_us=None) for one in a_trace(number, word=secret)]
        ).result()
        file_store.write(a_trace(number, word=secret)).result()
    assert word.encode() in whole_files(file_store)
    assert dump(file_store, [word])[f"search {word}"] != []

    file_store.delete(traces=["t20"])

    assert word.encode() not in whole_files(file_store)
    assert b"label 21 plain" in whole_files(file_store)


def test_an_attachment_stays_while_something_uses_it(store: TraceStore) -> None:
    store.write([*a_trace(0), *a_trace(1)]).result()
    assert len(dump(store)["blobs"]) == 1
    store.delete(traces=["t0"])
    assert len(dump(store)["blobs"]) == 1
    assert store.span("t1", "s3") == a_trace(1)[3]

    store.delete(traces=["t1"])

    assert dump(store)["blobs"] == []
    assert all(rows == [] for rows in dump(store).values())


def test_large_traces_go_in_steps_and_writing_goes_on(store: TraceStore) -> None:
    store.write(a_trace(0, count=1_300)).result()
    store.write(a_trace(1)).result()

    deleted = store.delete(threads=["thread0"])

    assert (deleted.spans, deleted.traces) == (1_306, 2)
    store.write(a_trace(2)).result()
    assert len(store.trace("t2").spans) == 6


def test_old_traces_are_pruned_by_their_end(store: TraceStore) -> None:
    for number in range(6):
        store.write(a_trace(number)).result()
    limit = a_trace(3)[0].start_us

    would = store.prune(before_us=limit, dry_run=True)
    seen = store.preview_prune(before_us=limit, max_bytes=None)
    assert Deleted(seen.spans, seen.traces, seen.bytes) == would
    assert seen.runs <= seen.traces
    assert seen.oldest_us == a_trace(0)[0].start_us
    assert seen.newest_us is not None
    assert seen.newest_us < limit
    assert (store.held().spans, store.held().traces) == (36, 6)
    assert len(dump(store)["traces"]) == 6
    assert store.prune(before_us=limit) == would
    assert (would.spans, would.traces) == (18, 3)
    with store.reader() as connection:
        left = connection.execute("SELECT trace_id FROM traces ORDER BY trace_id").fetchall()
    assert left == [("t3",), ("t4",), ("t5",)]
    assert store.prune(before_us=limit) == Deleted(0, 0, 0)


HOUR_US = 3_600_000_000
_WRITES = st.tuples(st.integers(0, 4), st.integers(0, 9))
"""The numbers of a trace and of a span."""
_STEPS = st.lists(st.lists(_WRITES, min_size=1, max_size=5) | st.integers(0, 16), max_size=8)
"""Batches of spans to write, and hours before which traces are pruned."""


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=_STEPS)
def test_pruning_between_late_spans_keeps_sums_exact(
    new_address: NewAddress, steps: list[list[tuple[int, int]] | int]
) -> None:
    left: dict[tuple[str, str], Span] = {}
    with closing(TraceStore.open(new_address())) as store:
        for step in steps:
            if isinstance(step, int):
                kept = {span.trace_id for span in left.values() if _end(span) >= step * HOUR_US}
                gone = [key for key in left if key[0] not in kept]
                assert store.prune(before_us=step * HOUR_US).spans == len(gone)
                for key in gone:
                    del left[key]
                continue
            written = [_hourly(*each) for each in step]
            store.write(written).result()
            left |= {(one.trace_id, one.span_id): one for one in written}
        with store.reader() as connection:
            assert wrong_sums(connection) == []
        traces = [store.trace(trace).spans for trace in {trace for trace, _ in left}]
        assert {(one.trace_id, one.span_id) for spans in traces for one in spans} == left.keys()
        assert store.held().spans == len(left)


def _hourly(trace: int, number: int) -> Span:
    """A finished span that starts some hours after its trace and lasts some hours."""
    begin = number * HOUR_US + trace * 100
    return replace(
        span(
            f"s{number}",
            "s0" if number else None,
            trace_id=f"t{trace}",
            kind=SpanKind.MODEL,
            start_us=begin,
            end_us=begin + (trace * 3 + number * 5) % 7 * HOUR_US,
        ),
        run_id=f"run{trace // 2}",
        model=f"model{number % 2}",
        tokens=Usage(input=number, output=1),
    )


def _end(span: Span) -> int:
    assert span.end_us is not None
    return span.end_us


def test_the_oldest_traces_are_pruned_until_the_rest_fits(file_store: TraceStore) -> None:
    for number in range(300):
        file_store.write(a_trace(number)).result()
    with file_store.reader() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()

    assert file_store.prune(max_bytes=pages * size) == Deleted(0, 0, 0)
    would = file_store.prune(max_bytes=pages * size // 2, dry_run=True)
    seen = file_store.preview_prune(before_us=a_trace(5)[0].start_us, max_bytes=pages * size // 2)
    assert Deleted(seen.spans, seen.traces, seen.bytes) == would
    deleted = file_store.prune(max_bytes=pages * size // 2)

    assert deleted == would
    assert 130 <= deleted.traces <= 170
    with file_store.reader() as connection:
        (oldest,) = connection.execute("SELECT min(start_us) FROM traces").fetchone()
    assert oldest == a_trace(deleted.traces)[0].start_us
    assert (file_store.folder / "traces.db").stat().st_size < pages * size * 2 // 3


def test_a_size_limit_is_reached_once(store: TraceStore) -> None:
    """The files of PostgreSQL do not shrink, so their size must not count twice."""
    for number in range(300):
        store.write(a_trace(number)).result()
    limit = store.held().bytes // 2

    deleted = [store.prune(max_bytes=limit).traces for _ in range(6)]

    assert 100 < deleted[0] < 200
    assert sum(deleted[1:]) < 60
    assert store.held().bytes <= limit * 1.1


def test_what_a_crash_left_of_deleted_words_goes_with_the_next_deletion(
    file_store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = "xylophonist"
    for number in range(4):
        file_store.write(a_trace(number, word=word if number == 1 else "")).result()
    with monkeypatch.context() as patch:
        patch.setattr(Deleter, "_clean", lambda _: None)
        file_store.delete(traces=["t1"])
    assert word.encode() in whole_files(file_store)

    assert file_store.delete(traces=["unknown"]) == Deleted(0, 0, 0)

    assert word.encode() not in whole_files(file_store)
