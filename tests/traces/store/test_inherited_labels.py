"""The labels of a root are labels of all spans of its trace, whenever the root arrives."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from tests.engines import NewAddress
from tests.spans.runs import span
from tests.traces.store.dumps import dump
from treadle.database import StoreAddress
from treadle.events.types import Usage
from treadle.spans.span import ANALYST_LABEL, BUDGET_LABEL, Span, SpanKind
from treadle.traces import TraceStore
from treadle.traces.query import GroupBy
from treadle.traces.query.language import parse_query

ROOT = replace(
    span("root", kind=SpanKind.RUN, end_us=9_000),
    labels=("beta", f"{BUDGET_LABEL}team", ANALYST_LABEL),
)
CALL = replace(
    span("call", "step", kind=SpanKind.MODEL), tokens=Usage(input=10, output=2), cost=0.5
)
STEP = replace(span("step", "root", kind=SpanKind.AGENT), labels=("alpha", "beta"))


def stored(address: StoreAddress, spans: Sequence[Span]) -> TraceStore:
    store = TraceStore.open(address)
    for one in spans:
        store.write([one]).result()
    return store


def costs(store: TraceStore) -> dict[str, float | None]:
    groups = store.groups(GroupBy.LABEL).data
    return {str(group.value): group.sums.totals.cost for group in groups}


@pytest.mark.parametrize("order", list(permutations((ROOT, STEP, CALL))))
def test_cost_of_a_label_includes_the_calls_below_the_root(
    new_address: NewAddress, order: Sequence[Span]
) -> None:
    with closing(stored(new_address(), order)) as store:
        assert costs(store)["beta"] == 0.5
        assert costs(store)["alpha"] is None
        found = store.spans(parse_query("label:beta", now_us=0)).data
        assert {each.span_id: each.labels for each in found} == {
            "root": ROOT.labels,
            "step": ("alpha", "beta"),
            "call": ("beta",),
        }


def test_late_root_gives_each_changed_span_a_new_revision(new_address: NewAddress) -> None:
    with closing(stored(new_address(), (CALL, STEP))) as store:
        before = store.changes(None).newest
        store.write([ROOT]).result()
        changed = [each.span_id for each in store.changes(before).spans]
        assert sorted(changed) == ["call", "root"]  # the step has this label itself
        before = store.changes(None).newest
        store.write([ROOT]).result()  # the same export again changes nothing
        assert store.changes(before).spans == ()


def test_labels_that_treadle_sets_are_not_inherited(new_address: NewAddress) -> None:
    with closing(stored(new_address(), (ROOT, CALL))) as store:
        assert costs(store)[f"{BUDGET_LABEL}team"] is None
        assert costs(store)[ANALYST_LABEL] is None


def test_labels_of_a_late_root_replace_those_of_the_earlier_one(new_address: NewAddress) -> None:
    earlier = replace(span("first"), labels=("gamma",))
    with closing(stored(new_address(), (earlier, CALL))) as store:
        assert costs(store)["gamma"] == 0.5
        store.write([ROOT]).result()
        assert (costs(store)["gamma"], costs(store)["beta"]) == (None, 0.5)
        unlabelled = replace(ROOT, labels=(), attributes={str(n): n for n in range(9)})
        store.write([unlabelled]).result()
        assert set(costs(store)) == {"gamma"}


def test_labels_of_a_missing_parent_are_not_inherited(new_address: NewAddress) -> None:
    with closing(stored(new_address(), (STEP, CALL))) as store:
        assert costs(store)["beta"] is None


def test_stored_span_keeps_its_own_labels(new_address: NewAddress) -> None:
    with closing(stored(new_address(), (CALL, ROOT))) as store:
        assert store.span(CALL.trace_id, "call") == CALL


def test_spans_of_an_earlier_version_inherit_labels(tmp_path: Path) -> None:
    root = replace(ROOT, labels=("beta",))
    (tmp_path / "alone").mkdir()
    with closing(stored(tmp_path / "traces.db", (root, CALL))) as store:
        expected = dump(store)
    with (
        closing(stored(tmp_path / "alone" / "traces.db", (root,))) as store,
        store.reader() as alone,
    ):
        kept = alone.execute("SELECT * FROM rollups WHERE dimension = 'label'").fetchone()
    with closing(sqlite3.connect(tmp_path / "traces.db")) as connection, connection:
        connection.execute("UPDATE spans SET labels = NULL WHERE span_id = 'call'")
        connection.execute("ALTER TABLE spans DROP COLUMN inherited_labels")
        connection.execute(
            "DELETE FROM span_labels WHERE span IN (SELECT id FROM spans WHERE labels IS NULL)"
        )
        connection.execute("UPDATE trace_facets SET count = 1 WHERE facet = 'label'")
        marks = ", ".join("?" * len(kept))
        connection.execute(f"REPLACE INTO rollups VALUES ({marks})", kept)
        connection.execute("PRAGMA user_version = 11")
    with closing(TraceStore.open(tmp_path / "traces.db")) as store:
        assert dump(store) == expected
