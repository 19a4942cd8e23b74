"""Sums that are read from segments, after the spans of these segments changed."""

from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spans.runs import span
from tests.traces.store.queries import naive
from tests.traces.store.queries.random_spans import random_span
from tests.traces.store.queries.small_segments import segment_constantly
from tests.traces.store.queries.test_groups import GROUPINGS, plain
from treadle.traces import SqliteTraceStore
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import Field, GroupBy, Query, any_of

READ_FROM_SEGMENTS = Query((any_of(Field.NAME, ["a name that no span has"], negated=True),))
"""Matches all spans, but the stored sums cannot answer it."""


def segments_of(store: SqliteTraceStore) -> int:
    with store.reader() as connection:
        found: int = connection.execute("SELECT count(*) FROM segments").fetchone()[0]
        return found


@settings(max_examples=10)
@given(st.integers(0, 1 << 32))
def test_sums_are_exact_after_late_spans_and_deletions(seed: int) -> None:
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        segment_constantly(patch)
        store = SqliteTraceStore.open(Path(folder) / "traces.db")
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
    store = SqliteTraceStore.open(path)
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
