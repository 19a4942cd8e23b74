"""The same questions without a model: rules, the same tools, and nothing that is not recorded."""

from pathlib import Path
from typing import Any

import pytest

from tests.agents.desks import desk
from tests.agents.test_fourteen_routes import CASES, Case
from tests.toolbox.traces.flights import THREAD, flights
from treadle.agents.page import PageContext
from treadle.agents.routes import Route, find_route
from treadle.errors import UsageError
from treadle.spans.span import Span

LABELS = ("prod", "test", "flight", "flight-search", "a|b")
LAYOUT = ("## Summary", "## Numbers", "## Breakdown", "## Repeated failures", "## Issues")
ACTED = {
    Route.FILTER_VIEW: "apply_label_filter",
    Route.NAVIGATION: "navigate_to",
    Route.COMPARE_LABELS: "fetch_spans_summary",
    Route.OPTIMISE: "is_valid_for_optimize",
    Route.APPLY: "get_experiment_data",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.route.value)
def test_the_questions_of_the_models_take_the_same_routes(case: Case) -> None:
    assert find_route(case.question, case.page, LABELS).route is case.route


@pytest.mark.parametrize(
    ("question", "route", "labels"),
    [
        ("Hi!", Route.GREETING, ()),
        ("What can you do?", Route.GREETING, ()),
        ("hello, why is this slow?", Route.PERFORMANCE, ()),
        ("apply a filter for prod", Route.FILTER_VIEW, ("prod",)),
        ("clear the filter", Route.FILTER_VIEW, ()),
        ("is prod better than test?", Route.COMPARE_LABELS, ("prod", "test")),
        ("flight-search vs prod", Route.COMPARE_LABELS, ("flight-search", "prod")),
        ("how did flight-search do?", Route.DATA_BY_LABEL, ("flight-search",)),
        ("the production runs?", Route.RUN_ANALYSIS, ()),
        ("show me a|b", Route.DATA_BY_LABEL, ("a|b",)),
        ("why do the tokens grow?", Route.COST, ()),
        ("which tool call failed first?", Route.ERRORS, ()),
        ("take me to the experiments", Route.NAVIGATION, ()),
        ("use that prompt", Route.APPLY, ()),
        ("", Route.RUN_ANALYSIS, ()),
    ],
)
def test_a_route_is_found(question: str, route: Route, labels: tuple[str, ...]) -> None:
    page = PageContext(thread_id="t", run_id="r")
    found = find_route(question, page, LABELS)
    assert (found.route, found.labels) == (route, labels)


def test_without_a_page_everything_is_looked_at() -> None:
    assert find_route("what happened?", PageContext()).route is Route.THREAD_ANALYSIS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.route.value)
async def test_every_route_is_answered_by_rules(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = [*flights(), *(_other(each) for each in flights(failed=1))]
    async with desk(tmp_path, monkeypatch, None, spans) as at:
        outcome = await at.ask(case.question, case.page)
        again = await at.ask(case.question, case.page)
    assert outcome.text == again.text  # asking changes nothing of what is answered
    assert (outcome.usage.input, outcome.cost) == (0, 0.0)
    assert [each.model for each in at.sessions] == ["rules", "rules"]
    if case.route in ACTED:
        assert ACTED[case.route] in at.called
    elif case.route not in {Route.GREETING, Route.LABEL_DISCOVERY}:
        assert [title for title in LAYOUT if title not in outcome.text] == []
        assert "timeout after 3000 ms" in outcome.text
        assert "/traces/t1?span=x0" in outcome.text


async def test_labels_are_compared_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = [*flights(), *(_other(each) for each in flights(failed=1))]
    async with desk(tmp_path, monkeypatch, None, spans) as at:
        outcome = await at.ask("compare prod with test")
        alone = await at.ask("compare the labels prod and none-such")
    # 3 failures: a run, 4 model calls and 3 tool calls; 1 failure: a run, 2 and 1.
    assert "| spans | 8 | 4 | -50.0 % |" in outcome.text
    assert "Two labels are needed" in alone.text


async def test_what_is_not_recorded_is_said_and_nothing_is_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(tmp_path, monkeypatch, None) as at:
        nothing = await at.ask("what went wrong?", PageContext(thread_id=THREAD))
        labels = await at.ask("which labels are there?")
        filtered = await at.ask("filter by gone")
        with pytest.raises(UsageError, match="empty"):
            await at.ask("  ")
    assert "No recorded span fits the question." in nothing.text
    assert "No span has a label" in labels.text
    assert "No label of that name" in filtered.text
    assert at.called.count("apply_label_filter") == 0


def _other(span: Span, **changes: Any) -> Span:
    """The span in another trace and thread, under another label."""
    from dataclasses import replace

    return replace(span, trace_id="t2", thread_id="other", labels=("test",), **changes)
