"""A log of the newest events. A client that lost its connection reads the missed events from it."""

import asyncio
import json
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from treadle.events import Envelope, EventBus, Subscription, event_json
from treadle.events.bus import Listener
from treadle.events.types import SessionStarted

MAX_CHARACTERS = 16_000_000
"""The maximum size of the logged events, in characters of JSON.

The newest event is kept even if it is larger.
"""


class LoggedEvent(NamedTuple):
    """An event as one line of JSON, with its sequence number in the log."""

    seq: int
    type: str
    request_id: UUID
    text: str
    part_of: UUID | None = None
    """The id of the request whose tool call started this request.

    Only the first event of a request has it. It is None for all other events.
    """


class Gap(NamedTuple):
    """A gap in the events that a client receives.

    The events with numbers between `after` and `next` are not available. The log dropped them, or
    they belong to an earlier server.
    """

    after: int
    next: int


class EventLog(Listener):
    """Logs the events of a bus until its context ends.

    Any number of readers can follow the log, each at its own speed. The number of the first event
    is `begin` + 1. A new server uses a `begin` above all numbers of the earlier server. Clients of
    the earlier server therefore receive a `Gap`.
    """

    def __init__(
        self, bus: EventBus, *, begin: int = 0, most_characters: int = MAX_CHARACTERS
    ) -> None:
        self._bus = bus
        self._begin = begin
        self._most = most_characters
        self._events: deque[LoggedEvent] = deque()
        self._characters = 0
        self._forgotten = begin
        """The number of the newest event that was dropped, or `begin` if none was dropped."""
        self._grown = asyncio.Event()

    async def __aexit__(self, *exception: object) -> None:
        await super().__aexit__(*exception)
        self._wake()

    @property
    def newest(self) -> int:
        """The number of the newest event, or `begin` before the first event."""
        return self._events[-1].seq if self._events else self._forgotten

    async def follow(
        self, *, after: int | None = None, request_id: UUID | None = None
    ) -> AsyncIterator[LoggedEvent | Gap]:
        """Yield the logged events after the number `after`, and then every new event, without end.

        If `after` is None, the first event is the next new one. If it is 0, the first event is the
        oldest logged one. `request_id` selects the events of one request. A `Gap` reports events
        that are not available.
        """
        seen = self.newest if after is None else after or self._begin
        while True:
            if not self._forgotten <= seen <= self.newest:
                lost, seen = seen, self._forgotten
                yield Gap(lost, seen + 1)
            index = bisect_right(self._events, seen, key=lambda event: event.seq)
            if index == len(self._events):
                grown = self._grown
                await grown.wait()
                continue
            event = self._events[index]
            seen = event.seq
            if request_id in {None, event.request_id}:
                yield event

    def of_turn(self, request_id: UUID) -> list[LoggedEvent]:
        """Return the logged events of a request and of the requests that its tool calls started."""
        parts, found = {request_id}, []
        for event in self._events:
            if event.part_of in parts:
                parts.add(event.request_id)
            if event.request_id in parts:
                found.append(event)
        return found

    def _subscribe(self) -> Subscription:
        return self._bus.subscribe()

    async def _on_event(self, envelope: Envelope) -> None:
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
