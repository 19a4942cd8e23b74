"""Groups within groups: the figures of the inner groups agree with those of the outer groups."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.spans.runs import span
from treadle.spans.span import SpanKind
from treadle.traces import TraceStore
from treadle.traces.nested_groups import Nesting, nested_groups
from treadle.traces.query import GroupBy, Query
from treadle.traces.store.results import DurationsOf, Group

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("by", "then_by", "measured"),
    [
        (GroupBy.MODEL, GroupBy.TIME, DurationsOf.CALLS),
        (GroupBy.TIME, GroupBy.MODEL, DurationsOf.RUNS),
        (GroupBy.OPERATION, GroupBy.MODEL, DurationsOf.SPANS),
    ],
)
def test_inner_groups_measure_the_durations_of_the_outer_group(
    tmp_path: Path, by: GroupBy, then_by: GroupBy, measured: DurationsOf
) -> None:
    root = replace(span("root", kind=SpanKind.RUN, end_us=9 * SECOND), operation="ask")
    call = replace(
        span("call", "root", kind=SpanKind.MODEL, end_us=2 * SECOND), operation="chat", model="m"
    )
    with closing(TraceStore.open(tmp_path / "traces.db")) as store:
        store.write([root, call]).result()
        page = nested_groups(store, Nesting(by, then_by), Query(), limit=10)

    for nested in page.data:
        assert nested.group.duration_of is measured
        assert {group.duration_of for group in nested.groups} == {measured}
        if len(nested.groups) == 1 or measured is DurationsOf.RUNS:
            assert {_p50(group) for group in nested.groups} == {_p50(nested.group)}


def _p50(group: Group) -> int | None:
    return group.duration.p50_us if group.duration else None
