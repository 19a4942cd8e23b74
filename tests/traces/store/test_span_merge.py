"""In whatever order, how often and in which batches spans prepare: the store is the same."""

import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.spans.naive_counts import naive_counted
from tests.spans.runs import span
from tests.traces.store.dumps import dump
from tests.traces.store.queries.naive import naive_faults
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanEvent, SpanKind, SpanStatus, more_complete
from treadle.spans.totals import totals
from treadle.traces import TraceStore

WORDS = ["alpha", "beta", "gamma"]
HOUR_US = 3_600_000_000

maybe = st.none() | st.integers(0, 9)
texts = st.none() | st.sampled_from(
    [*WORDS, "alpha \ud800", '[{"role": "user", "content": "beta"}]']
)


KINDS = (SpanKind.MODEL, SpanKind.MODEL, SpanKind.OTHER, SpanKind.TOOL, SpanKind.RUN)


@st.composite
def versions(draw: st.DrawFn) -> Span:
    """A version of one of few spans in few traces, runs and threads, of any shape."""
    start = draw(st.sampled_from([0, 5, 5, 7, -3, HOUR_US + 1, 2**52]))
    end = draw(st.sampled_from([None, None, start, start + 10, start - 1, HOUR_US + 50]))
    return Span(
        trace_id=draw(st.sampled_from(["t1", "t2", "t3"])),
        span_id=draw(st.sampled_from(["a", "b", "c", "d \udfff"])),
        parent_id=draw(st.sampled_from([None, "a", "b", "c", "never"])),
        kind=draw(st.sampled_from(KINDS)),
        operation=draw(st.sampled_from(["chat", "work"])),
        name=draw(st.sampled_from(["one", "two"])),
        start_us=start,
        end_us=end,
        status=draw(st.sampled_from(list(SpanStatus))),
        model=draw(st.sampled_from([None, "small", "large"])),
        tokens=Usage(input=draw(maybe), output=draw(maybe), cached=draw(maybe)),
        cost=draw(st.none() | st.sampled_from([0.0, 0.1, 0.2, 1e-9])),
        labels=tuple(sorted(draw(st.sets(st.sampled_from(["x", "y \ud800", "z"]))))),
        thread_id=draw(st.sampled_from([None, None, "th1", "th2"])),
        run_id=draw(st.sampled_from([None, None, "r1", "r2", "t1"])),
        user=draw(st.sampled_from([None, None, "alice", "bob \ud800"])),
        release=draw(st.sampled_from([None, None, "1.4"])),
        metadata=draw(st.sampled_from([{}, {}, {"tenant": "acme"}, {"tenant": "x", "seats": 5}])),
        attributes=draw(st.sampled_from([{}, {"a": 1}, {"a": "long " * 2_000}])),
        events=draw(st.sampled_from([(), (SpanEvent(6, "retry"),)])),
        input=draw(texts),
        output=draw(texts),
    )


def written(new_address: NewAddress, batches: Sequence[Sequence[Span]]) -> dict[str, list[str]]:
    with closing(TraceStore.open(new_address())) as store:
        for batch in batches:
            store.write(batch).result()
        return dump(store, WORDS)


@pytest.mark.timeout(900)  # each example creates stores in PostgreSQL
@settings(max_examples=40, deadline=None)
@given(data=st.data(), arriving=st.lists(versions(), min_size=1, max_size=14))
def test_the_order_of_arrival_leaves_no_trace(
    new_address: NewAddress, data: st.DataObject, arriving: list[Span]
) -> None:
    again = data.draw(st.lists(st.sampled_from(arriving), max_size=4), "again")
    shuffled = data.draw(st.permutations([*arriving, *again]), "shuffled")
    cuts = sorted(data.draw(st.sets(st.integers(1, len(shuffled))), "cuts"))
    batches = [shuffled[start:end] for start, end in pairwise([0, *cuts, len(shuffled)])]

    assert written(new_address, batches) == written(new_address, [arriving])


def expected(kept: Sequence[Span]) -> list[int]:
    """Spans, model calls, tool calls, failed, input tokens, cost, errors, faults, durations."""
    counting = naive_counted(kept)
    models = [one for one in kept if (one.trace_id, one.span_id) in counting]
    tools = [one for one in kept if one.kind is SpanKind.TOOL]
    return [
        len(kept),
        len(models),
        len(tools),
        sum(one.status is SpanStatus.ERROR for one in (*models, *tools)),
        sum(one.tokens.input or 0 for one in models),
        sum(round((one.cost or 0) * 1e9) for one in models),
        sum(one.status is SpanStatus.ERROR for one in kept),
        len(naive_faults(kept)),
        sum(min(one.duration_us or 0, 10**12) for one in kept),
    ]


SUMS = "spans, model_calls, tool_calls, failed, input_tokens, cost_nano, errors, faults, busy_us"


@pytest.mark.timeout(900)  # each example creates stores in PostgreSQL
@settings(max_examples=40, deadline=None)
@given(arriving=st.lists(versions(), min_size=1, max_size=14))
def test_the_sums_are_those_of_the_kept_versions(
    new_address: NewAddress, arriving: list[Span]
) -> None:
    best: dict[tuple[str, str], Span] = {}
    for one in arriving:
        key = (one.trace_id, one.span_id)
        best[key] = more_complete(best.get(key, one), one)
    with closing(TraceStore.open(new_address())) as store:
        for one in arriving:
            store.write([one]).result()
        kept = {key: store.span(*key) for key in best}
        with store.reader() as connection:
            sums = {
                table: [
                    sum(row)
                    for row in zip(*connection.execute(f"SELECT {SUMS} FROM {table}"), strict=True)
                ]
                for table in ("traces", "runs", "threads", "rollups WHERE dimension = 'all'")
            }
            traces = {
                trace_id: (list(row), start, last)
                for trace_id, start, last, *row in connection.execute(
                    f"SELECT trace_id, start_us, last_us, {SUMS} FROM traces"
                )
            }

    assert kept == best
    assert all(found == expected(list(best.values())) for found in sums.values())
    for trace_id, (row, start, last) in traces.items():
        mine = [one for one in best.values() if one.trace_id == trace_id]
        assert row == expected(mine)
        assert start == min(one.start_us for one in mine)
        assert last == max(max(one.start_us, one.end_us or one.start_us) for one in mine)


@settings(max_examples=20, deadline=None)
@given(arriving=st.lists(versions(), min_size=1, max_size=14), gone=st.sampled_from(["t1", "t2"]))
def test_a_deleted_trace_leaves_no_trace(
    new_address: NewAddress, arriving: list[Span], gone: str
) -> None:
    with closing(TraceStore.open(new_address())) as store:
        for one in arriving:
            store.write([one]).result()
        store.delete(traces=[gone])
        rows = dump(store, WORDS)

    assert rows == written(new_address, [[one for one in arriving if one.trace_id != gone]])


def counted(new_address: NewAddress, spans: Sequence[Span]) -> tuple[int, int, int]:
    """Model calls, input tokens and billionths of a dollar of everything."""
    with closing(TraceStore.open(new_address())) as store:
        for one in spans:
            store.write([one]).result()
        with store.reader() as connection:
            found = connection.execute(
                "SELECT sum(model_calls), sum(input_tokens), sum(cost_nano) FROM threads"
            ).fetchone()
    return found[0], found[1], found[2]


def call(span_id: str, parent_id: str | None, tokens: int = 10) -> Span:
    return replace(
        span(span_id, parent_id, kind=SpanKind.MODEL), tokens=Usage(input=tokens), cost=0.5
    )


def test_a_model_call_within_a_model_call_counts_once(new_address: NewAddress) -> None:
    client, gateway, provider = (
        call("client", None),
        call("gateway", "client"),
        call("p", "gateway"),
    )

    assert counted(new_address, [client]) == (1, 10, 500_000_000)
    assert counted(new_address, [client, gateway, provider]) == (1, 10, 500_000_000)
    assert counted(new_address, [provider, client, gateway]) == (1, 10, 500_000_000)
    assert counted(new_address, [provider, client]) == (2, 20, 1_000_000_000)


def test_a_parent_counts_again_when_its_child_turns_out_to_be_something_else(
    new_address: NewAddress,
) -> None:
    child = replace(call("child", "client"), end_us=None)
    finished = replace(span("child", "client"), kind=SpanKind.TOOL)

    assert counted(new_address, [call("client", None), child, finished]) == (1, 10, 500_000_000)


def test_calls_that_are_each_others_or_their_own_parents_count(new_address: NewAddress) -> None:
    assert counted(new_address, [call("a", "a")]) == (1, 10, 500_000_000)
    assert counted(new_address, [call("a", "b"), call("b", "a")]) == (2, 20, 1_000_000_000)


def test_cents_add_up_exactly(new_address: NewAddress) -> None:
    calls = [replace(call(f"c{number}", None), cost=0.1) for number in range(1_000)]

    assert counted(new_address, calls[:10])[2] == 1_000_000_000
    with closing(TraceStore.open(new_address())) as store:
        store.write(calls).result()
        with store.reader() as connection:
            (cost,) = connection.execute("SELECT cost_nano FROM threads").fetchone()
    assert cost == 100_000_000_000


def wrapper(span_id: str, parent_id: str | None, **fields: Any) -> Span:
    return replace(span(span_id, parent_id, kind=SpanKind.OTHER), **fields)


STACK = (
    call("client", None),
    wrapper("http", "client"),
    wrapper("socket", "http"),
    replace(wrapper("step", "socket"), kind=SpanKind.AGENT, operation="gateway"),
    call("gateway", "step"),
)


@pytest.mark.parametrize("order", list(permutations(STACK)), ids=str)
@pytest.mark.slow
def test_call_recorded_twice_counts_once_in_every_order(
    new_address: NewAddress, order: tuple[Span, ...]
) -> None:
    assert counted(new_address, order) == (1, 10, 500_000_000)


def test_call_recorded_twice_counts_once_when_the_middle_arrives_last(
    new_address: NewAddress,
) -> None:
    client, http, socket, step, gateway = STACK
    assert counted(new_address, [client, gateway]) == (2, 20, 1_000_000_000)
    assert counted(new_address, [gateway, client, step, http, socket]) == (1, 10, 500_000_000)
    assert counted(new_address, [socket, gateway, http, step, client]) == (1, 10, 500_000_000)


@pytest.mark.parametrize(
    "between",
    [
        {"kind": SpanKind.TOOL},
        {"kind": SpanKind.AGENT},
        {"kind": SpanKind.RETRIEVAL},
        {"operation": "guardrail"},
        {"operation": "evaluate"},
    ],
)
def test_calls_with_work_of_another_kind_between_both_count(
    new_address: NewAddress, between: dict[str, Any]
) -> None:
    outer, inner = call("outer", None), call("inner", "http")
    spans = [outer, wrapper("middle", "outer", **between), wrapper("http", "middle"), inner]
    assert counted(new_address, spans) == (2, 20, 1_000_000_000)
    assert counted(new_address, spans[::-1]) == (2, 20, 1_000_000_000)


def test_outer_call_counts_when_no_inner_one_knows_its_tokens(new_address: NewAddress) -> None:
    unknown = replace(call("gateway", "http"), tokens=Usage(), cost=None)
    spans = [call("client", None, tokens=30), wrapper("http", "client"), unknown]
    for order in permutations(spans):
        assert counted(new_address, order) == (1, 30, 500_000_000)
    known = replace(unknown, tokens=Usage(input=7), end_us=unknown.start_us + 9, cost=0.0)
    assert counted(new_address, [*spans, known]) == (1, 7, 0)


def test_every_attempt_within_one_call_counts(new_address: NewAddress) -> None:
    failed = replace(call("one", "client"), tokens=Usage(), cost=None, status=SpanStatus.ERROR)
    assert counted(new_address, [call("client", None), failed, call("two", "client")])[:2] == (
        2,
        10,
    )


def test_embedding_within_a_model_call_is_another_call(new_address: NewAddress) -> None:
    embedding = replace(call("embedding", "http", tokens=3), kind=SpanKind.EMBEDDING)
    spans = [call("client", None), wrapper("http", "client"), embedding]
    assert (
        counted(new_address, spans) == counted(new_address, spans[::-1]) == (2, 13, 1_000_000_000)
    )
    twice = replace(embedding, span_id="gateway", parent_id="embedding")
    both = [*spans, twice]
    assert counted(new_address, both) == counted(new_address, both[::-1]) == (2, 13, 1_000_000_000)


def failed(span_id: str, parent_id: str | None = None) -> Span:
    return replace(span(span_id, parent_id, kind=SpanKind.TOOL), status=SpanStatus.ERROR)


def faults(
    new_address: NewAddress, spans: Sequence[Span], deleted: Sequence[str] = ()
) -> tuple[int, int]:
    """Faults and failed spans in the summary, after these traces were deleted."""
    with closing(TraceStore.open(new_address())) as store:
        for one in spans:
            store.write([one]).result()
        store.delete(traces=deleted)
        sums = store.summary().sums
    return sums.faults, sums.errors


def test_exception_that_passes_through_three_spans_is_one_fault_in_every_order(
    new_address: NewAddress,
) -> None:
    chain = (failed("run"), failed("agent", "run"), failed("tool", "agent"))
    for order in permutations(chain):
        assert faults(new_address, order) == (1, 3)
    assert faults(new_address, [*chain, failed("other", "agent")]) == (2, 4)
    assert faults(new_address, [chain[0], span("agent", "run"), chain[2]]) == (2, 2)
    assert faults(new_address, [failed("own", "own")]) == (1, 1)


def test_parent_is_a_fault_while_its_child_has_not_failed(new_address: NewAddress) -> None:
    running = replace(span("tool", "run", kind=SpanKind.TOOL), end_us=None)
    running = replace(running, status=SpanStatus.UNFINISHED)
    assert faults(new_address, [failed("run"), running]) == (1, 1)
    assert faults(new_address, [failed("run"), running, failed("tool", "run")]) == (1, 2)
    assert faults(
        new_address, [running, failed("tool", "run"), failed("run"), failed("tool", "run")]
    ) == (1, 2)


def test_embedding_without_a_price_is_unpriced(new_address: NewAddress) -> None:
    embedding = replace(call("e", None), kind=SpanKind.EMBEDDING, cost=None)
    trace = totals([embedding])
    assert (trace.model_calls, trace.unpriced, trace.unmetered) == (1, 1, 0)
    with closing(TraceStore.open(new_address())) as store:
        store.write([embedding]).result()
        summary = store.summary()
        (run,) = store.runs().data
    assert run.sums.totals == summary.sums.totals == trace


def test_wrapper_that_turns_out_to_be_a_tool_makes_two_calls(new_address: NewAddress) -> None:
    http = replace(wrapper("http", "client"), end_us=None)
    spans = [call("client", None), http, call("gateway", "http")]
    assert counted(new_address, spans) == (1, 10, 500_000_000)
    tool = replace(span("http", "client"), kind=SpanKind.TOOL)
    assert counted(new_address, [*spans, tool]) == (2, 20, 1_000_000_000)


@st.composite
def layered(draw: st.DrawFn) -> list[Span]:
    """Spans of one trace, some the same call at several levels, in batches of any order."""
    number = draw(st.integers(1, 9))
    made = []
    for place in range(number):
        kind, operation = draw(
            st.sampled_from([
                (SpanKind.MODEL, "chat"), (SpanKind.MODEL, "chat"), (SpanKind.OTHER, "http"),
                (SpanKind.EMBEDDING, "embeddings"),
                (SpanKind.OTHER, "guardrail"), (SpanKind.AGENT, "chain"),
                (SpanKind.AGENT, "invoke_agent"), (SpanKind.TOOL, "execute_tool"),
            ])
        )  # fmt: skip
        parent = draw(st.none() | st.integers(0, number))
        tokens = draw(st.none() | st.integers(1, 9))
        one = replace(
            span(f"s{place}", None if parent is None else f"s{parent}", kind=kind),
            operation=operation,
            start_us=1_000 + draw(st.integers(0, 3)),
            end_us=draw(st.sampled_from([None, 999, 2_000])),
            tokens=Usage(input=tokens),
            cost=None if tokens is None else tokens / 10,
        )
        made.append(one)
    return made


@settings(max_examples=60, deadline=None)
@given(spans=layered(), seed=st.randoms(use_true_random=False))
def test_sums_and_root_are_the_same_everywhere(
    new_address: NewAddress, spans: list[Span], seed: random.Random
) -> None:
    calls = naive_counted(spans)
    expected = [one for one in spans if (one.trace_id, one.span_id) in calls]
    with closing(TraceStore.open(new_address())) as store:
        waiting = [*spans, *seed.sample(spans, seed.randrange(len(spans)))]
        seed.shuffle(waiting)
        while waiting:
            size = seed.randint(1, len(waiting))
            store.write(waiting[:size]).result()
            del waiting[:size]
        trace = store.trace(spans[0].trace_id)
        with store.reader() as connection:
            kept = {
                connection.execute(f"SELECT model_calls, input_tokens FROM {table}").fetchone()
                for table in ("traces", "runs", "threads")
            }
            (root,) = connection.execute(
                "SELECT span_id FROM traces JOIN spans ON spans.id = traces.root"
            ).fetchone()
    sums = totals(trace.spans)
    tokens = sum(one.tokens.input or 0 for one in expected)
    assert (sums.model_calls, sums.tokens.input or 0) == (len(expected), tokens)
    assert kept == {(len(expected), tokens)}
    assert trace.root is not None
    assert trace.root.span_id == root
