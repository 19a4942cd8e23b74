"""The planted traces: the truth is known before anything is ranked, and no span reveals it."""

import json

import pytest

from bench.analyst.apps import TUNED_APPS, App
from bench.analyst.cases import TUNED, Case, healthy, plant
from bench.analyst.held_out import HELD_OUT
from bench.analyst.held_out_apps import HELD_OUT_APPS
from bench.analyst.scoring import scores
from treadle.spans.forest import arrange

SETS = [(TUNED, TUNED_APPS), (HELD_OUT, HELD_OUT_APPS)]
SMALL = [
    (case, apps) for cases, apps in SETS for case in cases if case.spans <= 120
]  # the benchmark has the large ones


def test_there_are_thirty_traces_of_each_set_with_unique_names() -> None:
    for cases, apps in SETS:
        assert len({case.name for case in cases}) == len(cases) == 30
        assert {case.app for case in cases} == set(apps)
    assert not TUNED_APPS.keys() & HELD_OUT_APPS.keys()


@pytest.mark.parametrize(("case", "apps"), SMALL, ids=lambda each: getattr(each, "name", ""))
def test_a_planted_trace_is_complete_and_names_its_cause(case: Case, apps: dict[str, App]) -> None:
    planted = plant(case, 5, apps)
    by_id = {span.span_id: span for span in planted.spans}
    assert planted.cause is not None
    assert planted.cause.span_id in by_id
    assert planted.cause not in planted.consequences
    assert all(node.span is not None for node in arrange(planted.spans))
    assert sum(span.parent_id is None for span in planted.spans) == 1
    assert plant(case, 5, apps) == planted


def test_no_span_reveals_the_planted_cause() -> None:
    for case in (case for case in TUNED if case.spans <= 60):
        text = json.dumps([span.to_json() for span in plant(case, 3).spans], default=str)
        assert "planted" not in text
        assert case.fault is not None
        assert "_" not in case.fault.__name__ or case.fault.__name__ not in text


def test_the_report_names_small_planted_causes_first() -> None:
    few = [case for case in TUNED if case.spans <= 40]
    found = list(scores(plant(case, 40 + at) for at, case in enumerate(few)))
    assert sum(score.first for score in found) >= 0.9 * len(few)
    assert all(score.tokens < 4_000 for score in found)


def test_good_runs_have_no_findings() -> None:
    assert sum(score.false_alarms for score in scores(healthy(40, 4))) == 0
