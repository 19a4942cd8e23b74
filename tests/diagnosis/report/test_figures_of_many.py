"""Outliers by medians, repeated calls, and periods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.diagnosis.report.spans import span
from treadle.diagnosis.report.loops import Call, Manner, repeated_calls
from treadle.diagnosis.report.outliers import FAR, LEAST, outliers, usual
from treadle.diagnosis.report.periods import Period, period_of, within
from treadle.spans.span import Span
from treadle.traces.query import Query, parse_query


def test_one_far_value_is_found_and_hardly_moves_what_is_usual() -> None:
    items = [("tool", number, value) for number, value in enumerate([10, 11, 9, 10, 12, 900.0])]
    (found,) = outliers(items)
    assert found.item == 5
    assert found.usual.median == pytest.approx(10.49, abs=0.1)
    assert found.usual.n == 6
    assert found.times > 80


def test_what_is_slow_by_little_is_no_outlier_however_alike_the_others_are() -> None:
    items = [("tool", number, 10.0) for number in range(50)]
    assert outliers([*items, ("tool", 99, 19.0)]) == ()


def test_fewer_than_the_least_are_no_measure_unless_others_tell() -> None:
    items = [("tool", number, 10.0) for number in range(LEAST - 2)]
    assert outliers([*items, ("tool", 99, 900.0)]) == ()
    others = [("tool", 10.0), ("other", 900.0)]
    assert [each.item for each in outliers([*items, ("tool", 99, 900.0)], others)] == [99]


@given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=40), st.floats(0.01, 100))
def test_outliers_do_not_depend_on_the_unit(values: list[float], factor: float) -> None:
    def far(scale: float) -> set[int]:
        items = [("all", number, scale * value) for number, value in enumerate(values)]
        near = usual([value for _, _, value in items])
        assert near is not None
        on_a_bound = {
            number
            for _, number, value in items
            if abs(near.distance(value) - FAR) < 1e-6 or abs(value / near.median - 2) < 1e-6
        }
        return {each.item for each in outliers(items)} - on_a_bound

    assert far(1) == far(factor)


def test_values_of_nothing_have_nothing_usual() -> None:
    assert usual([]) is None
    assert usual([0, -1]) is None


def _calls(answers: list[tuple[str, bool]]) -> Manner | None:
    spans = [span(str(number), at=number) for number in range(len(answers))]

    def call_of(each: Span) -> Call:
        answered, failed = answers[int(each.span_id)]
        return Call("same", answered, failed)

    return next((loop.manner for loop in repeated_calls(spans, call_of)), None)


def test_loops_retries_and_waiting_are_told_apart() -> None:
    assert _calls([("a", False)] * 4) is Manner.LOOP
    assert _calls([("x", True), ("y", True), ("a", False)]) is Manner.RETRIES
    assert _calls([("1", False), ("2", False), ("3", False), ("4", False)]) is Manner.POLLING
    assert _calls([("a", False)] * 2) is None


def test_calls_of_other_traces_and_what_is_no_call_do_not_count() -> None:
    spans = [span(str(number), at=number, trace_id=f"t{number % 2}") for number in range(4)]
    assert repeated_calls(spans, lambda _: Call("same", "a", failed=False)) == ()
    assert repeated_calls(spans, lambda _: None) == ()


def test_the_period_before_is_as_long_and_ends_where_this_one_begins() -> None:
    asked = "since:1970-01-02T00:00:00Z until:1970-01-02T06:00:00Z model:large"
    query = parse_query(asked, now_us=0)
    period = period_of(query, now_us=0)
    assert period is not None
    hour = 3_600_000_000
    assert (period.since_us, period.until_us) == (24 * hour, 30 * hour)
    assert period.before == Period(18 * hour, 24 * hour)
    assert period_of(within(query, period.before), now_us=0) == period.before


def test_a_question_without_a_beginning_has_no_period() -> None:
    assert period_of(Query(), now_us=5) is None
    assert period_of(parse_query("since:1970-01-02T00:00:00Z", now_us=0), now_us=5) is None
