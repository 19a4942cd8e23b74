"""A log of the newest events. A client that lost its connection reads the missed events from it."""

import asyncio
import json
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import UUID

from treadle.events import Envelope, EventBus, Subscription, event_json
from treadle.events.bus import Listener
from treadle.events.types import SessionStarted

MAX_CHARACTERS = 16_000_000
"""The maximum size of the logged events, in characters of JSON.

The newest event is kept even if it is larger.
"""


_HOLE_CHARACTERS = 100  # the size of a hole, so that the size of the log limits their number


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
    shared: bool = False
    """Whether the other servers of the project receive this event from this server."""


class _Hole(NamedTuple):
    """An entry that stands for events of another server that did not arrive."""

    seq: int


class Gap(NamedTuple):
    """A gap in the events that a client receives.

    The events with numbers between `after` and `next` are not available. The log dropped them, or
    they belong to an earlier server.
    """

    after: int
    next: int


class EventLog(Listener):
    """Logs the events of a bus, and those of other servers, until its context ends.

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
        self._events: deque[LoggedEvent | _Hole] = deque()
        self._characters = 0
        self._forgotten = begin
        """The number of the newest event that was dropped, or `begin` if none was dropped."""
        self._grown = asyncio.Event()
        self._followers = 0

    async def __aexit__(self, *exception: object) -> None:
        await super().__aexit__(*exception)
        self._wake()

    @property
    def begin(self) -> int:
        """A number below the numbers of all events."""
        return self._begin

    @property
    def newest(self) -> int:
        """The number of the newest event, or `begin` before the first event."""
        return self._events[-1].seq if self._events else self._forgotten

    @property
    def followers(self) -> int:
        """The number of clients that follow the log."""
        return self._followers

    @contextmanager
    def follower(self) -> Iterator[None]:
        """Count a client until the context ends."""
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1

    async def follow(
        self, *, after: int | None = None, request_id: UUID | None = None
    ) -> AsyncIterator[LoggedEvent | Gap]:
        """Yield the logged events after the number `after`, and then every new event, without end.

        If `after` is None, the first event is the next new one. If it is 0, the first event is the
        oldest logged one. `request_id` selects the events of one request. A `Gap` reports events
        that are not available.
        """
        async with aclosing(self._walk(after)) as events:
            async for event in events:
                if isinstance(event, _Hole):
                    yield Gap(event.seq - 1, event.seq + 1)
                elif isinstance(event, Gap) or request_id in {None, event.request_id}:
                    yield event

    async def follow_shared(self, after: int) -> AsyncIterator[LoggedEvent | Gap]:
        """Yield every event after the number `after` that the other servers receive, without end.

        A `Gap` reports that the log dropped events before the caller read them.
        """
        async with aclosing(self._walk(after)) as events:
            async for event in events:
                if isinstance(event, Gap) or (isinstance(event, LoggedEvent) and event.shared):
                    yield event

    async def _walk(self, after: int | None) -> AsyncGenerator[LoggedEvent | _Hole | Gap]:
        """Yield the entries after the number `after`. None means the newest entry.

        If entries are no longer available, a `Gap` reports them before the next entry.
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
            yield event

    def of_turn(self, request_id: UUID) -> list[LoggedEvent]:
        """Return the logged events of a request and of the requests that its tool calls started."""
        parts, found = {request_id}, []
        for event in self._events:
            if isinstance(event, _Hole):
                continue
            if event.part_of in parts:
                parts.add(event.request_id)
            if event.request_id in parts:
                found.append(event)
        return found

    def _subscribe(self) -> Subscription:
        return self._bus.subscribe()

    def add_foreign(self, data: dict[str, Any]) -> None:
        """Log an event of another server of the project.

        `data` is the JSON of the event in the log of that server. The event gets a new number in
        this log. Its key `origin_seq` keeps the number that it has at the other server.
        """
        data = {**data, "seq": self.newest + 1, "origin_seq": data["seq"]}
        part_of = data["parent_id"] if data["type"] == SessionStarted.__name__ else None
        self._append(
            LoggedEvent(
                data["seq"],
                data["type"],
                UUID(data["request_id"]),
                json.dumps(data, separators=(",", ":")),
                None if part_of is None else UUID(part_of),
            )
        )

    def add_gap(self) -> None:
        """Report to all readers that events of another server did not arrive."""
        self._append(_Hole(self.newest + 1))

    async def _on_event(self, envelope: Envelope) -> None:
        event = envelope.event
        text = event_text(replace(envelope, seq=self.newest + 1))
        part_of = event.parent_id if isinstance(event, SessionStarted) else None
        self._append(
            LoggedEvent(
                self.newest + 1, type(event).__name__, event.request_id, text, part_of, event.shared
            )
        )

    def _append(self, entry: LoggedEvent | _Hole) -> None:
        self._events.append(entry)
        self._characters += _size(entry)
        while self._characters > self._most and len(self._events) > 1:
            gone = self._events.popleft()
            self._characters -= _size(gone)
            self._forgotten = gone.seq
        self._wake()

    def _wake(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()


def event_text(envelope: Envelope) -> str:
    """Return an event as one line of JSON."""
    return json.dumps(event_json(envelope), separators=(",", ":"))


def _size(entry: LoggedEvent | _Hole) -> int:
    return len(entry.text) if isinstance(entry, LoggedEvent) else _HOLE_CHARACTERS


def event_records(logged: Sequence[LoggedEvent]) -> list[dict[str, Any]]:
    """Return logged events as JSON without the messages to models."""
    events: list[dict[str, Any]] = [json.loads(event.text) for event in logged]
    for event in events:
        if "input_text" in event:
            event["input_text"] = None
    return events
