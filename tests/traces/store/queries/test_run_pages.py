import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.spans.runs import span
from tests.traces.store.queries import naive
from tests.traces.store.queries.filled_store import Filled, filled, walked
from tests.traces.store.queries.naive_runs import naive_runs
from tests.traces.store.queries.random_spans import random_query
from treadle.database import StoreAddress
from treadle.spans.span import ROOT_WAIT_SECONDS, Span, SpanKind, SpanStatus, Trace
from treadle.traces import TraceStore
from treadle.traces.query import Condition, Field, Page, Query, Sort, SortKey, parse_query
from treadle.traces.store.percentiles import percentiles
from treadle.traces.store.queries import run_pages
from treadle.traces.store.results import ListedError, RunSummary, ThreadSummary

SEEDS = st.integers(0, 1 << 32)
_OWN = (Field.STATUS, Field.DURATION, Field.COST, Field.TOKENS, Field.INPUT, Field.OUTPUT)
_OF_THE_WHOLE = frozenset((*_OWN, Field.CACHED, Field.START, Field.ERROR))


def first_faults(spans: list[naive.NaiveSpan]) -> list[tuple[str, str] | None]:
    """The earliest failed spans without a failed child. Several may start in one microsecond."""
    failed = [each.span for each in spans if each.fault]
    first = min((each.start_us for each in failed), default=None)
    return [(e.trace_id, e.span_id) for e in failed if e.start_us == first] or [None]


def _error(error: ListedError | None) -> tuple[str, str] | None:
    return None if error is None else (error.trace_id, error.span_id)


@settings(max_examples=8)
@given(SEEDS)
def test_runs_are_the_sums_of_their_spans(new_address: NewAddress, seed: int) -> None:
    with filled(Random(seed), new_address) as there:
        rows, total = walked(lambda cursor: there.store.runs(limit=2, cursor=cursor))

        expected = {run.run_id: run for run in naive_runs(there.spans)}
        assert total == len(expected)
        starts = [row.start_us for row in rows]
        assert starts == sorted(starts, reverse=True)
        for row in rows:
            run = expected.pop(row.run_id)
            root = run.root.span
            assert (row.trace_id, row.name) == (root.trace_id, root.name)
            assert (row.status, row.duration_us) == (run.status, run.duration_us)
            assert _error(row.error) in first_faults(run.spans)
            assert row.thread_id == run.spans[0].thread
            assert row.start_us == min(each.span.start_us for each in run.spans)
            sums = naive.sums(run.spans)
            assert row.sums.totals.spans == sums.spans
            assert row.sums.totals.model_calls == sums.model_calls
            assert row.sums.errors == sums.errors
            assert set(row.models) == {each.span.model for each in run.spans} - {None}
            assert set(row.labels) == {label for each in run.spans for label in each.labels}
        assert not expected


@settings(max_examples=8)
@given(SEEDS)
def test_a_run_fits_where_one_of_its_spans_does(new_address: NewAddress, seed: int) -> None:
    random = Random(seed)
    with filled(random, new_address) as there:
        known = naive_runs(there.spans)
        for _ in range(15):
            query = _about_spans(random_query(random, there.spans))
            fitting = {run.run_id for run in known if _fits(run.spans, query)}

            rows, _ = walked(partial(_runs, there, query, Sort(), 50))

            assert {row.run_id for row in rows} == fitting


@settings(max_examples=6)
@given(SEEDS)
def test_totals_are_those_of_the_listed_runs(new_address: NewAddress, seed: int) -> None:
    random = Random(seed)
    with filled(random, new_address) as there:
        known = naive_runs(there.spans)
        for _ in range(10):
            query = random_query(random, there.spans)
            rows, _ = walked(partial(_runs, there, query, Sort(), 50))
            listed = {row.run_id for row in rows}
            runs = [run for run in known if run.run_id in listed]

            totals = there.store.run_totals(query)

            assert totals.runs == len(runs)
            assert totals.failed_runs == sum(run.status is SpanStatus.ERROR for run in runs)
            sums = naive.sums([each for run in runs for each in run.spans])
            assert (totals.sums.totals.spans, totals.sums.faults) == (sums.spans, sums.faults)
            assert round((totals.sums.totals.cost or 0) * naive.NANO) == sums.nano
            durations = [run.duration_us for run in runs if run.duration_us is not None]
            assert totals.duration == percentiles(durations)


@settings(max_examples=5)
@given(SEEDS)
def test_runs_are_the_same_beyond_all_limits(new_address: NewAddress, seed: int) -> None:
    """The limits are so small that all of them apply."""
    random = Random(seed)
    with filled(random, new_address) as there, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_pages, "_FEW_SPANS", 0)
        patch.setattr(run_pages, "_RECENT_SPANS", 3)
        patch.setattr(run_pages, "_MAX_TOTAL", 2)
        known = naive_runs(there.spans)
        for _ in range(15):
            query = _about_spans(random_query(random, there.spans))
            fitting = {run.run_id for run in known if _fits(run.spans, query)}

            rows, total = walked(partial(_runs, there, query, Sort(), 1))

            assert {row.run_id for row in rows} == fitting
            assert total in {None, len(fitting)}


@settings(max_examples=8)
@given(SEEDS)
def test_a_thread_fits_where_one_of_its_spans_does(new_address: NewAddress, seed: int) -> None:
    random = Random(seed)
    with filled(random, new_address) as there:
        threads = _threads(there)
        for _ in range(15):
            query = _about_spans(random_query(random, there.spans))
            fitting = {thread for thread, spans in threads.items() if _fits(spans, query)}

            rows, _ = walked(partial(_threads_page, there, query))

            assert {row.thread_id for row in rows} == fitting
            for row in rows:
                assert row.sums.totals.spans == len(threads[row.thread_id])
                assert row.runs == len({each.run for each in threads[row.thread_id]})


@settings(max_examples=5)
@given(SEEDS)
def test_runs_are_sorted_by_what_they_add_up_to(new_address: NewAddress, seed: int) -> None:
    with filled(Random(seed), new_address) as there:
        for key in ("duration", "cost", "tokens"):
            for text in (key, f"-{key}"):
                sort = Sort(SortKey(key), ascending=text == key)
                rows, _ = walked(partial(_runs, there, Query(), sort, 1))
                values = [_value(row, key) for row in rows]
                known = [value for value in values if value is not None]

                assert len({row.run_id for row in rows}) == len(naive_runs(there.spans))
                assert known == sorted(known, reverse=not sort.ascending)
                assert values[len(known) :] == [None] * (len(values) - len(known))


def test_a_condition_on_a_sum_means_the_whole_run(new_address: NewAddress) -> None:
    with filled(Random(5), new_address) as there:
        costs = {run.run_id: naive.sums(run.spans).nano for run in naive_runs(there.spans)}
        dearest = max(costs.values())
        rows = there.store.runs(parse_query(f"cost>={dearest / naive.NANO:.9f}", now_us=0)).data

        assert [row.run_id for row in rows] == [
            run_id for run_id, cost in costs.items() if cost == dearest
        ]


def test_a_run_is_read_with_all_spans_of_its_traces(new_address: NewAddress) -> None:
    with filled(Random(7), new_address) as there:
        run = max(naive_runs(there.spans), key=lambda each: len(each.spans))
        found = there.store.run(run.run_id)

        assert isinstance(found, Trace)
        assert {(each.trace_id, each.span_id): each for each in found.spans} == {
            each.identity: each.span for each in run.spans
        }


def _runs(
    there: Filled, query: Query, sort: Sort, limit: int, cursor: str | None
) -> Page[RunSummary]:
    return there.store.runs(query, sort=sort, limit=limit, cursor=cursor)


def _threads_page(there: Filled, query: Query, cursor: str | None) -> Page[ThreadSummary]:
    return there.store.threads(query, limit=1, cursor=cursor)


def _value(row: RunSummary, key: str) -> float | None:
    totals = row.sums.totals
    used = [each for each in (totals.tokens.input, totals.tokens.output) if each is not None]
    tokens = sum(used) if used else None
    return {"duration": row.duration_us, "cost": totals.cost, "tokens": tokens}[key]


def _about_spans(query: Query) -> Query:
    """Without what means the whole."""
    return Query(tuple(each for each in query.conditions if each.field not in _OF_THE_WHOLE))


def _fits(spans: list[naive.NaiveSpan], query: Query) -> bool:
    return all(
        any(naive.fits(each, Query((_positive(condition),))) for each in spans)
        is not condition.negated
        for condition in query.conditions
    )


def _positive(condition: Condition) -> Condition:
    return replace(condition, negated=False)


def _threads(there: Filled) -> dict[str, list[naive.NaiveSpan]]:
    threads: dict[str, list[naive.NaiveSpan]] = defaultdict(list)
    for each in there.spans:
        threads[each.thread].append(each)
    return threads


@contextmanager
def stored_spans(address: StoreAddress, spans: Sequence[Span]) -> Iterator[TraceStore]:
    with closing(TraceStore.open(address)) as store:
        store.write(spans).result()
        yield store


def test_lists_show_the_failed_tool_and_not_the_run_that_failed_with_it(
    new_address: NewAddress,
) -> None:
    tool = replace(
        span("tool", "agent", kind=SpanKind.TOOL), status=SpanStatus.ERROR, error="no such file"
    )
    tool = replace(tool, name="execute_tool read_file", attributes={"error.type": "not_found"})
    chain = [replace(span("agent", "root"), status=SpanStatus.ERROR, error="tool failed"), tool]
    with stored_spans(new_address(), chain) as store:
        (run,) = store.runs().data
        assert run.sums.faults == 1
        store.write([replace(span("root"), status=SpanStatus.ERROR, error="tool failed")]).result()
        (run,), (thread,) = store.runs().data, store.threads().data
    assert run.status is SpanStatus.ERROR
    assert run.error == thread.error
    assert run.error == ListedError(
        "trace", "tool", "execute_tool read_file", "not_found", "no such file"
    )


def test_lists_state_the_type_of_an_error_once(new_address: NewAddress) -> None:
    failed = replace(span("root"), status=SpanStatus.ERROR, error="KeyError: 'fare'")
    with stored_spans(
        new_address(), [replace(failed, attributes={"error.type": "KeyError"})]
    ) as store:
        (run,) = store.runs().data
    assert run.error == ListedError("trace", "root", failed.name, "KeyError", "'fare'")


@pytest.mark.parametrize(
    ("age_seconds", "status"),
    [(0, SpanStatus.UNFINISHED), (ROOT_WAIT_SECONDS + 60, SpanStatus.OK)],
)
def test_run_without_its_root_is_unfinished_until_its_root_is_late(
    age_seconds: int, status: SpanStatus, new_address: NewAddress
) -> None:
    ended_us = int(time.time() - age_seconds) * 1_000_000
    child = replace(span("child", "root"), start_us=ended_us - 1_000, end_us=ended_us)
    with stored_spans(new_address(), [child]) as store:
        (run,) = store.runs(parse_query(f"status:{status}", now_us=0)).data
        trace = store.trace("trace")
    duration_us = 1_000 if status is SpanStatus.OK else None
    assert (run.status, run.duration_us, run.error) == (status, duration_us, None)
    assert (trace.status, trace.duration_us) == (status, duration_us)
