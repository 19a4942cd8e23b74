"""Amounts as text. The page tests its functions with the same examples."""

import json
from pathlib import Path

import pytest

from treadle.traces.amounts import cost, duration

_EXAMPLES = json.loads(Path(__file__).with_name("amounts.json").read_text("utf-8"))


@pytest.mark.parametrize(("microseconds", "text"), _EXAMPLES["durations"])
def test_duration_has_the_text_of_the_example(microseconds: int, text: str) -> None:
    assert duration(microseconds) == text


@pytest.mark.parametrize(("dollars", "text"), _EXAMPLES["costs"])
def test_cost_has_the_text_of_the_example(dollars: float, text: str) -> None:
    assert cost(dollars) == text


def test_unknown_duration_is_a_dash() -> None:
    assert duration(None) == "-"
