"""The interface of the case tests: sessions over real HTTP with a provider that plays scripts."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from pydantic import Field

from tests.fakes.clock import HastyClock
from tests.fakes.provider import FakeProvider, RecordedRequest, Reply
from tests.fakes.replies import Script, body, delta, sse, usage_chunk, whole
from tests.session.parts import Echo, Stage, results, stage
from treadle.clock import Clock
from treadle.config.model import ProviderSettings, ToolSettings
from treadle.llm.client import DEFAULT_CONTEXT_WINDOW, HttpChatModel
from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import ProviderError
from treadle.session import SessionOutcome
from treadle.tools.contract import AnyTool, Arguments, Result, Tool, ToolContext

both_ways = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


class Item(Arguments):
    """An element of a list."""

    name: str
    tags: tuple[str, ...] = ()


class TakeArguments(Arguments):
    """Fields of all types that models encode twice; every one is optional."""

    items: tuple[Item, ...] = ()
    options: dict[str, int] | None = None
    note: str = Field(default="", description="Free text.")


class Taken(Result):
    """What came."""

    type: str = "taken"
    taken: TakeArguments


class Take(Tool[TakeArguments, Taken]):
    """Returns its arguments, and counts its runs."""

    name: ClassVar[str] = "take"
    description: ClassVar[str] = "Take things."
    arguments = TakeArguments
    result = Taken

    def __init__(self) -> None:
        self.runs = 0

    async def run(self, arguments: TakeArguments, context: ToolContext) -> Taken:
        self.runs += 1
        return Taken(taken=arguments)


@dataclass(slots=True)
class Play:
    """A conversation with the scripted provider. Tools are those of the stage."""

    at: Stage
    provider: FakeProvider
    model: HttpChatModel
    stream: bool

    async def ask(self, text: str = "Go", **settings: Any) -> SessionOutcome:
        """One request session."""
        chosen = ToolSettings(**settings)
        return await self.at.session(self.model, settings=chosen, stream=self.stream).run(text)

    async def refused(self, text: str = "Go") -> ProviderError:
        """One request session that the provider ends."""
        with pytest.raises(ProviderError) as caught:
            await self.ask(text)
        return caught.value

    def other(self, name: str, **settings: Any) -> "Play":
        """The same conversation with another model of the provider."""
        model = _model(self.provider, self.at.clock, name, settings)
        return Play(self.at, self.provider, model, self.stream)

    def sent(self, request: int = -1) -> list[dict[str, object]]:
        """The messages of a request."""
        return self.provider.requests[request].messages

    def answers(self, request: int = -1) -> list[Any]:
        """The tool messages of a request, decoded."""
        return [json.loads(str(m["content"])) for m in self.sent(request) if m["role"] == "tool"]

    def results(self) -> list[Any]:
        """The results in the conversation, decoded."""
        return [json.loads(text) for text in results(self.at.conversation.messages)]

    def called(self, request: int = -1) -> list[Any]:
        """The calls in a request's messages."""
        calls: list[Any] = []
        for message in self.sent(request):
            named = message.get("tool_calls", [])
            assert isinstance(named, list)
            calls += named
        return calls


@asynccontextmanager
async def play(
    *replies: Reply,
    tools: Sequence[AnyTool] | None = None,
    stream: bool = True,
    clock: Clock | None = None,
    **settings: Any,
) -> AsyncIterator[Play]:
    """Sessions with those replies, all of which must be requested. `settings` are the
    provider's.
    """
    chosen = [Echo(), Take()] if tools is None else tools
    async with (
        stage(*chosen, clock=clock or HastyClock()) as at,
        FakeProvider(replies) as provider,
    ):
        model = _model(provider, at.clock, "fake-model", settings)
        try:
            yield Play(at, provider, model, stream)
        finally:
            await model.close()
        assert provider.remaining == 0


def _model(
    provider: FakeProvider, clock: Clock, name: str, settings: dict[str, Any]
) -> HttpChatModel:
    endpoint = Endpoint("fake", name, provider.base_url, settings=ProviderSettings(**settings))
    window = endpoint.settings.context_window or DEFAULT_CONTEXT_WINDOW
    return HttpChatModel(endpoint, clock=clock, context_window=window)


def raw(
    *calls: dict[str, object],
    text: str | None = None,
    finish_reason: str | None = "tool_calls",
    **fields: Any,
) -> Callable[[RecordedRequest], Script]:
    """A reply with unchanged `calls`: complete, or each as one fragment with its index."""

    def reply(request: RecordedRequest) -> Script:
        if not request.body["stream"]:
            message: dict[str, Any] = {"content": text, "tool_calls": list(calls) or None, **fields}
            return body(whole(finish_reason=finish_reason, **message))
        chunks = [delta(content=text, **fields)]
        for index, call in enumerate(calls):
            chunks.append(delta(tool_calls=[{"index": index, **call}]))
        return sse(*chunks, delta(finish_reason=finish_reason), usage_chunk())

    return reply


def call(name: str, /, **more: object) -> dict[str, object]:
    """One call as on the wire. Other fields than `arguments` are separate."""
    function: dict[str, object] = {"name": name}
    if "arguments" in more:
        function["arguments"] = more.pop("arguments")
    return {"id": "c", "type": "function", "function": function, **more}
