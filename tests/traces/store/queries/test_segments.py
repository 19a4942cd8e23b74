"""Sums that are read from segments, after the spans of these segments changed."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.spans.runs import span
from tests.traces.store.queries import naive
from tests.traces.store.queries.random_spans import random_span
from tests.traces.store.queries.small_segments import segment_constantly
from tests.traces.store.queries.test_groups import GROUPINGS, plain
from treadle.database import transaction
from treadle.events.types import Usage
from treadle.traces import TraceStore
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import Field, GroupBy, MetadataKey, Query, any_of, parse_query
from treadle.traces.store import segment_builder
from treadle.traces.store.queries import segment_scan

READ_FROM_SEGMENTS = Query((any_of(Field.NAME, ["a name that no span has"], negated=True),))
"""Matches all spans, but the stored sums cannot answer it."""


def segments_of(store: TraceStore) -> int:
    with store.reader() as connection:
        found: int = connection.execute("SELECT count(*) FROM segments").fetchone()[0]
        return found


@settings(max_examples=10)
@given(st.integers(0, 1 << 32))
def test_sums_are_exact_after_late_spans_and_deletions(new_address: NewAddress, seed: int) -> None:
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        segment_constantly(patch)
        store = TraceStore.open(new_address())
        versions = []
        for _ in range(6):
            batch = [random_span(random) for _ in range(random.randrange(1, 30))]
            store.write(batch).result()
            versions += batch
            deleted = random.choice(versions).trace_id
            store.delete(traces=[deleted])
            versions = [each for each in versions if each.trace_id != deleted]
            expected = naive.kept(versions)
            for by, query in product(GROUPINGS, (READ_FROM_SEGMENTS, OF_OTHERS)):
                fitting = [each for each in expected if naive.fits(each, query)]
                page = store.groups(by, query, limit=1000)
                groups = {each.value: plain(each.sums) for each in page.data}
                assert groups == naive.groups(fitting, by, 3600)
        store.close()


def test_file_has_no_bytes_of_deleted_spans_in_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment_constantly(monkeypatch)
    path = tmp_path / "traces.db"
    store = TraceStore.open(path)
    for number in range(40):
        name = "confidential" if number == 20 else "public"
        start = number * 1_000
        store.write([span(name, trace_id=f"trace {number}", start_us=start, end_us=start)]).result()
    assert segments_of(store) > 2

    store.delete(traces=["trace 20"])
    found = store.groups(GroupBy.OPERATION, Query((any_of(Field.NAME, ["confidential"]),)))
    store.close()

    assert found.data == ()
    assert b"confidential" not in path.read_bytes()


def test_segment_that_another_process_wrote_again_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    segment_constantly(monkeypatch)
    path = tmp_path / "traces.db"
    spans = [
        span(str(each), trace_id=f"t{each}", start_us=each, end_us=9 + each) for each in range(30)
    ]
    with closing(TraceStore.open(path)) as store:
        for each in spans:
            store.write([each]).result()

        @contextmanager
        def later(connection: sqlite3.Connection) -> Iterator[None]:
            monkeypatch.setattr(segment_builder, "transaction", transaction)
            with closing(TraceStore.open(path)) as other:
                other.write([replace(spans[0], output="a longer version")]).result()
            with transaction(connection):
                yield

        monkeypatch.setattr(segment_builder, "transaction", later)
        with caplog.at_level(logging.WARNING):
            store.write([replace(each, output="longer") for each in spans[:6]]).result()

    assert caplog.messages == []


def test_tokens_of_a_filter_are_added_without_overflow(
    new_address: NewAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment_constantly(monkeypatch)
    counts = ((1 << 63) - 1, 3)
    with closing(TraceStore.open(new_address())) as store:
        for each in range(30):
            one = span("a", trace_id=f"t{each}", start_us=each, end_us=9 + each)
            store.write([replace(one, tokens=Usage(*(counts if each % 2 else (2, 3))))]).result()
        assert segments_of(store)

        for query, expected in (("tokens>=6", 15), ("tokens<=1000", 15)):
            found = store.groups(GroupBy.OPERATION, parse_query(query, now_us=0)).data
            assert [group.sums.totals.spans for group in found] == [expected]


@pytest.mark.parametrize("fewest", [0, 1 << 60])
def test_values_that_differ_after_a_nul_are_different_groups(
    new_address: NewAddress, monkeypatch: pytest.MonkeyPatch, fewest: int
) -> None:
    segment_constantly(monkeypatch)
    monkeypatch.setattr(segment_scan, "FEWEST_SPANS", fewest)
    with closing(TraceStore.open(new_address())) as store:
        for each in range(30):
            value = "a\0b" if each % 3 else "a"
            one = span("a", trace_id=f"t{each}", start_us=each, end_us=9 + each)
            given = replace(one, user=value, metadata={"key": value}, labels=(value,))
            store.write([given]).result()

        for by in (GroupBy.USER, GroupBy.LABEL, MetadataKey("key")):
            page = store.groups(by, READ_FROM_SEGMENTS, figures=True)
            found = {group.value: (group.sums.totals.spans, group.runs) for group in page.data}
            assert found == {"a\0b": (20, 20), "a": (10, 10)}
