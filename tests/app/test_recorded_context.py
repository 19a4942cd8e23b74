"""The plan of a recorded request, from the spans of its run."""

import json
from dataclasses import replace

import pytest

from tests.app.desk import Desk
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call
from treadle.app.assistant import Assistant
from treadle.app.choices import Choices
from treadle.app.context_plan import ContextPlan, SectionKind
from treadle.app.recorded_context import recorded_plan
from treadle.errors import NotFoundError, UsageError
from treadle.events.types import PromptConstructed
from treadle.ids import new_id
from treadle.llm.client import HttpChatModel
from treadle.llm.endpoint import Endpoint
from treadle.session.attachments import Attachment, CodeAttachment, TextAttachment
from treadle.spans.event_mapper import RECORDED, EventMapper
from treadle.spans.span import Span, SpanKind


class Spans:
    """The spans of runs by their ids."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], Span] = {}

    def span(self, trace_id: str, span_id: str) -> Span | None:
        return self.kept.get((trace_id, span_id))

    def calls(self) -> list[Span]:
        return [span for span in self.kept.values() if span.kind is SpanKind.MODEL]


async def recorded(desk: Desk) -> tuple[Spans, list[PromptConstructed]]:
    """The spans of a question with attachments, and the events about its prompts."""
    read = Call("read_file", {"path": "calc.py"}, id="c1")
    async with FakeProvider([Answer("", (read,)), Answer("It adds.")]) as provider:
        model = HttpChatModel(Endpoint("fake", "fake-model", provider.base_url))
        assistant = Assistant(desk.app, Choices(), model)
        given: list[Attachment] = [
            CodeAttachment("calc.py", 1, 2),
            TextAttachment("a <paste>", "words " * 30),
        ]
        attached = await assistant.attach(given, None)
        session = await assistant.session(await assistant.conversation(), new_id())
        with desk.app.bus.subscribe(*RECORDED) as subscription:
            await session.run("How does it add?", attached)
            subscription.close()
            envelopes = [each async for each in subscription]
        await model.close()
    spans, mapper = Spans(), EventMapper()
    for envelope in envelopes:
        for span in mapper.apply(envelope):
            spans.kept[span.trace_id, span.span_id] = span
    events = [each.event for each in envelopes]
    return spans, [each for each in events if isinstance(each, PromptConstructed)]


def named(plan: ContextPlan, kind: SectionKind) -> list[str]:
    return [item.name for part in plan.sections if part.kind is kind for item in part.items]


async def test_sections_of_a_recorded_request(desk: Desk) -> None:
    spans, prompts = await recorded(desk)
    _, second = spans.calls()
    plan = recorded_plan(spans, second.trace_id, second.span_id)
    assert (plan.provider, plan.model, plan.counted) == ("fake", "fake-model", 10)
    assert (plan.window, plan.budget) == (prompts[1].context_window, prompts[1].budget_tokens)
    assert named(plan, SectionKind.ATTACHED) == ["calc.py:1-2", "a <paste>"]
    assert named(plan, SectionKind.HISTORY) == ["How does it add?"]
    assert named(plan, SectionKind.RESULTS) == ["How does it add?"]
    assert plan.tokens == pytest.approx(prompts[1].estimated_tokens, rel=0.1)
    assert plan.tokens == sum(part.tokens for part in plan.sections)


async def test_a_request_of_another_program_has_no_window(desk: Desk) -> None:
    spans, _ = await recorded(desk)
    messages = [
        {"role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Why?"},
                {"type": "image_url", "image_url": {"url": "treadle-omitted-image:image/png"}},
            ],
        },
    ]
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    foreign = replace(
        spans.calls()[0],
        parent_id=None,
        input=json.dumps(messages),
        attributes={"gen_ai.tool.definitions": json.dumps(tools)},
    )
    spans.kept = {(foreign.trace_id, foreign.span_id): foreign}
    plan = recorded_plan(spans, foreign.trace_id, foreign.span_id)
    assert (plan.window, plan.budget, plan.reserve) == (None, None, None)
    assert named(plan, SectionKind.TOOLS) == ["look"]
    assert named(plan, SectionKind.HISTORY) == ["Why?"]
    assert named(plan, SectionKind.IMAGES) == ["image"]
    assert plan.tokens == pytest.approx(10, abs=1)  # the calibration follows the provider's count


async def test_a_span_without_messages_is_refused(desk: Desk) -> None:
    spans, _ = await recorded(desk)
    tool = next(span for span in spans.kept.values() if span.kind is SpanKind.TOOL)
    with pytest.raises(UsageError, match="its kind is tool"):
        recorded_plan(spans, tool.trace_id, tool.span_id)
    with pytest.raises(NotFoundError):
        recorded_plan(spans, tool.trace_id, "absent")
