"""Values to choose from, against what plain Python counts."""

from collections import Counter
from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.traces.store.queries.filled_store import Filled, filled
from tests.traces.store.queries.naive import NaiveSpan
from tests.traces.store.queries.random_spans import random_query
from tests.traces.store.queries.small_segments import segment_constantly
from treadle.errors import UsageError
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import AnyField, Field, MetadataKey, Query, Rows, any_of
from treadle.traces.query.conditions import PROPERTIES
from treadle.traces.store.queries import facets
from treadle.traces.store.results import Facets, FieldValues

KEYS = (MetadataKey("tenant"), MetadataKey("seats"))
SPAN_FACETS: tuple[AnyField, ...] = (*facets.FACETS[Rows.SPANS], *KEYS)
ROW_FACETS: tuple[AnyField, ...] = (Field.OPERATION, Field.MODEL, Field.LABEL, Field.USER, *KEYS)
COUNTED: tuple[AnyField, ...] = (*sorted(facets.COUNTED - {Field.METADATA}), *KEYS)


def values_of(found: NaiveSpan, field: AnyField) -> set[str]:
    span = found.span
    if isinstance(field, MetadataKey) or field in PROPERTIES:
        named = found.properties.get(field.value)
        return set() if named is None else {named}
    value = {
        Field.STATUS: span.status.value,
        Field.KIND: span.kind.value,
        Field.OPERATION: span.operation,
        Field.MODEL: span.model,
        Field.PROVIDER: span.provider,
        Field.NAME: span.name,
        Field.THREAD: found.thread,
        Field.RUN: found.run,
    }.get(field)
    if field is Field.LABEL:
        return set(found.labels)
    return {value} if value else set()


def counted(rows: Iterable[set[str]]) -> dict[str, int]:
    return dict(Counter(value for row in rows for value in row))


def of(found: Facets, field: AnyField) -> FieldValues:
    listed = (each for each in found.data if each.field == field.value)
    return next(listed, FieldValues(field.value, (), more=False))


def counts_of(values: FieldValues) -> dict[str, int]:
    counts = {each.value: each.count or 0 for each in values.values}
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    return counts


def without(query: Query, field: AnyField) -> Query:
    """Without the conditions on the field; that against Treadle's own calls stays."""
    own = OF_OTHERS.conditions
    return Query(tuple(each for each in query.conditions if each.about != field or each in own))


@settings(max_examples=10)
@given(st.integers(0, 1 << 32))
def test_each_facet_is_counted_without_its_own_conditions(
    new_address: NewAddress, seed: int
) -> None:
    random = Random(seed)
    with filled(random, new_address) as there:
        for _ in range(8):
            query = random_query(random, there.spans)
            found = there.store.facets(Rows.SPANS, query, limit=1_000)
            assert found.complete
            for field in SPAN_FACETS:
                fitting = there.fitting(without(query, field))
                expected = counted(values_of(each, field) for each in fitting)
                assert counts_of(of(found, field)) == expected, (field, query)
            check_rows(there, query)


@settings(max_examples=10)
@given(st.integers(0, 1 << 32))
def test_facets_are_the_same_from_segments(new_address: NewAddress, seed: int) -> None:
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        segment_constantly(patch)
        with filled(random, new_address) as there:
            for _ in range(8):
                query = random_query(random, there.spans)
                found = there.store.facets(Rows.SPANS, query, limit=1_000)
                for field in SPAN_FACETS:
                    fitting = there.fitting(without(query, field))
                    expected = counted(values_of(each, field) for each in fitting)
                    assert counts_of(of(found, field)) == expected, (field, query)


def check_rows(there: Filled, query: Query) -> None:
    for rows in (Rows.RUNS, Rows.THREADS):
        found = there.store.facets(rows, query, limit=1_000)
        for field in ROW_FACETS:
            rest = without(query, field)
            listed = (
                {each.run_id for each in there.store.runs(rest, limit=1_000).data}
                if rows is Rows.RUNS
                else {each.thread_id for each in there.store.threads(rest, limit=1_000).data}
            )
            values: dict[str, set[str]] = {each: set() for each in listed}
            for span in there.spans:
                row = span.run if rows is Rows.RUNS else span.thread
                if row in values:
                    values[row] |= values_of(span, field)
            assert counts_of(of(found, field)) == counted(values.values()), (rows, field, query)
    statuses = of(there.store.facets(Rows.RUNS, query), Field.STATUS)
    runs = there.store.runs(without(query, Field.STATUS), limit=1_000).data
    assert counts_of(statuses) == counted({each.status.value} for each in runs)


@settings(max_examples=10)
@given(st.integers(0, 1 << 32))
def test_values_are_those_of_what_fits_and_hold_the_text(
    new_address: NewAddress, seed: int
) -> None:
    random = Random(seed)
    with filled(random, new_address) as there:
        for _ in range(10):
            query = random_query(random, there.spans)
            field = random.choice(COUNTED)
            text = random.choice(("", "", "g", "GPT", "a", "t", "nowhere", "%", "*"))
            found = there.store.values(field, query, text=text, limit=1_000)
            expected = counted(values_of(each, field) for each in there.fitting(query))
            held = {
                value: count for value, count in expected.items() if text.lower() in value.lower()
            }
            assert {each.value: each.count for each in found.values} == held, (field, query, text)
            begun = [each.value.lower().startswith(text.lower()) for each in found.values]
            assert begun == sorted(begun, reverse=True)
            assert not found.more


def test_a_list_is_cut_and_says_so(
    monkeypatch: pytest.MonkeyPatch, new_address: NewAddress
) -> None:
    with filled(Random(3), new_address) as there:
        assert there.store.values(Field.RUN, limit=1).more
        assert len(there.store.values(Field.RUN, limit=1).values) == 1
        assert of(there.store.facets(limit=1), Field.KIND).more
        with pytest.raises(UsageError, match="cost"):
            there.store.values(Field.COST)
        monkeypatch.setattr(facets, "MAX_READ_SPANS", 3)
        some = Query((any_of(Field.NAME, ["none"], negated=True),))
        found = there.store.facets(query=some)
        assert not found.complete
        assert sum(counts_of(of(found, Field.STATUS)).values()) <= 4


def test_key_with_a_value_for_each_span_is_not_a_facet(
    monkeypatch: pytest.MonkeyPatch, new_address: NewAddress
) -> None:
    monkeypatch.setattr(facets, "_MAX_FACET_VALUES", 1)
    with filled(Random(3), new_address) as there:
        keys = there.store.metadata_keys(limit=10)
        assert keys == (MetadataKey("seats"),)
        assert {each.field for each in there.store.facets().data} >= {"user", "metadata.seats"}
        assert of(there.store.facets(), MetadataKey("tenant")).values == ()
