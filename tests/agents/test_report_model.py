"""Without a model, every answer is the report of the analysis."""

from pathlib import Path

import pytest

from tests.agents.harness import agent_harness
from tests.toolbox.traces.flights import THREAD, flights
from treadle.agents.page_context import PageContext
from treadle.app.agents import NEEDS_MODEL
from treadle.app.stores import Stores
from treadle.clock import SystemClock
from treadle.diagnosis.report import analyse, render

PAGE = PageContext(thread_id=THREAD)


@pytest.mark.parametrize("question", ["what went wrong?", "hello", "apply it", "show only prod"])
async def test_any_question_is_answered_with_the_report(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with agent_harness(tmp_path, monkeypatch, None, flights()) as at:
        outcome = await at.ask(question, PAGE)
    store = Stores.of_user().open_traces()
    try:
        report = render(analyse(store, PAGE.scope, now_us=SystemClock().now_us()))
    finally:
        store.close()
    assert outcome.text == f"{report}\n{NEEDS_MODEL}"
    assert "/traces/t1?span=x0" in report
    assert (outcome.usage.input, outcome.cost) == (0, 0.0)
    assert at.called == []
    assert [each.model for each in at.sessions] == ["rules"]


async def test_the_report_covers_only_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with agent_harness(tmp_path, monkeypatch, None, flights()) as at:
        outcome = await at.ask("what went wrong?", PageContext(thread_id="another"))
    assert outcome.text == f"## Summary\n\nNo recorded span matches the query.\n\n{NEEDS_MODEL}"
