"""Quirks of an endpoint are learned from its refusals, reported, and kept for the session."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, error
from tests.llm.asking import HISTORY, REQUEST, Asked, ask, fail
from tests.llm.recording import RecordingObserver
from treadle.llm.client import HttpChatModel
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import AssistantMessage, ChatRequest, UserMessage
from treadle.llm.quirks import LearnedQuirks

THOUGHT = replace(
    REQUEST,
    messages=(
        *REQUEST.messages,
        AssistantMessage("It is.", reasoning="Hm.", provider="fake", model="m"),
        UserMessage("Why?"),
    ),
)


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as provider:
        yield provider


async def twice(
    provider: FakeProvider, refusal: str, request: ChatRequest, **settings: Any
) -> tuple[list[dict[str, Any]], list[str]]:
    """The bodies of a request that is refused, repeated and repeated again, and the reported
    changes."""
    provider.add(error(400, refusal), Answer("Hi"), Answer("Hi"))
    asked = Asked(provider, FakeClock(), **settings)
    await asked(request)
    await asked(request)
    await asked.model.close()
    return [each.body for each in provider.requests], [c for _, c in asked.observer.fallbacks]


async def test_refused_stream_options_are_left_out(provider: FakeProvider) -> None:
    bodies, told = await twice(provider, "Unknown parameter: 'stream_options'.", REQUEST)
    assert ["stream_options" in body for body in bodies] == [True, False, False]
    assert told == ["trying without stream_options; token counts may be unknown"]


async def test_the_limit_of_a_reply_is_sent_under_its_other_name(provider: FakeProvider) -> None:
    refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    bodies, told = await twice(provider, refusal, REQUEST, max_output_tokens=9)
    assert [body.get("max_tokens") for body in bodies] == [9, None, None]
    assert [body.get("max_completion_tokens") for body in bodies] == [None, 9, 9]
    assert len(told) == 1


async def test_refused_reasoning_is_not_sent_again(provider: FakeProvider) -> None:
    refusal = "messages[2]: unknown field `reasoning_content`"
    bodies, told = await twice(provider, refusal, THOUGHT)
    sent = ["reasoning_content" in body["messages"][2] for body in bodies]
    assert sent == [True, False, False]
    assert told == ["reasoning is not sent back"]


async def test_each_form_is_tried_once(provider: FakeProvider) -> None:
    refusals = [error(400, "content: expected a string"), error(400, "content: expected null")]
    _, asked = await fail(provider, *refusals, request=HISTORY)
    assert [m["content"] for r in provider.requests for m in r.messages[2:3]] == [None, ""]
    assert len(asked.observer.fallbacks) == 1


async def test_preferences_are_never_given_up(provider: FakeProvider) -> None:
    refusal = error(400, "Unknown parameter: 'provider'.")
    _, asked = await fail(provider, refusal, preferences={"data_collection": "deny"})
    assert asked.observer.fallbacks == []


async def test_preferences_go_with_every_request_where_set_so(provider: FakeProvider) -> None:
    wanted = {"order": ["a"], "max_price": {"prompt": 1}}
    plain = replace(REQUEST, tools=())
    await ask(provider, Answer("Hi"), request=plain, preferences=wanted, send_preferences="always")
    assert provider.requests[0].body["provider"] == wanted


async def test_the_next_model_of_an_endpoint_knows_its_quirks(
    provider: FakeProvider,
) -> None:
    kept = LearnedQuirks()
    refusal = error(400, "Tool call id was a but must be a-z, A-Z, 0-9, with a length of 9.")
    no_tools = error(404, "No endpoints found that support tool use")
    provider.add(refusal, Answer("Hi"), no_tools, Answer("Hi"), Answer("Hi"), Answer("Hi"))
    for name, request in (("m", HISTORY), ("m", HISTORY), ("m", HISTORY), ("other", HISTORY)):
        endpoint = Endpoint("fake", name, provider.base_url)
        model = HttpChatModel(endpoint, clock=FakeClock(), kept=kept)
        await model.complete(request, RecordingObserver())
        await model.close()
    ids = [
        [m.get("tool_call_id") for m in r.messages if m["role"] == "tool"]
        for r in provider.requests
    ]
    assert [len(str(found[0])) if found else None for found in ids] == [1, 9, 9, None, 9, 1]
