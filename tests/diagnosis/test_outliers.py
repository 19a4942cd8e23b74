"""Outliers by medians, for any values and for recorded spans."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.diagnosis.report.spans import MS, model, run, stored, tool
from treadle.diagnosis.outliers import (
    MIN_DISTANCE,
    MIN_PEERS,
    baseline,
    expensive_calls,
    newest_spans,
    outliers,
    slow_spans,
)
from treadle.diagnosis.report import analyse
from treadle.diagnosis.span_times import self_times
from treadle.toolbox.traces.summary_rows import outlier_rows
from treadle.traces.query import Query


def test_far_value_is_found_and_hardly_moves_the_baseline() -> None:
    items = [("tool", number, value) for number, value in enumerate([10, 11, 9, 10, 12, 900.0])]
    (found,) = outliers(items)
    assert found.item == 5
    assert found.baseline.median == pytest.approx(10.49, abs=0.1)
    assert found.baseline.n == 6
    assert found.times > 80


def test_small_difference_among_equal_values_is_not_an_outlier() -> None:
    items = [("tool", number, 10.0) for number in range(50)]
    assert outliers([*items, ("tool", 99, 19.0)]) == ()


def test_small_group_has_no_outliers_unless_other_values_complete_it() -> None:
    items = [("tool", number, 10.0) for number in range(MIN_PEERS - 2)]
    assert outliers([*items, ("tool", 99, 900.0)]) == ()
    others = [("tool", 10.0), ("other", 900.0)]
    assert [each.item for each in outliers([*items, ("tool", 99, 900.0)], others)] == [99]


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=40), st.floats(0.01, 100))
def test_outliers_do_not_depend_on_the_unit(values: list[float], factor: float) -> None:
    def far(scale: float) -> set[int]:
        items = [("all", number, scale * value) for number, value in enumerate(values)]
        near = baseline([value for _, _, value in items])
        assert near is not None
        on_a_bound = {
            number
            for _, number, value in items
            if abs(near.distance(value) - MIN_DISTANCE) < 1e-6
            or abs(value / near.median - 2) < 1e-6
        }
        return {each.item for each in outliers(items)} - on_a_bound

    assert far(1) == far(factor)


def test_values_without_a_positive_one_have_no_baseline() -> None:
    assert baseline([]) is None
    assert baseline([0, -1]) is None


def test_report_and_tool_name_the_same_slow_span(tmp_path: Path) -> None:
    spans = [run(20_000), *(tool(f"s{n}", "fine", at=20 * n, ms=10 + n % 3) for n in range(12))]
    spans.append(tool("parent", "fine", at=400, ms=5_000))
    spans.append(tool("slow", "fine", at=401, ms=4_990, parent_id="parent"))
    with stored(tmp_path, spans) as store:
        report = analyse(store, Query(), now_us=spans[-1].start_us)
        rows = outlier_rows(store, Query(), store.summary(Query()))
    table = next(each for each in report.tables if "far longer" in each.title)
    assert [row[1] for row in table.rows] == [4_990 * MS]
    assert [(row.span_id, row.duration_ms) for row in rows] == [("slow", 4_990)]


def test_earlier_spans_alone_are_the_baseline_of_slow_spans(tmp_path: Path) -> None:
    spans = [tool(f"s{n}", "fine", at=20 * n, ms=10 if n < 8 else 900) for n in range(12)]
    with stored(tmp_path, spans) as store:
        listed = newest_spans(store, Query(), 100)
    own = self_times(listed)
    earlier, later = listed[:8], listed[8:]
    assert slow_spans(later, own) == ()
    found = slow_spans(later, own, earlier, own)
    assert {each.item.span_id for each in found} == {"s8", "s9", "s10", "s11"}


def test_costs_are_compared_with_calls_of_the_same_model(tmp_path: Path) -> None:
    spans = [model(f"m{n}", at=20 * n, model_name="small", cost=0.001) for n in range(8)]
    spans.append(model("other", at=400, model_name="large", cost=0.1))
    spans.append(model("costly", at=420, model_name="small", cost=0.1))
    with stored(tmp_path, spans) as store:
        (found,) = expensive_calls(newest_spans(store, Query(), 100))
    assert (found.item.span_id, round(found.times)) == ("costly", 100)
