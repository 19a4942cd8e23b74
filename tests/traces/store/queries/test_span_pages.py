from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.traces.store.queries import naive
from tests.traces.store.queries.filled_store import filled, walked
from tests.traces.store.queries.random_spans import random_query, random_sort, random_span
from treadle.errors import UsageError
from treadle.traces import TraceStore
from treadle.traces.query import Page, Query, Sort, SortKey, parse_query
from treadle.traces.store.queries import conditions, span_pages, span_sources, text_matches
from treadle.traces.store.results import ListedSpan

SEEDS = st.integers(0, 1 << 32)


def identity(span: ListedSpan) -> tuple[str, str]:
    return span.trace_id, span.span_id


@settings(max_examples=8)
@given(SEEDS)
def test_pages_hold_what_fits_in_order_whatever_is_asked(
    new_address: NewAddress, seed: int
) -> None:
    check_pages(Random(seed), new_address)


@settings(max_examples=6)
@given(SEEDS)
def test_pages_are_the_same_where_there_is_much_of_everything(
    new_address: NewAddress, seed: int
) -> None:
    """A million spans would take a test too long, so what counts as many is made few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(span_pages, "_LOOKED_AT", 4)
        patch.setattr(span_pages, "_COUNTED", 3)
        patch.setattr(span_sources, "_COUNTED_IN_RANGE", 3)
        patch.setattr(text_matches, "_COUNTED_MATCHES", 3)
        patch.setattr(span_sources, "_SIFTED", 1)
        patch.setattr(span_sources, "_WHOLE_ROWS", 1 << 40)
        patch.setattr(conditions, "_FEW_VALUES", 1)
        check_pages(Random(seed), new_address)


@settings(max_examples=4)
@given(SEEDS)
def test_pages_are_the_same_where_there_are_too_many_names_for_a_pattern(
    new_address: NewAddress, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditions, "_MAX_NAMES", 1)
        patch.setattr(conditions, "_MAX_SIMILAR", 1)
        check_pages(Random(seed), new_address)


def check_pages(random: Random, new_address: NewAddress) -> None:
    with filled(random, new_address) as there:
        for _ in range(15):
            query, sort = random_query(random, there.spans), random_sort(random)
            limit = random.choice((1, 3, 10, 1000))
            expected = naive.in_order(there.fitting(query), sort, there.keys)
            offset = random.randrange(len(expected) + 2)

            def page(
                cursor: str | None, query: Query = query, sort: Sort = sort, limit: int = limit
            ) -> Page[ListedSpan]:
                return there.store.spans(query, sort=sort, limit=limit, cursor=cursor)

            rows, total = walked(page)
            part = there.store.spans(query, sort=sort, limit=5, offset=offset).data

            assert list(map(identity, rows)) == expected
            assert total in {None, len(expected)}
            assert list(map(identity, part)) == expected[offset : offset + 5]


@settings(max_examples=6)
@given(SEEDS)
def test_a_walk_shows_each_span_once_while_others_arrive(
    new_address: NewAddress, seed: int
) -> None:
    random = Random(seed)
    with filled(random, new_address) as there:
        query, sort = random_query(random, there.spans), random_sort(random)
        expected = naive.in_order(there.fitting(query), sort, there.keys)
        later = set[str]()

        def arrive() -> None:
            trace_id = f"later {len(later)}"
            later.add(trace_id)
            span = replace(random_span(random), trace_id=trace_id, thread_id=None, run_id=None)
            there.store.write([span]).result()

        rows, _ = walked(
            lambda cursor: there.store.spans(query, sort=sort, limit=3, cursor=cursor), arrive
        )

        identities = list(map(identity, rows))
        assert [each for each in identities if each[0] not in later] == expected
        assert len(set(identities)) == len(identities)


@given(SEEDS)
@settings(max_examples=4)
def test_listed_spans_have_run_thread_and_counted(new_address: NewAddress, seed: int) -> None:
    with filled(Random(seed), new_address) as there:
        rows, _ = walked(lambda cursor: there.store.spans(limit=1000, cursor=cursor))

        told = {identity(row): (row.run_id, row.thread_id, row.counted) for row in rows}
        assert told == {
            span.identity: (span.run, span.thread, span.counted) for span in there.spans
        }


def test_a_cursor_of_another_query_or_order_is_refused(new_address: NewAddress) -> None:
    errors = parse_query("status:error", now_us=0)
    with filled(Random(1), new_address) as there:
        cursor = there.store.spans(limit=1).pagination.next_cursor

        with pytest.raises(UsageError, match="another query or another order"):
            there.store.spans(errors, limit=1, cursor=cursor)
        with pytest.raises(UsageError, match="another query or another order"):
            there.store.spans(sort=Sort(SortKey.COST), limit=1, cursor=cursor)
        with pytest.raises(UsageError, match="another query or another order"):
            there.store.runs(limit=1, cursor=cursor)


@pytest.mark.parametrize("page", [{"limit": 0}, {"limit": 1001}, {"offset": -1}])
def test_a_page_that_cannot_be_is_refused(page: dict[str, int], new_address: NewAddress) -> None:
    with filled(Random(1), new_address) as there, pytest.raises(UsageError):
        there.store.spans(Query(), **page)  # type: ignore[arg-type]  # numbers by name


def test_pattern_may_match_thousands_of_users(new_address: NewAddress) -> None:
    store = TraceStore.open(new_address())
    plain = random_span(Random(1))
    store.write(
        [replace(plain, trace_id=f"t{n}", user=f"u{n}", run_id=None) for n in range(1_200)]
    ).result()

    all_but_two = store.spans(parse_query("user:u* -user:u7,u8", now_us=0), limit=1)
    others = store.spans(parse_query("not user:u1*", now_us=0), limit=1_000)
    store.close()

    assert all_but_two.pagination.total == 1_198
    assert others.pagination.total == 1_200 - 311
