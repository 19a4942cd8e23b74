"""A model in process: plays replies, reports like a real one to its observer, records requests."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from treadle.events.types import CallKey, Usage
from treadle.llm.chat_model import AttemptFinished, AttemptStarted, ModelObserver
from treadle.llm.messages import AssistantMessage, ChatRequest, ModelReply, ToolCall


@dataclass(frozen=True, slots=True)
class Say:
    """A reply: some text, calls as (name, arguments JSON), and how it ended."""

    text: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=lambda: Usage(10, 5, 0, 0))
    cost: float | None = 0.25


class Hang:
    """A reply that never comes."""


Turn = Say | Hang | Exception | Callable[[ChatRequest], Say]


class FakeModel:
    """Implements `llm.port.ChatModel`; each request takes the next of `turns`."""

    provider = "fake"
    model = "fake-model"
    callable_tools: frozenset[str] | None = None

    def __init__(
        self, *turns: Turn, context_window: int = 100_000, images: bool | None = None
    ) -> None:
        self.images = images
        self._turns: list[Turn] = list(turns)
        self.context_window = context_window
        self.requests: list[ChatRequest] = []

    async def takes_images(self) -> bool | None:
        return self.images

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:
        self.requests.append(request)
        turn = self._turns.pop(0)
        operation = uuid4()
        await observer.attempt_started(
            AttemptStarted(operation, 1, len(request.messages), len(request.tools), "[]")
        )
        if isinstance(turn, Hang):
            await observer.delta("Well")
            await asyncio.Event().wait()
        if isinstance(turn, Exception):
            await observer.attempt_finished(AttemptFinished(operation, 1, 0.0, None, str(turn)))
            raise turn
        assert not isinstance(turn, Hang)
        reply = self._reply(request, turn if isinstance(turn, Say) else turn(request))
        if reply.message.text:
            await observer.delta(reply.message.text)
        await observer.attempt_finished(AttemptFinished(operation, 1, 0.0, reply, None))
        return reply

    def _reply(self, request: ChatRequest, say: Say) -> ModelReply:
        calls = tuple(
            ToolCall(CallKey(request.turn, slot), f"id-{slot}", name, arguments, "fake")
            for slot, (name, arguments) in enumerate(say.calls)
        )
        message = AssistantMessage(say.text, calls, provider=self.provider, model=self.model)
        return ModelReply(message, say.finish_reason, say.usage, say.cost)

    async def close(self) -> None:
        """Does nothing."""


def calls(*named: tuple[str, str] | str) -> tuple[tuple[str, str], ...]:
    """Calls by name, without arguments if none are given."""
    return tuple((each, "{}") if isinstance(each, str) else each for each in named)


def texts(requests: Sequence[ChatRequest]) -> list[list[str]]:
    """The kinds of messages of each request."""
    return [
        [type(m).__name__.removesuffix("Message").lower() for m in r.messages] for r in requests
    ]
