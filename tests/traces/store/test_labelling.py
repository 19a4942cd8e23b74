"""Labels that a person adds to recorded traces and spans, or removes from them."""

from contextlib import closing
from dataclasses import replace

import pytest

from tests.engines import NewAddress
from tests.spans.runs import span
from tests.traces.store.dumps import dump
from treadle.database import StoreAddress
from treadle.events.types import Usage
from treadle.spans.span import REPOSITORY_LABEL, Span, SpanKind, SpanReference
from treadle.traces import TraceStore
from treadle.traces.query import GroupBy

ROOT = replace(span("root", kind=SpanKind.RUN, end_us=9_000), run_id="r", thread_id="t")
CALL = replace(
    span("call", "root", kind=SpanKind.MODEL, end_us=8_000),
    tokens=Usage(input=10, output=2),
    cost=0.5,
    labels=("draft",),
    run_id="r",
)
TRACE = ROOT.trace_id


def stored(address: StoreAddress, *spans: Span) -> TraceStore:
    store = TraceStore.open(address)
    for one in spans:
        store.write([one]).result()
    return store


def labels(store: TraceStore) -> dict[str, tuple[str, ...]]:
    return {each.span_id: each.labels for each in store.spans().data}


@pytest.mark.parametrize("what", ["threads", "runs", "traces"])
def test_label_of_a_run_is_that_of_all_its_spans(new_address: NewAddress, what: str) -> None:
    ids = {"threads": "t", "runs": "r", "traces": TRACE}
    with closing(stored(new_address(), ROOT, CALL)) as store:
        assert store.label(**{what: [ids[what]]}, add=["good"], at_us=1) == 1  # type: ignore[arg-type]

        assert labels(store) == {"root": ("good",), "call": ("draft", "good")}
        costs = {group.value: group.sums.totals.cost for group in store.groups(GroupBy.LABEL).data}
        assert costs["good"] == 0.5

        assert store.label(**{what: [ids[what]]}, remove=["good", "draft"], at_us=2) == 2  # type: ignore[arg-type]
        assert labels(store) == {"root": (), "call": ()}


def test_label_of_a_span_belongs_to_this_span(new_address: NewAddress) -> None:
    with closing(stored(new_address(), ROOT, CALL)) as store:
        spans = [SpanReference(TRACE, "call"), SpanReference(TRACE, "unknown")]
        assert store.label(spans=spans, add=["slow"], remove=["draft"], at_us=1) == 1

        assert labels(store) == {"root": (), "call": ("slow",)}


def test_version_that_arrives_later_does_not_undo_an_edit(new_address: NewAddress) -> None:
    running = replace(CALL, end_us=None)
    with closing(stored(new_address(), ROOT, running)) as store:
        spans = [SpanReference(TRACE, "call")]
        store.label(spans=spans, add=["slow"], remove=["draft"], at_us=1)
        store.label(spans=spans, add=["checked"], remove=["slow"], at_us=2)
        store.write([CALL]).result()
        store.write([CALL]).result()

        assert labels(store)["call"] == ("checked",)
        kept = store.span(TRACE, "call")
        assert kept is not None
        assert kept.end_us == CALL.end_us


def test_edited_labels_are_stored_as_if_they_had_been_recorded(new_address: NewAddress) -> None:
    with closing(stored(new_address(), ROOT, CALL)) as store:
        store.label(runs=["r"], add=["good"], at_us=1)
        versions = [each for name in ("root", "call") if (each := store.span(TRACE, name))]
        edited = dump(store)
    with closing(stored(new_address(), *versions)) as store:
        assert dump(store) == edited


def test_labels_that_treadle_sets_cannot_be_edited(new_address: NewAddress) -> None:
    own = f"{REPOSITORY_LABEL}x"
    with closing(stored(new_address(), replace(ROOT, labels=(own,)))) as store:
        assert store.label(runs=["r"], add=["budget:team"], remove=[own], at_us=1) == 0


def test_edit_announces_a_new_revision(new_address: NewAddress) -> None:
    with closing(stored(new_address(), ROOT)) as store:
        before = store.changes(None).newest
        announced: list[int] = []
        store.on_commit(announced.append)
        store.label(runs=["r"], add=["good"], at_us=1)

        # The writer can announce the first commit after this test has begun to listen.
        assert announced[-1] == before + 1
        assert [each.span_id for each in store.changes(before).spans] == ["root"]
