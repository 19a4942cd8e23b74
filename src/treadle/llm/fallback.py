"""A model with others behind it: the next one answers where one fails for good."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from treadle.errors import TreadleError
from treadle.llm.faults import ProviderError
from treadle.llm.messages import ChatRequest, ModelReply
from treadle.llm.port import (
    AttemptFinished,
    AttemptStarted,
    ChatModel,
    ModelObserver,
    ModelReplacedError,
)


class FallbackModel:
    """A `ChatModel` that is the first of several; its fallbacks are connected when needed.

    The one that answers stays for the life of this object, so a session does not go to and fro.
    """

    def __init__(
        self,
        first: ChatModel,
        names: Sequence[str],
        connect: Callable[[str], Awaitable[ChatModel]],
    ) -> None:
        """`connect` gives the model of a name; it raises TreadleError where there is none."""
        self._model = first
        self._names = deque(names)
        self._connect = connect
        self._used = [first]

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

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:
        """See `ChatModel.complete`. Raises ModelReplacedError where a fallback takes over.

        A failure after part of the reply was shown is final: another model cannot go on with it.
        """
        watched = _Watched(observer)
        try:
            return await self._model.complete(request, watched)
        except ProviderError as error:
            if watched.shown or not await self._replace(error, observer):
                raise
        raise ModelReplacedError

    async def close(self) -> None:
        for model in self._used:
            await model.close()

    async def _replace(self, error: ProviderError, observer: ModelObserver) -> bool:
        """Put the next model that can be had in the place of the one that failed."""
        while self._names:
            name = self._names.popleft()
            try:
                self._model = await self._connect(name)
            except TreadleError as missing:
                await observer.notice("warning", f"The fallback {name} is skipped: {missing}")
                continue
            self._used.append(self._model)
            await observer.fallback_applied(error.message, f"asking {name} instead")
            return True
        return False


class _Watched:
    """An observer, with a note of whether anything of the reply was shown."""

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
