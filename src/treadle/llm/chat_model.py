"""The interface of chat models, and of the observers that receive the events of their requests."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from treadle import secrets
from treadle.clock import Clock
from treadle.ids import IdSource
from treadle.llm.image_parts import without_image_data
from treadle.llm.messages import ChatRequest, ModelReply
from treadle.llm.provider_errors import ProviderError


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """The start of an attempt. A model request has several attempts if it is retried.

    `messages` and `tools` are the numbers of messages and tools in the request. `input_text` is the
    redacted JSON of the messages.
    """

    operation_id: UUID
    attempt: int
    messages: int
    tools: int
    input_text: str


@dataclass(frozen=True, slots=True)
class AttemptFinished:
    """The end of an attempt, with a reply or with an error text. `duration` is in seconds."""

    operation_id: UUID
    attempt: int
    duration: float
    reply: ModelReply | None
    error: str | None


class ModelObserver(Protocol):
    """Receives the events of a reply. The session publishes them."""

    async def attempt_started(self, attempt: AttemptStarted) -> None: ...

    async def attempt_finished(self, attempt: AttemptFinished) -> None: ...

    async def delta(self, text: str, *, reasoning: bool = False) -> None: ...

    async def retry_scheduled(self, attempt: int, delay: float, reason: str) -> None: ...

    async def fallback_applied(self, reason: str, change: str) -> None: ...

    async def waiting(self, seconds: float, text: str) -> None: ...

    async def notice(self, level: str, text: str) -> None: ...


class WatchedObserver:
    """An observer that forwards all events.

    `shown` is True once a part of the reply was forwarded.
    """

    def __init__(self, observer: ModelObserver) -> None:
        self._observer = observer
        self.shown = False

    async def attempt_started(self, attempt: AttemptStarted) -> None:
        await self._observer.attempt_started(attempt)

    async def attempt_finished(self, attempt: AttemptFinished) -> None:
        await self._observer.attempt_finished(attempt)

    async def delta(self, text: str, *, reasoning: bool = False) -> None:
        self.shown = True
        await self._observer.delta(text, reasoning=reasoning)

    async def retry_scheduled(self, attempt: int, delay: float, reason: str) -> None:
        await self._observer.retry_scheduled(attempt, delay, reason)

    async def fallback_applied(self, reason: str, change: str) -> None:
        await self._observer.fallback_applied(reason, change)

    async def waiting(self, seconds: float, text: str) -> None:
        await self._observer.waiting(seconds, text)

    async def notice(self, level: str, text: str) -> None:
        await self._observer.notice(level, text)


class ModelReplacedError(Exception):
    """A fallback replaced the failed model before any part of a reply was shown.

    The `ChatModel` now has the name and the context window of the fallback. The caller builds the
    request again for the fallback and sends it.
    """


class ChatModel(Protocol):
    """A model that answers chat requests.

    An implementation retries failed requests, and gives up a request if its server sends nothing
    for too long. If the model does not support tools, the implementation repeats the request
    without them.
    """

    @property
    def provider(self) -> str:
        """Name of the provider profile."""
        ...

    @property
    def model(self) -> str:
        """The provider's own model id."""
        ...

    @property
    def context_window(self) -> int:
        """The maximum sum of input and output tokens of a request."""
        ...

    @property
    def callable_tools(self) -> frozenset[str] | None:
        """The names of the tools that the model can call, or None if it can call any tool."""
        ...

    async def takes_images(self) -> bool | None:
        """Return whether messages may contain images, or None if it is unknown.

        The first call may ask the provider for a description of the model.
        """
        ...

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:
        """Return the reply to `request`.

        The keys of the tool calls in the reply are (request.turn, slot).

        Raises `ProviderError` for a final failure. The events that `observer` received before the
        failure stay valid. Cancelling the task that awaits the reply ends the request. A model with
        fallbacks also raises `ModelReplacedError`.
        """
        ...

    async def close(self) -> None:
        """Close the connections, or stop the engine of the model."""
        ...


class ModelWrapper:
    """A base class of models that wrap another `ChatModel` and share its properties."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def provider(self) -> str:
        return self._model.provider

    @property
    def model(self) -> str:
        return self._model.model

    @property
    def context_window(self) -> int:
        return self._model.context_window

    @property
    def callable_tools(self) -> frozenset[str] | None:
        return self._model.callable_tools

    async def takes_images(self) -> bool | None:
        return await self._model.takes_images()


@dataclass(slots=True)
class Attempt:
    """An attempt of a model request. The caller stores the reply of the model in `reply`."""

    reply: ModelReply | None = None


@asynccontextmanager
async def attempt(
    observer: ModelObserver,
    *,
    number: int,
    messages: Sequence[object],
    tools: int,
    clock: Clock,
    ids: IdSource,
) -> AsyncIterator[Attempt]:
    """Report the start and the end of an attempt to `observer`.

    `messages` are in wire format, and `tools` is the number of tools.
    """
    # A thread serialises and redacts the messages, since a long history would block the event loop.
    text = await asyncio.to_thread(_recorded, messages)
    operation_id, started = ids(), clock.monotonic()
    await observer.attempt_started(AttemptStarted(operation_id, number, len(messages), tools, text))
    made = Attempt()
    failure: str | None = "an internal error"
    try:
        yield made
        failure = None
    except ProviderError as error:
        failure = error.message
        raise
    except asyncio.CancelledError:
        failure = "cancelled"
        raise
    finally:
        duration = clock.monotonic() - started
        await observer.attempt_finished(
            AttemptFinished(operation_id, number, duration, made.reply, failure)
        )


def _recorded(messages: Sequence[object]) -> str:
    return secrets.redact(json.dumps(without_image_data(messages), ensure_ascii=False))
