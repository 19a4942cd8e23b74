"""What listens to a bus in a task of its own while it is entered."""

import asyncio
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from treadle.events.bus import Envelope, Subscription


class Listener(ABC):
    """Hears every event of a subscription in order; leaving it waits until all were heard."""

    async def __aenter__(self) -> Self:
        self._subscription = self._subscribe()
        self._listening = asyncio.create_task(self._hear_all(), name=type(self).__name__)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._subscription.close()  # what waits in it is still heard
        await self._listening

    @abstractmethod
    def _subscribe(self) -> Subscription:
        """The subscription, made when it is entered."""

    @abstractmethod
    async def _hear(self, envelope: Envelope) -> None:
        """Take one event. What it raises ends the listening and comes out at leaving."""

    async def _hear_all(self) -> None:
        async for envelope in self._subscription:
            await self._hear(envelope)
