"""A call that an exporter and the gateway recorded in different traces counts once."""

import json
import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.spans.naive_counts import naive_counted
from tests.spans.naive_pairs import key_of, naive_pairs, naive_uncounted
from tests.traces.store.dumps import dump
from treadle.database import StoreAddress
from treadle.display.trace_tree import view_trace
from treadle.events.types import Usage
from treadle.spans.span import SameCall, Span, SpanKind, SpanReference, SpanStatus
from treadle.traces import TraceStore
from treadle.traces.query.language import parse_query
from treadle.traces.store.queries.skeletons import Flag

START = 1_900_000_000_000_000
SECOND = 1_000_000
GATEWAY = {"otel.scope.name": "treadle.gateway"}


def call(trace_id: str, **fields: Any) -> Span:
    """A call of an exporter: the question, the answer, the id of the response and the figures."""
    response_id = fields.pop("response_id", "chatcmpl-7")
    text = fields.pop("answer", "It rains.")
    start = fields.pop("start_us", START)
    made = Span(
        trace_id=trace_id,
        span_id=fields.pop("span_id", "call"),
        kind=SpanKind.MODEL,
        operation="chat",
        name="chat",
        start_us=start,
        end_us=start + SECOND,
        status=SpanStatus.OK,
        model="gpt-4o-mini",
        tokens=Usage(input=100, output=20),
        cost=0.25,
        input=json.dumps([{"role": "user", "content": "Will it rain?"}]),
        output=json.dumps([{"role": "assistant", "content": text}]),
        attributes={"gen_ai.response.id": response_id} if response_id else {},
    )
    return replace(made, **fields)


EXPORTED = call("client")
RECORDED = call(
    "gateway",
    start_us=START + 2_000,
    end_us=START + SECOND - 2_000,
    resource=GATEWAY,
    model="gpt-4o-mini-2024-07-18",
)


def stored(address: StoreAddress, spans: Sequence[Span]) -> TraceStore:
    store = TraceStore.open(address)
    for one in spans:
        store.write([one]).result()
    return store


def counted_in(store: TraceStore) -> set[tuple[str, str]]:
    return {(each.trace_id, each.span_id) for each in store.spans().data if each.counted}


@pytest.mark.parametrize(
    "order", [(EXPORTED, RECORDED), (RECORDED, EXPORTED)], ids=["client first", "gateway first"]
)
def test_call_with_two_records_counts_once_for_the_client(
    new_address: NewAddress, order: Sequence[Span]
) -> None:
    with closing(stored(new_address(), order)) as store:
        totals = store.summary().sums.totals
        assert (totals.spans, totals.model_calls, totals.cost) == (2, 1, 0.25)
        assert counted_in(store) == {("client", "call")}
        listed = {each.trace_id: each.same_call for each in store.spans().data}
        assert listed == {"client": ("gateway", "call"), "gateway": ("client", "call")}


@pytest.mark.parametrize(
    ("exported", "recorded"),
    [
        ({"tokens": Usage(), "cost": None}, {}),
        ({"cost": None}, {}),
        ({"cost": 0.4}, {}),
        ({}, {"tokens": Usage(input=0, output=0), "cost": 0.0}),
    ],
    ids=["nothing known", "no cost", "another cost", "answered by the cache"],
)
def test_figures_of_the_gateway_count_if_the_client_states_others(
    new_address: NewAddress, exported: dict[str, Any], recorded: dict[str, Any]
) -> None:
    spans = [replace(EXPORTED, **exported), replace(RECORDED, **recorded)]
    with closing(stored(new_address(), spans)) as store:
        assert counted_in(store) == {("gateway", "call")}
        assert store.summary().sums.totals.cost == spans[1].cost


@pytest.mark.parametrize(
    "changes",
    [
        {"attributes": {}},
        {"input": None},
        {"output": None},
        {"model": "openai/gpt-4o-mini"},
        {"model": None},
        {"start_us": START - 500 * SECOND},
        {"start_us": START - 5 * SECOND, "end_us": START},
        {"tokens": Usage(), "cost": None},
    ],
    ids=str,
)
def test_records_of_a_call_may_lack_some_values(
    new_address: NewAddress, changes: dict[str, Any]
) -> None:
    with closing(stored(new_address(), [replace(EXPORTED, **changes), RECORDED])) as store:
        assert store.summary().sums.totals.model_calls == 1


NEAR_MISSES: dict[str, dict[str, Any]] = {
    "another id": {"attributes": {"gen_ai.response.id": "chatcmpl-8"}},
    "another answer": {"output": '[{"role": "assistant", "content": "It snows."}]'},
    "another model": {"model": "gpt-4o"},
    "another kind": {"kind": SpanKind.EMBEDDING},
    "another variant of the model": {"model": "gpt-4o-mini-audio"},
    "a later time": {"start_us": START + 60 * SECOND, "end_us": START + 61 * SECOND},
    "an earlier time": {"start_us": START - 60 * SECOND, "end_us": START - 59 * SECOND},
    "no end": {"end_us": None, "status": SpanStatus.UNFINISHED},
    "the gateway twice": {"resource": GATEWAY},
    "no id and another question": {
        "attributes": {},
        "input": '[{"role": "user", "content": "Will it snow?"}]',
    },
    "no id and no question": {"attributes": {}, "input": None},
    "no id and no answer": {"attributes": {}, "output": None},
    "no id and no model": {"attributes": {}, "model": None},
    "no id and an earlier end": {
        "attributes": {},
        "start_us": START - 2 * SECOND,
        "end_us": START - SECOND // 2,
    },
    "no id and a late start": {"attributes": {}, "start_us": START + 2 * SECOND},
}


@pytest.mark.parametrize("changes", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_near_misses_are_two_calls(new_address: NewAddress, changes: dict[str, Any]) -> None:
    changed = replace(EXPORTED, **changes)
    recorded = RECORDED
    if changes.get("start_us", 0) > START:
        changed = replace(changed, end_us=changes["start_us"] + SECOND)
    with closing(stored(new_address(), [changed, recorded])) as store:
        assert store.summary().sums.totals.model_calls == 2
        assert [each.same_call for each in store.spans().data] == [None, None]


def test_calls_with_a_constant_id_are_matched_by_answer_and_time(new_address: NewAddress) -> None:
    spans = [
        replace(one, span_id=f"c{number}", start_us=one.start_us + number, output=output)
        for number in range(4)
        for output in [json.dumps([{"role": "assistant", "content": f"No. {number}"}])]
        for one in (EXPORTED, RECORDED)
    ]
    random.Random(7).shuffle(spans)
    with closing(stored(new_address(), spans)) as store:
        assert counted_in(store) == {("client", f"c{number}") for number in range(4)}


def test_call_within_the_client_span_is_not_removed_twice(new_address: NewAddress) -> None:
    inner = replace(RECORDED, trace_id="client", span_id="inner", parent_id="call")
    with closing(stored(new_address(), [EXPORTED, inner])) as store:
        assert counted_in(store) == {("client", "inner")}
        assert [each.same_call for each in store.spans().data] == [None, None]


def test_only_the_innermost_span_of_the_client_is_matched(new_address: NewAddress) -> None:
    framework = replace(EXPORTED, span_id="framework", start_us=START + 1_000)
    client = replace(EXPORTED, parent_id="framework")
    with closing(stored(new_address(), [RECORDED, framework])) as store:
        assert counted_in(store) == {("client", "framework")}
        store.write([client]).result()
        assert counted_in(store) == {("client", "call")}
        listed = {each.span_id: each.same_call for each in store.spans().data}
        assert listed["framework"] is None


def test_trace_of_the_other_record_names_the_counted_span(new_address: NewAddress) -> None:
    with closing(stored(new_address(), [EXPORTED, RECORDED])) as store:
        view = view_trace(store.trace("gateway"))
        skeleton = store.skeleton("gateway")
        (run,) = store.runs(parse_query("run:gateway", now_us=0)).data
        counted = view_trace(store.trace("client"))
        same = store.same_call("gateway", "call")
    assert view.totals == run.sums.totals
    assert (view.totals.model_calls, view.totals.cost) == (0, None)
    assert view.rows[0].notes == ("same call as trace client, span call: the other span counts",)
    assert skeleton.columns.flags == [Flag.ELSEWHERE]
    assert counted.totals.model_calls == 1
    assert counted.rows[0].notes == ("same call as trace gateway, span call: this span counts",)
    assert same == SameCall(SpanReference("client", "call"), counted=False)


def test_match_gives_both_records_a_new_revision(new_address: NewAddress) -> None:
    with closing(stored(new_address(), [EXPORTED])) as store:
        before = store.changes(None).newest
        store.write([RECORDED]).result()
        assert {each.trace_id for each in store.changes(before).spans} == {"client", "gateway"}
        before = store.changes(None).newest
        store.delete(traces=["gateway"])
        assert {each.trace_id for each in store.changes(before).spans} == {"client"}


def test_deleted_record_lets_the_other_one_count(new_address: NewAddress) -> None:
    with closing(stored(new_address(), [EXPORTED, RECORDED])) as store:
        store.delete(traces=["client"])
        assert counted_in(store) == {("gateway", "call")}
        assert store.summary().sums.totals.cost == 0.25
        (left,) = store.spans().data
        assert left.same_call is None


def test_failed_call_with_two_records_is_one_fault_of_the_client(new_address: NewAddress) -> None:
    failed: dict[str, Any] = {"output": None, "status": SpanStatus.ERROR, "error": "refused"}
    client = call("client", **failed)
    gateway = call("gateway", resource=GATEWAY, **failed)
    for order in permutations((client, gateway)):
        with closing(stored(new_address(), order)) as store:
            faults = {each.trace_id: each.sums.faults for each in store.runs().data}
            assert faults == {"client": 1, "gateway": 0}
            store.delete(traces=["client"])
            assert store.summary().sums.faults == 1


def test_store_of_an_earlier_version_is_matched(tmp_path: Path) -> None:
    with closing(stored(tmp_path / "traces.db", [EXPORTED, RECORDED])) as store:
        expected = dump(store)
    with closing(sqlite3.connect(tmp_path / "traces.db")) as connection, connection:
        connection.execute("DROP INDEX spans_by_response_key")
        connection.execute("DROP INDEX spans_by_content_key")
        connection.execute("DROP INDEX same_calls")
        connection.execute("UPDATE spans SET counted = 1")
        for name in ("response_key", "content_key", "same_as"):
            connection.execute(f"ALTER TABLE spans DROP COLUMN {name}")
        for table in ("traces", "runs", "threads", "rollups"):
            connection.execute(
                f"UPDATE {table} SET model_calls = spans, input_tokens = 100 * spans,"
                " output_tokens = 20 * spans, cost_nano = 250000000 * spans, metered = spans,"
                " priced = spans"
            )
        connection.execute("PRAGMA user_version = 8")
    with closing(TraceStore.open(tmp_path / "traces.db")) as store:
        assert dump(store) == expected


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_identical_parallel_calls_are_never_merged(
    new_address: NewAddress, data: st.DataObject
) -> None:
    number = data.draw(st.integers(1, 12), label="calls")
    with_ids = data.draw(st.booleans(), label="with ids")
    spans = []
    for at in range(number):
        start = START + data.draw(st.integers(0, SECOND // 2), label="start")
        lead, tail = data.draw(st.tuples(st.integers(0, 50_000), st.integers(0, 50_000)))
        one = call(f"client{at}", start_us=start, response_id=f"id{at}" if with_ids else None)
        other = replace(one, trace_id=f"gateway{at}", resource=GATEWAY)
        spans += [one, replace(other, start_us=start + lead, end_us=start + SECOND - tail)]
    order = data.draw(st.permutations(spans))
    with closing(stored(new_address(), order)) as store:
        calls = store.summary().sums.totals.model_calls
        pairs = {each.trace_id: each.same_call for each in store.spans(limit=100).data}
    assert number <= calls <= 2 * number
    matched = [(one, other[0]) for one, other in pairs.items() if other is not None]
    assert all(pairs[other] == (one, "call") for one, other in matched)
    if with_ids:
        assert calls == number
        assert all(one[-1] == other[-1] for one, other in matched)


@st.composite
def records(draw: st.DrawFn) -> list[Span]:
    """Records of a few calls, many of which are nearly equal, and later versions of them."""
    made = []
    for number in range(draw(st.integers(2, 7))):
        gateway = draw(st.booleans())
        one = call(
            draw(st.sampled_from(["t1", "t2", "t3"])),
            span_id=f"s{number}",
            start_us=START + draw(st.sampled_from([0, 1, 2_000, 3 * SECOND, 900 * SECOND])),
            response_id=draw(st.sampled_from(["chatcmpl-7", "chatcmpl-7", "other", None])),
            answer=draw(st.sampled_from(["It rains.", "It rains.", "It snows."])),
            parent_id=draw(st.sampled_from([None, None, None, "s0", "s1"])),
            model=draw(
                st.sampled_from(["gpt-4o-mini", "openai/gpt-4o-mini-2024-07-18", "gpt-4o", None])
            ),
            kind=draw(st.sampled_from([SpanKind.MODEL, SpanKind.MODEL, SpanKind.EMBEDDING])),
            resource=GATEWAY if gateway else {},
            cost=draw(st.sampled_from([0.25, 0.25, 0.3, None])),
            labels=draw(st.sampled_from([(), ("beta",)])),
        )
        changes: list[dict[str, Any]] = [
            {"input": None},
            {"output": None},
            {"end_us": None},
            {"tokens": Usage()},
            {"output": None, "status": SpanStatus.ERROR, "error": "refused"},
            {},
            {},
        ]
        made.append(replace(one, **draw(st.sampled_from(changes))))
        if draw(st.integers(0, 4)) == 0:
            made.append(replace(made[-1], parent_id=None, end_us=made[-1].start_us + 7))
    return made


# Each example creates two stores, which takes seconds in PostgreSQL on a busy machine. If the
# time-out interrupts an example, Hypothesis repeats it and reports that its result is unreliable.
@pytest.mark.timeout(900)
@given(spans=records(), seed=st.randoms(use_true_random=False))
def test_every_order_of_arrival_gives_the_same_sums(
    new_address: NewAddress, spans: list[Span], seed: random.Random
) -> None:
    waiting = [*spans, *seed.sample(spans, seed.randrange(len(spans)))]
    seed.shuffle(waiting)
    with closing(TraceStore.open(new_address())) as store:
        while waiting:
            size = seed.randint(1, len(waiting))
            store.write(waiting[:size]).result()
            del waiting[:size]
        rows = dump(store)
        kept = [
            one for trace in {each.trace_id for each in spans} for one in store.trace(trace).spans
        ]
        listed = {(each.trace_id, each.span_id): each.same_call for each in store.spans().data}
        total = store.summary().sums.totals
        counted = counted_in(store)
    with closing(TraceStore.open(new_address())) as store:
        store.write(spans).result()
        assert dump(store) == rows
    innermost = naive_counted(kept)
    pairs = naive_pairs(kept, innermost)
    assert {key: other for key, other in listed.items() if other is not None} == pairs
    assert counted == innermost - naive_uncounted(kept, innermost)
    assert total.spans == len(kept)
    assert total.model_calls == len(counted)
    costs = [one.cost for one in kept if key_of(one) in counted and one.cost is not None]
    assert (total.cost or 0) == pytest.approx(sum(costs))
