"""The interface of a model: what a session may ask, and what an observer hears of each attempt."""

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
from treadle.llm.messages import ChatRequest, ModelReply
from treadle.llm.provider_errors import ProviderError


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """An attempt goes out. `messages` and `tools` count what is on the wire."""

    operation_id: UUID
    attempt: int
    messages: int
    tools: int
    input_text: str


@dataclass(frozen=True, slots=True)
class AttemptFinished:
    """An attempt ended, with a reply or with an error in words."""

    operation_id: UUID
    attempt: int
    duration: float
    reply: ModelReply | None
    error: str | None


class ModelObserver(Protocol):
    """Is told what happens while a reply is made. The session publishes it as events."""

    async def attempt_started(self, attempt: AttemptStarted) -> None: ...

    async def attempt_finished(self, attempt: AttemptFinished) -> None: ...

    async def delta(self, text: str, *, reasoning: bool = False) -> None: ...

    async def retry_scheduled(self, attempt: int, delay: float, reason: str) -> None: ...

    async def fallback_applied(self, reason: str, change: str) -> None: ...

    async def waiting(self, seconds: float, text: str) -> None: ...

    async def notice(self, level: str, text: str) -> None: ...


class ModelReplacedError(Exception):
    """Another model has taken the place of the one that was asked, and nothing was shown yet.

    The port has its name and its window from now on: build the request anew and ask again.
    """


class ChatModel(Protocol):
    """A model that can be asked. Owns retries, the watchdog and the fallback without tools."""

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
        """Tokens of input and output together."""
        ...

    @property
    def callable_tools(self) -> frozenset[str] | None:
        """Names of the only tools that it can call; None: it can call any."""
        ...

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:
        """The reply to `request`, with its tool calls keyed (request.turn, slot).

        Raises `llm.faults.ProviderError` when it fails for good; what was told to `observer`
        stays told. Cancelling the awaiting task ends the request. A model with fallbacks also
        raises `ModelReplacedError`.
        """
        ...

    async def close(self) -> None:
        """Give back connections and servers."""
        ...


@dataclass(slots=True)
class Attempt:
    """Where whoever makes the attempt puts the reply."""

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
    """Tell of an attempt that sends `messages` as the wire has them and offers so many tools."""
    # In a thread: a long history takes a while to write and to redact.
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
    return secrets.redact(json.dumps(messages, ensure_ascii=False))
