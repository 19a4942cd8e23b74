"""Requests of the HTTP model to a scripted provider on loopback."""

from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider
from tests.llm.recording import RecordingObserver
from treadle.config.model import ProviderSettings
from treadle.events.types import CallKey
from treadle.llm.client import HttpChatModel
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import (
    AssistantMessage,
    ChatRequest,
    ModelReply,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from treadle.llm.provider_errors import ProviderError

SCHEMA: dict[str, object] = {"type": "object", "properties": {"pattern": {"type": "string"}}}
REQUEST = ChatRequest(
    (SystemMessage("Be exact."), UserMessage("Where?")),
    tools=(ToolSpec("grep", "Search.", SCHEMA),),
    turn=2,
)
HISTORY = replace(
    REQUEST,
    messages=(
        *REQUEST.messages,
        AssistantMessage(calls=(ToolCall(CallKey(0, 0), "a", "grep", '{"pattern": "x"}'),)),
        ToolMessage(CallKey(0, 0), "found it"),
    ),
)


class Asked:
    """A model connected to a fake provider, its observer and its clock."""

    def __init__(self, provider: FakeProvider, clock: FakeClock, **settings: Any) -> None:
        self.observer = RecordingObserver()
        self.clock = clock
        endpoint = Endpoint(
            settings.pop("name", "fake"),
            "m",
            provider.base_url,
            api_key="sk-secret-key-of-mine",
            key_name="FAKE_API_KEY",
            settings=ProviderSettings(**settings),
        )
        self.model = HttpChatModel(endpoint, clock=clock)

    async def __call__(self, request: ChatRequest = REQUEST) -> ModelReply:
        return await self.model.complete(request, self.observer)


async def ask(
    provider: FakeProvider, *replies: Any, request: ChatRequest = REQUEST, **settings: Any
) -> tuple[ModelReply, Asked]:
    provider.add(*replies)
    asked = Asked(provider, FakeClock(), **settings)
    try:
        return await asked(request), asked
    finally:
        await asked.model.close()


async def fail(
    provider: FakeProvider, *replies: Any, request: ChatRequest = REQUEST, **settings: Any
) -> tuple[ProviderError, Asked]:
    provider.add(*replies)
    asked = Asked(provider, FakeClock(), **{"max_retries": 0, **settings})
    try:
        with pytest.raises(ProviderError) as caught:
            await asked(request)
    finally:
        await asked.model.close()
    return caught.value, asked
