"""The event bus, which works in one process on one asyncio loop.

Each event has a delivery class (must-deliver or lossy) and a sequence number.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Self
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.events.types import (
    CallKey,
    Delivery,
    Event,
    ModelDelta,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
)

Outcome = ToolCallCompleted | ToolCallFailed

QUEUE_LIMIT = 1024
"""The number of events that may wait for one subscriber.

Above this number, publishers of must-deliver events wait until there is room. A publisher queues
its event before it waits. Therefore the queue can exceed the limit, but only by one event for each
waiting publisher.
"""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A published event, its number and its time.

    `seq` counts all events of the bus from 1, without gaps. `at_us` is Unix microseconds.
    """

    seq: int
    at_us: int
    event: Event


class Subscription:
    """The queue of one subscriber, in order of publication.

    Iterate over the subscription to receive the events. At the end, close it or leave its `with`
    block. If the subscriber is too slow, consecutive deltas (parts of streamed text) are joined
    into one delta, so no text is lost. `dropped` counts the other lossy events that the subscriber
    missed.
    """

    def __init__(
        self, bus: "EventBus", types: tuple[type[Event], ...], request_id: UUID | None, limit: int
    ) -> None:
        self._bus = bus
        self._types = types
        self._request_id = request_id
        self._limit = limit
        self._queue: deque[Envelope] = deque()
        self._joined: list[str] = []
        """Text that belongs to the delta at the end of the queue."""
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._closed = False
        self.dropped = 0

    def wants(self, event: Event) -> bool:
        """Whether this subscriber subscribed to the type and request of `event`."""
        if self._request_id is not None and event.request_id != self._request_id:
            return False
        return not self._types or isinstance(event, self._types)

    def offer(self, envelope: Envelope) -> None:
        """Queue the event.

        If the queue is full, a delta is joined to the last delta of the queue, and any other lossy
        event is dropped.
        """
        event = envelope.event
        if len(self._queue) >= self._limit and event.delivery is Delivery.LOSSY:
            if not isinstance(event, ModelDelta):
                self.dropped += 1
                return
            if self._join(event):
                return
        self._settle_end()
        self._queue.append(envelope)
        self._arrived.set()
        if len(self._queue) > self._limit:
            self._room.clear()

    def _join(self, late: ModelDelta) -> bool:
        """Join a delta to the event at the end of the queue if that is a delta of the same reply.

        Returns whether the delta was joined.
        """
        match self._queue[-1].event:
            case ModelDelta(request_id=request_id, turn=turn, reasoning=reasoning) if (
                request_id,
                turn,
                reasoning,
            ) == (late.request_id, late.turn, late.reasoning):
                self._joined.append(late.text)
                return True
        return False

    def _settle_end(self) -> None:
        """Add the collected text to the delta at the end of the queue.

        Texts are collected first, since copying the whole text for each new delta would be slow.
        """
        if not self._joined:
            return
        last = self._queue[-1]
        assert isinstance(last.event, ModelDelta)
        text = last.event.text + "".join(self._joined)
        self._queue[-1] = replace(last, event=replace(last.event, text=text))
        self._joined.clear()

    async def room(self) -> None:
        """Wait until the queue is within its limit or the subscription is closed."""
        await self._room.wait()

    def close(self) -> None:
        """Leave the bus. The iteration still returns the events in the queue, and then ends."""
        self._closed = True
        self._room.set()
        self._arrived.set()
        self._bus.forget(self)

    def __aiter__(self) -> AsyncIterator[Envelope]:
        return self

    async def __anext__(self) -> Envelope:
        while not self._queue:
            if self._closed:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        if len(self._queue) == 1:
            self._settle_end()
        envelope = self._queue.popleft()
        if len(self._queue) <= self._limit:
            self._room.set()
        return envelope

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class EventBus:
    """Carries events from publishers to subscribers and resolves the futures of tool calls.

    The bus is not thread-safe. Use it from its own event loop only. A subscriber that must not miss
    the first events subscribes before the session starts.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._subscriptions: list[Subscription] = []
        self._waiting: dict[tuple[UUID, CallKey], asyncio.Future[Outcome]] = {}
        self._seq = 0

    def subscribe(
        self, *types: type[Event], request_id: UUID | None = None, limit: int = QUEUE_LIMIT
    ) -> Subscription:
        """Subscribe to events of the given types, or to all events if no type is given.

        `request_id` selects the events of one request.
        """
        subscription = Subscription(self, types, request_id, limit)
        self._subscriptions.append(subscription)
        return subscription

    def forget(self, subscription: Subscription) -> None:
        """Drop a subscription. Its `close` calls this method."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def expect(self, request_id: UUID, key: CallKey) -> asyncio.Future[Outcome]:
        """Create the future of a call's outcome.

        Call this method before the call is published. Raises ValueError if the call already has a
        future.
        """
        slot = (request_id, key)
        if slot in self._waiting:
            raise ValueError(f"call {key} of request {request_id} is already expected")
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting[slot] = future
        future.add_done_callback(lambda _: self._waiting.pop(slot, None))
        return future

    async def publish(self, event: Event) -> None:
        """Deliver the event to every subscriber of its type.

        This method puts the event into every queue before it first waits. Therefore the numbers
        `seq` in a queue always rise, and a cancelled publisher does not lose the event. For a
        must-deliver event, the method then waits until no queue is over its limit. For a lossy
        event, it returns immediately. If the event is the outcome of a call, it first resolves the
        future of the call. If no future waits for it, `ToolCallLate` is published instead.
        """
        if isinstance(event, ToolCallCompleted | ToolCallFailed):
            event = self._settle(event)
        self._seq += 1
        envelope = Envelope(self._seq, self._clock.now_us(), event)
        takers = [each for each in self._subscriptions if each.wants(event)]
        for taker in takers:
            taker.offer(envelope)
        if event.delivery is Delivery.MUST_DELIVER:
            for taker in takers:
                await taker.room()

    def _settle(self, outcome: Outcome) -> Event:
        """Resolve the future that waits for `outcome`, and return the event to publish.

        If no future waits for it, the event to publish is ToolCallLate.
        """
        future = self._waiting.get((outcome.request_id, outcome.key))
        if future is not None and not future.done():
            future.set_result(outcome)
            return outcome
        completed = isinstance(outcome, ToolCallCompleted)
        return ToolCallLate(
            request_id=outcome.request_id,
            parent_id=outcome.parent_id,
            key=outcome.key,
            call_id=outcome.call_id,
            outcome="completed" if completed else "failed",
        )


class Listener(ABC):
    """A context manager that receives every event of a subscription in order.

    On exit it first receives the events that are still in the queue.
    """

    async def __aenter__(self) -> Self:
        self._subscription = self._subscribe()
        self._listening = asyncio.create_task(self._hear_all(), name=type(self).__name__)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._subscription.close()  # events in the queue are still received
        await self._listening

    @abstractmethod
    def _subscribe(self) -> Subscription:
        """Return the subscription. This method is called when the context is entered."""

    @abstractmethod
    async def _on_event(self, envelope: Envelope) -> None:
        """Process one event. An exception ends the listener and is raised when its context ends."""

    async def _hear_all(self) -> None:
        async for envelope in self._subscription:
            await self._on_event(envelope)
