"""The whole path of a session: real HTTP to a scripted provider, real bus, real executor."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, Pause, Script, error
from tests.session.parts import Gate, Stage, results, stage, until
from treadle.clock import SystemClock
from treadle.config.model import ProviderSettings
from treadle.events.types import (
    FallbackApplied,
    ModelDelta,
    ModelRequestFinished,
    RetryScheduled,
    SessionFailed,
    SessionFinished,
    StopReason,
)
from treadle.llm.client import HttpChatModel
from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import ProviderError
from treadle.session import RequestSession


@asynccontextmanager
async def over_http(
    *replies: Answer | Script, tool: Gate | None = None, retries: int = 0
) -> AsyncIterator[tuple[Stage, FakeProvider, HttpChatModel]]:
    async with stage(tool or Gate(), clock=SystemClock()) as at, FakeProvider(replies) as provider:
        endpoint = Endpoint(
            "fake", "fake-model", provider.base_url, settings=ProviderSettings(max_retries=retries)
        )
        model = HttpChatModel(endpoint)
        try:
            yield at, provider, model
        finally:
            await model.close()


def gated(*names: str) -> tuple[Call, ...]:
    return tuple(Call("gate", {"text": name}, id="same") for name in names)


def answered(provider: FakeProvider, request: int) -> list[object]:
    messages = provider.requests[request].messages
    return [json.loads(str(m["content"])) for m in messages if m["role"] == "tool"]


@pytest.mark.parametrize("stream", [True, False])
async def test_parallel_calls_whose_results_come_in_another_order(*, stream: bool) -> None:
    tool = Gate()
    replies = Answer("Let me look.", gated("a", "b", "c")), Answer("It is **so**.")
    async with over_http(*replies, tool=tool) as (at, provider, model):
        session = RequestSession(
            executor=at.executor,
            model=model,
            registry=at.registry,
            conversation=at.conversation,
            stream=stream,
        )
        running = asyncio.ensure_future(session.run("Why?"))
        await until(lambda: len(tool.running) == 3)
        for name in ("c", "a", "b"):
            tool.open(name)
            await tool.left(name)
        outcome = await running
        assert (outcome.text, outcome.stop_reason) == ("It is **so**.", StopReason.COMPLETED)
        assert (outcome.usage.input, outcome.usage.output) == (20, 10)
        assert [each["text"] for each in answered(provider, 1)] == ["a", "b", "c"]  # type: ignore[index]  # JSON
        ids = [m["tool_call_id"] for m in provider.requests[1].messages if m["role"] == "tool"]
        assert len(set(ids)) == 3
        shown = "".join(e.text for e in at.seen(ModelDelta) if not e.reasoning)
        assert shown == "Let me look.It is **so**."


async def test_cancelled_while_calls_run_then_asked_again() -> None:
    tool = Gate()
    async with over_http(Answer("", gated("a", "b")), Answer("Fine."), tool=tool) as parts:
        at, provider, model = parts
        running = asyncio.ensure_future(at.session(model).run("Go"))
        await until(lambda: len(tool.running) == 2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await at.session(model).run("And now?")).text == "Fine."
        kinds = [each["kind"] for each in answered(provider, 1)]  # type: ignore[index]  # JSON
        assert kinds == ["cancelled", "cancelled"]


async def test_cancelled_while_the_reply_streams_hangs_up_on_the_provider() -> None:
    hanging = Answer("Some text").script(stream=True)
    begun = Script((*hanging.steps[:2], Pause()), headers=hanging.headers)
    async with over_http(begun, Answer("Fine.")) as (at, provider, model):
        running = asyncio.ensure_future(at.session(model).run("Go"))
        await until(lambda: at.seen(ModelDelta))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.wait_for(provider.requests[0].hung_up.wait(), 10)
        assert (await at.session(model).run("Again")).text == "Fine."


async def test_a_failing_provider_leaves_the_conversation_usable() -> None:
    async with over_http(error(400), Answer("Better.")) as (at, provider, model):
        with pytest.raises(ProviderError) as caught:
            await at.session(model).run("Go")
        await until(lambda: at.seen(SessionFailed))
        assert at.seen(SessionFailed)[0].message == caught.value.message
        assert (await at.session(model).run("Again")).text == "Better."
        assert not results(at.conversation.messages)
        assert len(provider.requests) == 2


async def test_events_report_the_progress() -> None:
    busy = error(503, "overloaded", retry_after="0")
    no_tools = error(404, "No endpoints found that support tool use")
    answer = Answer("Hello.", reasoning="Greet.")
    async with over_http(busy, no_tools, answer, retries=1) as (at, _provider, model):
        assert (await at.session(model).run("Hi")).text == "Hello."
        await until(lambda: at.seen(SessionFinished))
        assert [event.attempt for event in at.seen(ModelRequestFinished)] == [1, 2, 3]
        last = at.seen(ModelRequestFinished)[-1]
        assert json.loads(last.output_text or "") == {"text": "Hello.", "reasoning": "Greet."}
        assert [event.attempt for event in at.seen(RetryScheduled)] == [2]
        assert [event.change[:20] for event in at.seen(FallbackApplied)] == ["trying without tools"]
        assert {e.text for e in at.seen(ModelDelta) if e.reasoning} == {"Greet."}
