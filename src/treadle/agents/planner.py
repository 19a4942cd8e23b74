"""Answers by rules, where no model is at hand that could be trusted to choose tools.

The same questions, the same tools and the same layout; every number and quote is the record's own.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from treadle.agents.page import PageContext
from treadle.agents.routes import FOCUS, Route, Routed, find_route
from treadle.agents.steps import Steps
from treadle.agents.tables import comparison_table, label_table
from treadle.diagnosis.report.results import Focus
from treadle.errors import UsageError
from treadle.events.types import StopReason, Usage
from treadle.llm.messages import UserMessage
from treadle.session import SessionOutcome
from treadle.session.keeping import Keeper
from treadle.spans.page_links import experiment_link, run_link, span_link, thread_link, trace_link
from treadle.tools.contract import ToolError
from treadle.traces.fencing import inline
from treadle.traces.query import Query, any_of
from treadle.traces.query.conditions import Field as Of

Analyse = Callable[[Query, Focus], Awaitable[str]]
"""The report on the spans that fit, in Markdown."""

MOST_LABELS = 1_000
"""How many labels are looked for in a question."""
MOST_COMPARED = 4
"""Labels side by side."""

_GREETING = """\
I read what Treadle has recorded and say what the matter is: errors that no status shows, slow \
steps, costs, with the spans that prove it.

Ask, for example:

- what went wrong in the last hour?
- why is this thread slow? (with `--thread ID`, or with it open on the page)
- what costs most? which labels are there? compare the labels A and B
"""
_SAME = "This is about the same as the question before; name something else to leave it."
_PLACES = re.compile(
    r"\b(threads?|runs?|traces?|experiments?|sessions|settings|tools|models)\b", re.IGNORECASE
)
_ID = re.compile(
    r"\b(thread|run|trace)\s+(?:with (?:the )?id\s+)?[\"'`]?([^\s\"'`?!,]{3,200})", re.IGNORECASE
)
_LISTS = {"thread": "/threads", "run": "/runs", "trace": "/traces", "experiment": "/experiments"}
_LINKS = {"thread": thread_link, "run": run_link, "trace": trace_link}


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with its route; `known` is what list_labels gave.

    `again` says that it is about what the question before was about.
    """

    question: str
    page: PageContext
    routed: Routed
    known: Mapping[str, Any]
    steps: Steps
    again: bool

    @property
    def some_labels(self) -> str:
        """A few of the labels that there are."""
        return ", ".join(inline(row["name"]) for row in self.known["data"][:10]) or "none"

    def says(self, *words: str) -> bool:
        """Whether the question has one of these words."""
        return bool(re.search(rf"\b(?:{'|'.join(words)})\b", self.question, re.IGNORECASE))


class Planner:
    """Routes a question by rules, makes the calls of its route and lays out what they gave."""

    def __init__(self, steps: Callable[[], Steps], analyse: Analyse) -> None:
        """`steps` gives what makes the calls of one request."""
        self._new_steps = steps
        self._analyse = analyse

    async def run(
        self,
        question: str,
        page: PageContext,
        *,
        request_id: UUID,
        keeper: Keeper,
        again: bool = False,
    ) -> SessionOutcome:
        """The answer, kept in the conversation of `keeper`.

        `again` says that the page is what the question before was about. Raises UsageError for an
        empty question, StoreError and ToolError.
        """
        if not question.strip():
            raise UsageError("The question is empty.", hint="Say what is to be looked into.")
        steps = self._new_steps()
        asked = UserMessage(question, page.told())
        async with steps.session("analyst", asked, request_id, keeper) as answer:
            answer["text"] = await self._answer(question, page, steps, again=again)
        return SessionOutcome(
            answer["text"], StopReason.COMPLETED, Usage(0, 0), 0.0, steps.made, ()
        )

    async def _answer(self, question: str, page: PageContext, steps: Steps, *, again: bool) -> str:
        if find_route(question, page).route is Route.GREETING:
            return _GREETING
        known = await steps.call("list_labels", limit=MOST_LABELS, maxTokens=100_000)
        names = [row["name"] for row in known["data"]]
        asked = _Asked(question, page, find_route(question, page, names), known, steps, again)
        answer = {
            Route.LABEL_DISCOVERY: self._list_labels,
            Route.DATA_BY_LABEL: self._sum_up_label,
            Route.COMPARE_LABELS: self._compare,
            Route.FILTER_VIEW: self._filter,
            Route.NAVIGATION: self._navigate,
            Route.OPTIMISE: self._optimise,
            Route.APPLY: self._apply,
        }.get(asked.routed.route, self._report)
        return await answer(asked)

    async def _report(self, asked: _Asked) -> str:
        focus = FOCUS.get(asked.routed.route, Focus.EVERYTHING)
        report = await self._analyse(_scope(asked), focus)
        return f"{_SAME}\n\n{report}" if asked.again else report

    async def _list_labels(self, asked: _Asked) -> str:
        return label_table(asked.known)

    async def _sum_up_label(self, asked: _Asked) -> str:
        if not asked.routed.labels:
            return f"No label of that name is recorded.\n\n{label_table(asked.known)}"
        return await self._report(asked)

    async def _compare(self, asked: _Asked) -> str:
        labels = list(dict.fromkeys((*asked.routed.labels, *asked.page.labels)))[:MOST_COMPARED]
        if len(labels) < 2:
            return f"Two labels are needed for a comparison. Recorded are: {asked.some_labels}."
        summaries = [
            await asked.steps.call("fetch_spans_summary", labels=[label]) for label in labels
        ]
        return comparison_table(labels, summaries)

    async def _filter(self, asked: _Asked) -> str:
        labels = list(asked.routed.labels)
        if labels:
            action = "add" if asked.says("add", "also", "too", "as well") else "set"
        elif asked.says("clear", "remove", "reset", "drop", "undo", "unfilter"):
            action = "clear"
        else:
            return f"No label of that name is recorded. There are: {asked.some_labels}."
        done = await asked.steps.call("apply_label_filter", labels=labels, action=action)
        return str(done["message"])

    async def _navigate(self, asked: _Asked) -> str:
        if asked.says("experiment") and asked.page.span_id is not None:
            done = await asked.steps.call("navigate_to_experiment", spanId=asked.page.span_id)
        elif (url := _address(asked.question, asked.page)) is not None:
            done = await asked.steps.call("navigate_to", url=url)
        else:
            return (
                "It is not clear where to. Name it: thread ID, run ID, trace ID, or a list such as "
                "threads, runs, traces, experiments."
            )
        return str(done["message"])

    async def _optimise(self, asked: _Asked) -> str:
        said = []
        if (span := asked.page.span_id) is not None:
            valid = await asked.steps.call("is_valid_for_optimize", spanId=span)
            said.append(str(valid["reason"]))
            if valid["valid"]:
                said.append(f"To try a change: `treadle experiment new {span}`.")
        return "\n\n".join([" ".join(said), await self._report(asked)]).lstrip()

    async def _apply(self, asked: _Asked) -> str:
        """What to change is a person's or a model's to say, never a rule's."""
        named = {"experimentId": asked.page.experiment_id} if asked.page.experiment_id else {}
        try:
            data = await asked.steps.call("get_experiment_data", **named)
        except ToolError as error:
            return f"{error.message} {error.hint or ''}".strip()
        return (
            "Without a model it is not known which change is meant, so nothing was changed. Edit "
            f"the experiment yourself with `treadle experiment edit`. {data['_next_step']}"
        )


def _scope(asked: _Asked) -> Query:
    """What is looked at: what is on the screen, narrowed by labels that are asked for as such."""
    routed, scope = asked.routed, asked.page.scope
    meant = routed.route is Route.DATA_BY_LABEL or asked.says("labels?", "labell?ed", "tag(?:ged)?")
    if routed.labels and (meant or not scope.conditions):
        return scope & Query((any_of(Of.LABEL, routed.labels),))
    return scope


def _address(question: str, page: PageContext) -> str | None:
    if named := _ID.search(question):
        return _LINKS[named[1].lower()](named[2])
    place = _PLACES.search(question)
    word = place[1].lower() if place else ""
    if word.endswith("s") or not word:
        return f"/{word}" if word else None
    shown = {"thread": page.thread_id, "run": page.run_id, "trace": page.trace_id}
    if word == "experiment":
        return experiment_link(page.experiment_id) if page.experiment_id else _LISTS[word]
    value = shown.get(word)
    if value is None:
        return _LISTS[word]
    if word == "trace" and page.span_id is not None:
        return span_link(value, page.span_id)
    return _LINKS[word](value)
