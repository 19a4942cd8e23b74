"""Each of the fourteen routes, with scripted models over real HTTP, real tools and recordings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agents.harness import agent_harness
from tests.fakes.replies import Answer, Call
from tests.toolbox.traces.flights import THREAD, flights
from treadle.agents.page_context import PageContext
from treadle.events.types import StopReason

SPAN = "m3"
ANSWER = 'The search failed: "timeout after 3000 ms" in [x0](/traces/t1?span=x0).'
PAGE = PageContext(page=f"/threads/{THREAD}", thread_id=THREAD)
ON_SPAN = PageContext(page=f"/traces/t1?span={SPAN}", trace_id="t1", span_id=SPAN)
PATCH = {"messages": [{"role": "user", "content": "Find me a flight."}]}


@dataclass(frozen=True)
class Case:
    """A question, the agent that is called for it, and the tools that the agent calls."""

    route: str
    question: str
    agent: str | None
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    page: PageContext = PAGE
    said: str = ANSWER
    models: int = 0
    """Model calls that the tools make."""


CASES = (
    Case("greeting", "hello", None, said="Hello. I read what was recorded."),
    Case(
        "run analysis",
        "what happened in this run?",
        "data",
        (("get_run_details", {"runId": "t1"}),),
    ),
    Case(
        "span analysis",
        "explain this span",
        "data",
        (("get_span_content", {"spanIds": [SPAN]}),),
        ON_SPAN,
    ),
    Case(
        "thread analysis",
        "sum this conversation up",
        "data",
        (("fetch_runs", {"threadIds": [THREAD]}), ("fetch_spans_summary", {"threadIds": [THREAD]})),
    ),
    Case(
        "errors",
        "what went wrong?",
        "data",
        (("fetch_spans_summary", {"threadIds": [THREAD]}), ("search_spans", {"query": "timeout"})),
    ),
    Case(
        "performance",
        "why is the flight search thread slow?",
        "data",
        (
            ("fetch_spans_summary", {"threadIds": [THREAD]}),
            ("fetch_spans", {"threadIds": [THREAD]}),
        ),
    ),
    Case("cost", "where does the money go?", "data", (("fetch_groups", {"groupBy": "model"}),)),
    Case(
        "optimise",
        "make this call cheaper",
        "experiment",
        (
            ("is_valid_for_optimize", {"spanId": SPAN}),
            ("get_experiment_data", {"spanId": SPAN}),
            ("navigate_to_experiment", {"spanId": SPAN}),
        ),
        ON_SPAN,
    ),
    Case(
        "apply",
        "apply it and run it",
        "experiment",
        (
            ("get_experiment_data", {"spanId": SPAN}),
            ("apply_experiment_data", {"spanId": SPAN, "data": PATCH}),
            ("run_experiment", {}),
            ("evaluate_experiment_results", {}),
        ),
        ON_SPAN,
        models=1,
    ),
    Case("label discovery", "which labels are there?", "data", (("list_labels", {}),)),
    Case(
        "data by label",
        "what is under the label prod?",
        "data",
        (("fetch_spans_summary", {"labels": ["prod"]}),),
    ),
    Case(
        "filter the view",
        "show only prod",
        "ui",
        (("list_labels", {}), ("apply_label_filter", {"labels": ["prod"], "action": "set"})),
    ),
    Case(
        "compare labels",
        "compare prod with test",
        "data",
        (
            ("fetch_spans_summary", {"labels": ["prod"]}),
            ("fetch_spans_summary", {"labels": ["test"]}),
        ),
    ),
    Case(
        "navigation",
        "open the thread",
        "ui",
        (("navigate_to", {"url": f"/threads/{THREAD}"}), ("get_collapsed_spans", {})),
    ),
)


def script(case: Case) -> list[Answer]:
    """The replies of the models: orchestrator, the called agent, orchestrator."""
    if case.agent is None:
        return [Answer("", (Call("final", {"answer": case.said}),))]
    steps: list[Answer] = []
    for name, arguments in case.calls:
        steps.append(Answer("", (Call(name, arguments),)))
        if name == "run_experiment":
            steps += [Answer("A flight at noon.")] * case.models
    return [
        Answer("", (Call(f"call_{case.agent}", {"task": case.question}),)),
        *steps,
        Answer("", (Call("final", {"answer": case.said}),)),
        Answer("", (Call("final", {"pass_on": case.agent}),)),
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.route)
async def test_route_is_completed(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with agent_harness(tmp_path, monkeypatch, script(case), flights()) as at:
        outcome = await at.ask(case.question, case.page)
        assert at.provider is not None
        assert at.provider.remaining == 0
        first = at.provider.requests[0]
    assert (outcome.text, outcome.stop_reason) == (case.said, StopReason.COMPLETED)
    assert at.failures == []
    around = [] if case.agent is None else [f"call_{case.agent}"]
    ended = ["final"] * (1 + len(around))
    assert at.called == [*around, *(name for name, _ in case.calls), *ended]
    assert "orchestrator" in {each.agent for each in at.sessions}
    assert THREAD in str(first.messages[-1]["content"]) or case.page is ON_SPAN
    assert outcome.usage.input == 10 * len(at.provider.requests) - 10 * case.models
