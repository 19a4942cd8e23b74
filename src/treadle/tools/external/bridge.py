"""The bridge: carries the calls of external tools to front ends, and their answers back.

The bridge offers a call to one front end. If this front end leaves, the call waits for its return
for a limited time. When it returns, the bridge offers the call again. The first answer counts. An
answer after the end of the call is a late result.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol, Self
from uuid import UUID

from pydantic import JsonValue

from treadle.clock import Clock, SystemClock, wait_within
from treadle.errors import TreadleError, UsageError
from treadle.events import EventBus
from treadle.events.types import (
    CallKey,
    ErrorKind,
    ToolCallLate,
    ToolFailure,
    ToolProgress,
)
from treadle.tools.contract import PROGRESS_CHARACTERS, ToolContext, ToolError
from treadle.tools.external.definitions import ExternalTool, ToolDefinition, external_tool
from treadle.tools.failures import no_front_end

EVERY_TOOL = "*"
"""The name that stands for all external tools in a list of names."""

RECONNECT_SECONDS = 15.0
"""The seconds that a call waits for the return of a front end that has disconnected."""

ENDED_KEPT = 1_000
"""The maximum number of ended calls that are remembered.

An answer to such a call is a late answer, and an answer to any other call is unknown.
"""

_Slot = tuple[UUID, CallKey]


class FrontEndLostError(TreadleError):
    """The front end that ran a tool left and did not return in time."""

    kind = ErrorKind.UNAVAILABLE

    def __init__(self, tool: str) -> None:
        super().__init__(
            f"The front end that ran {tool} disconnected and did not reconnect.",
            hint="Call the tool again when a front end is connected.",
        )


class AnswerStatus(StrEnum):
    """The status of an answer that a front end sent."""

    TAKEN = "taken"
    LATE = "late"
    """The call ended before the answer arrived, because of a time-out or a cancellation."""
    REPEATED = "repeated"
    """The call has an answer already."""
    UNKNOWN = "unknown"
    """The bridge never offered such a call to this front end, or no longer remembers it."""


@dataclass(frozen=True, slots=True)
class CallOffer:
    """A call for the front end to run.

    `again` means that an earlier connection of the front end received the same call.
    """

    request_id: UUID
    key: CallKey
    call_id: str
    name: str
    arguments: JsonValue
    again: bool = False


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A call that has ended, so the front end need not answer it any more."""

    request_id: UUID
    key: CallKey


@dataclass(slots=True)
class _FrontEnd:
    """The state of a front end. It is kept while the front end is disconnected."""

    name: str
    runs: frozenset[str] = frozenset()
    requests: set[UUID] = field(default_factory=set)
    connection: "Connection | None" = None
    connected_at: int = 0
    """The number of the last connection of this front end.

    The bridge numbers all connections in their order, so the largest number is the newest.
    """
    left_at: float = -math.inf
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """An event that is set, and then replaced, when the front end connects or leaves."""

    def change(self, connection: "Connection | None") -> None:
        self.connection = connection
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(slots=True)
class _Call:
    offer: CallOffer
    parent_id: UUID | None
    front_end: _FrontEnd
    answer: asyncio.Future[JsonValue]


@dataclass(slots=True)
class _Ended:
    call: _Call
    answered: bool


class OtherBridges(Protocol):
    """The bridges of other servers, whose calls a front end of this bridge may run."""

    async def settle(
        self, front_end: str, request_id: UUID, key: CallKey, answer: JsonValue | ToolFailure
    ) -> AnswerStatus:
        """Do what `Bridge.settle` does, for a call of another server."""
        ...

    async def report(self, front_end: str, request_id: UUID, key: CallKey, text: str) -> None:
        """Do what `Bridge.report` does, for a call of another server."""
        ...


class Bridge:
    """The external tools, the front ends that run them, and the open calls.

    Pass the bridge to the executor that uses the same bus. Add the tools of `tools()` to the
    registry of each session. Use the bridge only in the event loop of the bus.
    """

    def __init__(
        self,
        bus: EventBus,
        *,
        reserved: Collection[str] = (),
        clock: Clock | None = None,
        reconnect_seconds: float = RECONNECT_SECONDS,
    ) -> None:
        """Create a bridge. No external tool may have one of the names in `reserved`."""
        self._bus = bus
        self._reserved = frozenset(reserved)
        self._clock = clock or SystemClock()
        self._reconnect_seconds = reconnect_seconds
        self._tools: dict[str, ExternalTool] = {}
        self._front_ends: dict[str, _FrontEnd] = {}
        self._connections = 0
        self._open: dict[_Slot, _Call] = {}
        self._ended: OrderedDict[_Slot, _Ended] = OrderedDict()
        self._others: OtherBridges | None = None

    def forward_to(self, others: OtherBridges | None) -> None:
        """Let `others` process answers to unknown calls. With None, nothing processes them."""
        self._others = others

    def define(self, definition: ToolDefinition) -> None:
        """Add a tool, or replace the tool of the same name.

        Raises UsageError for a reserved name or an unusable schema.
        """
        if definition.name in self._reserved:
            raise UsageError(
                f"A tool named {definition.name} already exists.", hint="Choose another name."
            )
        self._tools[definition.name] = external_tool(definition, self._ask)

    def tools(self) -> tuple[ExternalTool, ...]:
        """Return all external tools, in the order in which their names were first defined."""
        return tuple(self._tools.values())

    def connect(self, front_end: str, *, runs: Collection[str] = (EVERY_TOOL,)) -> "Connection":
        """Connect the front end with this name, which runs the tools named in `runs`.

        If the front end is already connected, the earlier connection is closed, which ends the
        iteration over it. The new connection receives the unanswered calls of the front end again.
        """
        self._forget_gone()
        known = self._front_ends.setdefault(front_end, _FrontEnd(front_end))
        if known.connection is not None:
            known.connection.close()
        self._connections += 1
        known.runs, known.connected_at = frozenset(runs), self._connections
        connection = Connection(self, known)
        for call in self._open.values():
            if call.front_end is known:
                connection.send(replace(call.offer, again=True))
        known.change(connection)
        return connection

    def attach(self, front_end: str, request_id: UUID) -> None:
        """Send the calls of a request to the given front end.

        Calls of other requests are sent to the newest front end.
        """
        self._front_ends.setdefault(front_end, _FrontEnd(front_end)).requests.add(request_id)

    def release(self, request_id: UUID) -> None:
        """Forget which front end belongs to a request, because the request has ended."""
        for front_end in self._front_ends.values():
            front_end.requests.discard(request_id)

    async def settle(
        self, front_end: str, request_id: UUID, key: CallKey, answer: JsonValue | ToolFailure
    ) -> AnswerStatus:
        """Record the answer of a front end to a call, and return the status of the answer.

        `Connection.answer` calls this method. Raises TreadleError if the call is at another server
        and that server does not answer.
        """
        status = await self.settle_own(front_end, request_id, key, answer)
        if status is AnswerStatus.UNKNOWN and self._others is not None:
            return await self._others.settle(front_end, request_id, key, answer)
        return status

    async def settle_own(
        self, front_end: str, request_id: UUID, key: CallKey, answer: JsonValue | ToolFailure
    ) -> AnswerStatus:
        """Do what `settle` does, but only for calls of this bridge."""
        slot = (request_id, key)
        call = self._open.get(slot)
        if call is not None and call.front_end.name == front_end:
            if call.answer.done():
                return AnswerStatus.REPEATED
            if isinstance(answer, ToolFailure):
                call.answer.set_exception(ToolError.of(answer))
            else:
                call.answer.set_result(answer)
            return AnswerStatus.TAKEN
        ended = self._ended.get(slot)
        if ended is None or ended.call.front_end.name != front_end:
            return AnswerStatus.UNKNOWN
        if ended.answered:
            return AnswerStatus.REPEATED
        ended.answered = True
        await self._publish_late(ended.call, failed=isinstance(answer, ToolFailure))
        return AnswerStatus.LATE

    async def report(self, front_end: str, request_id: UUID, key: CallKey, text: str) -> None:
        """Publish the progress of an open call."""
        known = await self.report_own(front_end, request_id, key, text)
        if not known and self._others is not None:
            await self._others.report(front_end, request_id, key, text)

    async def report_own(self, front_end: str, request_id: UUID, key: CallKey, text: str) -> bool:
        """Do what `report` does, but only for calls of this bridge.

        Returns whether the call is open here.
        """
        call = self._open.get((request_id, key))
        if call is None or call.front_end.name != front_end:
            return False
        await self._bus.publish(
            ToolProgress(
                request_id=request_id,
                parent_id=call.parent_id,
                key=key,
                text=text[:PROGRESS_CHARACTERS],
            )
        )
        return True

    def left(self, front_end: "_FrontEnd", connection: "Connection") -> None:
        """Record that a connection was closed. The connection calls this method."""
        if front_end.connection is connection:
            front_end.left_at = self._clock.monotonic()
            front_end.change(None)

    async def _ask(
        self, tool: ExternalTool, arguments: JsonValue, context: ToolContext
    ) -> JsonValue:
        front_end = self._front_end_for(tool.name, context.request_id)
        if front_end is None:
            raise ToolError.of(no_front_end(tool.name))
        slot = (context.request_id, context.key)
        offer = CallOffer(*slot, context.call_id, tool.name, arguments)
        answer: asyncio.Future[JsonValue] = asyncio.get_running_loop().create_future()
        call = self._open[slot] = _Call(offer, context.parent_id, front_end, answer)
        if front_end.connection is not None:
            front_end.connection.send(offer)
        try:
            return await self._answered(call, tool)
        except asyncio.CancelledError:
            if answer.done():  # the answer arrived just as the call was cancelled
                await self._publish_late(call, failed=answer.exception() is not None)
            raise
        finally:
            del self._open[slot]
            self._remember(slot, call)

    async def _answered(self, call: _Call, tool: ExternalTool) -> JsonValue:
        front_end = call.front_end
        while not call.answer.done():
            seconds = None
            if front_end.connection is None:
                waited = self._clock.monotonic() - front_end.left_at
                seconds = max(0.0, self._reconnect_seconds - waited)
            try:
                await wait_within(
                    _answer_or_change(call.answer, front_end.changed), seconds, self._clock
                )
            except TimeoutError:
                if front_end.connection is None and not call.answer.done():
                    raise FrontEndLostError(tool.name) from None
        return call.answer.result()

    def _remember(self, slot: _Slot, call: _Call) -> None:
        """Remember an ended call, so that a late answer is recognized.

        If the call has no answer, send a withdrawal to the front end.
        """
        self._ended[slot] = _Ended(call, call.answer.done())
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)
        if not call.answer.done():
            call.answer.cancel()
            if call.front_end.connection is not None:
                call.front_end.connection.send(Withdrawal(*slot))

    def _front_end_for(self, tool: str, request_id: UUID) -> _FrontEnd | None:
        """Return the front end for a call.

        It is the front end of the call's request, or else the newest. Returns None if no connected
        or recently disconnected front end runs the tool.
        """
        running = [
            each
            for each in self._front_ends.values()
            if each.runs & {tool, EVERY_TOOL} and self._may_come_back(each)
        ]
        return max(
            running,
            key=lambda each: (
                request_id in each.requests,
                each.connection is not None,
                each.connected_at,
            ),
            default=None,
        )

    def _may_come_back(self, front_end: _FrontEnd) -> bool:
        """Whether calls can be sent to a front end.

        It is connected, or left so recently that calls still wait for its return.
        """
        earliest = self._clock.monotonic() - self._reconnect_seconds
        return front_end.connection is not None or front_end.left_at > earliest

    def _forget_gone(self) -> None:
        """Forget the front ends that have no request and that no call waits for."""
        self._front_ends = {
            name: each
            for name, each in self._front_ends.items()
            if each.requests or self._may_come_back(each)
        }

    async def _publish_late(self, call: _Call, *, failed: bool) -> None:
        await self._bus.publish(
            ToolCallLate(
                request_id=call.offer.request_id,
                parent_id=call.parent_id,
                key=call.offer.key,
                call_id=call.offer.call_id,
                outcome="failed" if failed else "completed",
            )
        )


class Connection:
    """A connected front end. Iterate over it for messages. Close it when the front end leaves."""

    def __init__(self, bridge: Bridge, front_end: _FrontEnd) -> None:
        """Create a connection. Use `Bridge.connect` instead."""
        self._bridge = bridge
        self._front_end = front_end
        self._messages: asyncio.Queue[CallOffer | Withdrawal | None] = asyncio.Queue()
        self._closed = False

    def send(self, message: CallOffer | Withdrawal) -> None:
        """Queue a message for the front end. The bridge calls this method."""
        if not self._closed:
            self._messages.put_nowait(message)

    async def answer(
        self, request_id: UUID, key: CallKey, answer: JsonValue | ToolFailure
    ) -> AnswerStatus:
        """Answer a call.

        `answer` is the result of its tool, which is any JSON value, or a failure.
        """
        return await self._bridge.settle(self._front_end.name, request_id, key, answer)

    async def report(self, request_id: UUID, key: CallKey, text: str) -> None:
        """Report the progress of a call."""
        await self._bridge.report(self._front_end.name, request_id, key, text)

    def close(self) -> None:
        """Record that the front end has left. A second call has no effect."""
        if not self._closed:
            self._closed = True
            self._messages.put_nowait(None)
            self._bridge.left(self._front_end, self)

    async def __aiter__(self) -> AsyncIterator[CallOffer | Withdrawal]:
        while (message := await self._messages.get()) is not None:
            yield message

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _answer_or_change(answer: asyncio.Future[JsonValue], changed: asyncio.Event) -> None:
    """Wait until there is an answer, or the front end of the call connects or leaves."""
    change = asyncio.ensure_future(changed.wait())
    waited: set[asyncio.Future[Any]] = {answer, change}
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    finally:
        change.cancel()
