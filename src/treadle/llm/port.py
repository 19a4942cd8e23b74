"""The port between the request session and whatever answers: what a session may ask and is told."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from treadle.llm.messages import ChatRequest, ModelReply


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
