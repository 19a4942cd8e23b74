"""Texts that are too long for an index of PostgreSQL are stored, and the span is complete."""

import random
import string
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines import PostgresServer
from tests.traces.store.contract import full_span
from treadle.database import PostgresAddress
from treadle.spans.span import Span
from treadle.traces import TraceStore
from treadle.traces.store.long_texts import LIMIT, shortened
from treadle.traces.store.statements import pack_text, unpacked

LONG = "".join(random.Random(1).choices(string.printable, k=20_000))


@pytest.fixture
def store(postgres: PostgresServer, tmp_path: Path) -> Iterator[TraceStore]:
    address = PostgresAddress(postgres.new_database(), "default", "traces", tmp_path)
    opened = TraceStore.open(address)
    yield opened
    opened.close()


def whole(number: int, **changes: object) -> Span:
    return replace(full_span(), trace_id="t", span_id=f"s{number}", **changes)  # type: ignore[arg-type]


def test_a_span_with_long_texts_is_stored_completely(store: TraceStore) -> None:
    fields = ("name", "operation", "model", "provider", "run_id", "thread_id", "parent_id")
    spans = [whole(number, **{name: LONG}) for number, name in enumerate(fields)]
    spans += [
        whole(10, labels=(LONG, "short")),
        whole(11, metadata={LONG[:5_000]: LONG}),
        whole(12, user=LONG, release=LONG),
    ]
    store.write(spans).result()
    for span in spans:
        assert store.span("t", span.span_id) == span
    other = LONG[:-1] + "?"
    store.write([whole(20, model=LONG), whole(21, model=other)]).result()
    models = {row.model for row in store.spans().data}
    assert len({name for name in models if name and name.startswith(LONG[:500])}) == 2


def test_spans_with_long_ids_are_found_by_the_ids_in_the_list(store: TraceStore) -> None:
    span = replace(full_span(), trace_id=LONG, span_id=LONG)
    store.write([span]).result()
    store.write([span]).result()
    (row,) = store.spans().data
    assert store.span(row.trace_id, row.span_id) == span


@given(st.text(max_size=3_000), st.text(max_size=3_000))
def test_short_texts_stay_and_different_texts_stay_different(one: str, other: str) -> None:
    results = [shortened(pack_text(text)) for text in (one, other)]
    assert (results[0] == results[1]) == (one == other)
    for text, result in zip((one, other), results, strict=True):
        assert len(unpacked(result).encode("utf-8", "surrogatepass")) <= LIMIT
        if len(text.encode("utf-8", "surrogatepass")) <= LIMIT:
            assert unpacked(result) == text
