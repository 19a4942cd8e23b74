"""The newest events of a bus, kept so that a client that lost its connection can go on."""

import asyncio
import json
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple
from uuid import UUID

from treadle.events import Envelope, EventBus, Subscription, event_json
from treadle.events.listener import Listener
from treadle.events.types import SessionStarted

MOST_CHARACTERS = 16_000_000
"""Of JSON kept; the newest event is kept whatever its size."""


class LoggedEvent(NamedTuple):
    """An event by its number in the log, as one line of JSON."""

    seq: int
    type: str
    request_id: UUID
    text: str
    part_of: UUID | None = None
    """The request whose call began this one, told by the event that it began with."""


class Gap(NamedTuple):
    """Events after `after` that are kept no more, or were another log's; `next` comes next."""

    after: int
    next: int


class EventLog(Listener):
    """Reads a bus while it is entered. Any number of readers follow it, each at its own speed.

    Events are numbered from `begin` on. Whoever starts a log in the place of one that ended gives a
    number beyond its last, so that a reader who goes on from there is told of the gap.
    """

    def __init__(
        self, bus: EventBus, *, begin: int = 0, most_characters: int = MOST_CHARACTERS
    ) -> None:
        self._bus = bus
        self._begin = begin
        self._most = most_characters
        self._events: deque[LoggedEvent] = deque()
        self._characters = 0
        self._forgotten = begin
        """The number of the newest event that is kept no more."""
        self._grown = asyncio.Event()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await super().__aexit__(kind, error, trace)
        self._wake()

    @property
    def newest(self) -> int:
        """The number of the newest event, that of the beginning before the first."""
        return self._events[-1].seq if self._events else self._forgotten

    async def follow(
        self, *, after: int | None = None, request_id: UUID | None = None
    ) -> AsyncIterator[LoggedEvent | Gap]:
        """The events after number `after`, then those to come, without end.

        With None from now on, with 0 from the first. Of one request, if it is named. A `Gap` tells
        of events that can be had no more.
        """
        seen = self.newest if after is None else after or self._begin
        while True:
            if not self._forgotten <= seen <= self.newest:
                lost, seen = seen, self._forgotten
                yield Gap(lost, seen + 1)
            place = bisect_right(self._events, seen, key=lambda event: event.seq)
            if place == len(self._events):
                grown = self._grown
                await grown.wait()
                continue
            event = self._events[place]
            seen = event.seq
            if request_id in {None, event.request_id}:
                yield event

    def of_turn(self, request_id: UUID) -> list[LoggedEvent]:
        """The events of a request that are kept, and of the requests that its calls began."""
        parts, found = {request_id}, []
        for event in self._events:
            if event.part_of in parts:
                parts.add(event.request_id)
            if event.request_id in parts:
                found.append(event)
        return found

    def _subscribe(self) -> Subscription:
        return self._bus.subscribe()

    async def _hear(self, envelope: Envelope) -> None:
        envelope = replace(envelope, seq=self._begin + envelope.seq)
        event = envelope.event
        text = json.dumps(event_json(envelope), separators=(",", ":"))
        part_of = event.parent_id if isinstance(event, SessionStarted) else None
        self._events.append(
            LoggedEvent(envelope.seq, type(event).__name__, event.request_id, text, part_of)
        )
        self._characters += len(text)
        while self._characters > self._most and len(self._events) > 1:
            gone = self._events.popleft()
            self._characters -= len(gone.text)
            self._forgotten = gone.seq
        self._wake()

    def _wake(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()
