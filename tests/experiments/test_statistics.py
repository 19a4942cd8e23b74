"""Paired differences and their intervals, with the arithmetic in comments."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.experiments.statistics import (
    MIN_PAIRS,
    difference,
    expanded_tail,
    interval,
    percent_change,
)


def test_paired_figures_match_manual_calculation() -> None:
    found = difference([(10, 7), (12, 8), (11, 9), (14, 9), (13, 7)])
    # base: (10 + 12 + 11 + 14 + 13) / 5 = 60 / 5 = 12; new: (7 + 8 + 9 + 9 + 7) / 5 = 40 / 5 = 8
    assert (found.n, found.base, found.new) == (5, 12, 8)
    # differences: -3, -4, -2, -5, -6; their mean: -20 / 5 = -4; -4 / 12 = -33.33 %
    assert found.mean == -4
    assert found.percent == pytest.approx(-100 / 3)
    # All differences are from -6 to -2, so all means of resamples are, too.
    assert found.low is not None
    assert found.high is not None
    assert -6 <= found.low < -4 < found.high <= -2


def test_interval_of_many_values_is_close_to_the_normal_one() -> None:
    low, high = interval(range(-50, 51))
    # The values -50 … 50 have the variance (101² - 1) / 12 = 850, so the deviation 29.15;
    # 1.96 · 29.15 / √101 = 5.69.
    expected = 1.96 * math.sqrt(850) / math.sqrt(101)
    assert low == pytest.approx(-expected, rel=0.08)
    assert high == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize(
    ("count", "tail"),
    [
        # Student's quantile for 4 degrees is 2.776; times sqrt(5/4) that is 3.104, beyond which
        # lies 0.00095 of the normal distribution; for 29: 2.045 * sqrt(30/29) = 2.080, 0.0188.
        (5, 0.00095),
        (30, 0.0188),
        (100_000, 0.025),
    ],
)
def test_few_values_have_a_wider_interval(count: int, tail: float) -> None:
    assert expanded_tail(count) == pytest.approx(tail, rel=0.05)


def test_interval_has_its_stated_coverage() -> None:
    draw = random.Random(11)
    missed = 0
    for _ in range(200):
        low, high = interval([draw.gauss(1, 1) for _ in range(6)])
        assert low is not None
        assert high is not None
        missed += not low <= 1 <= high
    # 5 % of 200 are 10, with a deviation of 3.1; the plain interval misses about 28 of them.
    assert missed <= 16


def test_few_pairs_have_no_interval_and_no_pairs_have_no_figures() -> None:
    assert difference([(1, 2)] * (MIN_PAIRS - 1)).low is None
    nothing = difference([(None, 2), (1, None)])
    assert (nothing.n, nothing.base, nothing.mean, nothing.percent) == (0, None, None, None)


@pytest.mark.parametrize(
    ("base", "new", "percent"),
    [(4.0, 5.0, 25.0), (5.0, 4.0, -20.0), (0, 3, None), (None, 3, None), (3, None, None)],
)
def test_percent_change_is_none_for_a_base_of_zero(
    base: float | None, new: float | None, percent: float | None
) -> None:
    assert percent_change(base, new) == percent


@given(st.lists(st.floats(-1e6, 1e6), min_size=MIN_PAIRS, max_size=30))
def test_interval_is_within_the_extremes_and_deterministic(
    values: list[float],
) -> None:
    low, high = interval(values)
    assert (low, high) == interval(values)
    assert low is not None
    assert high is not None
    slack = 1e-9 * max(1, *map(abs, values))
    assert min(values) - slack <= low <= high <= max(values) + slack
