"""The group of servers of one project: which servers run, and how they ask each other.

Each server sends a sign of life at intervals. A request goes to one server or to all. Every server
replies, even if the request concerns something that it does not have. A request therefore ends as
soon as all servers have replied, or after a time limit. The sender repeats an open request at each
sign of life, and the receiver executes it only once.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self
from uuid import UUID

from pydantic import JsonValue, ValidationError

from treadle.clock import Clock
from treadle.errors import TreadleError
from treadle.events.types import ErrorKind
from treadle.ids import new_id
from treadle.nats.connection import NatsConnection
from treadle.nats.names import ProjectNames
from treadle.server.replicas.channel import Channel
from treadle.server.replicas.messages import (
    MESSAGE,
    Asked,
    DescribeServer,
    Failed,
    Message,
    Presence,
    Replied,
    Request,
    ServerChanged,
    ServerDescription,
    StoreChanged,
    UnknownRequest,
)
from treadle.tools.failures import kind_of

_log = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
"""Seconds between two signs of life of a server."""
LOST_SECONDS = 5.0
"""A server without a sign of life for this time counts as lost."""
ANSWER_SECONDS = 5.0
"""The maximum time that a server may take to reply to a request."""
_REPLIES_KEPT = 1_000


class ServerUnavailableError(TreadleError):
    """The server that has the requested turn, question or front end does not answer."""

    kind = ErrorKind.UNAVAILABLE


class _NotOwned:
    """The answer to a request about something that no server has."""


NOT_OWNED = _NotOwned()
Answer = JsonValue | _NotOwned


class Member(Protocol):
    """Answers the requests of other servers, and processes the news about these servers."""

    async def answer(self, sender: str, request: Request) -> Answer:
        """Answer a request. Raises TreadleError."""
        ...

    async def on_description(self, server: str, description: ServerDescription) -> None:
        """Process the new description of another server."""
        ...

    async def on_lost(self, server: str) -> None:
        """Process the loss of another server, which has ended or does not answer."""
        ...

    def on_store_change(self, store: str) -> None:
        """Process a change of a shared store by another server."""
        ...


@dataclass(slots=True)
class _Other:
    heard_at: float
    version: int = -1
    """The newest version of the other server's description that this server has received."""
    asking: bool = False


@dataclass(slots=True)
class _Open:
    """A request that waits for replies."""

    message: bytes
    subject: str
    waiting: set[str]
    several: bool
    values: list[JsonValue] = field(default_factory=list)
    lost: bool = False
    answer: asyncio.Future[Answer] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, server: str, reply: Replied | None) -> None:
        """Record the reply of a server. `reply` is None if the server is lost."""
        self.waiting.discard(server)
        if self.answer.done():
            return
        if reply is None:
            self.lost = True
        elif reply.error is not None and not self.several:
            self.answer.set_exception(_OtherServerError(reply.error))
            return
        elif reply.owned and reply.error is None:
            self.values.append(reply.value)
            if not self.several:
                self.answer.set_result(reply.value)
                return
        if not self.waiting:
            if self.lost and not self.several:
                self.answer.set_exception(_no_answer())
            else:
                self.answer.set_result(NOT_OWNED)


class Group:
    """The other servers of the project, as one server sees them. Use it as a context manager."""

    def __init__(
        self, connection: NatsConnection, names: ProjectNames, member: Member, clock: Clock
    ) -> None:
        self.name = new_id().hex
        """The name of this server in the group. A server that starts again has another name."""
        self._connection = connection
        self._clock = clock
        self._member = member
        self._all = names.subject("servers")
        self._others: dict[str, _Other] = {}
        self._open: dict[UUID, _Open] = {}
        self._replies: OrderedDict[UUID, asyncio.Task[Replied]] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._names = names
        self._channel = Channel(connection, self.name, (self._all, self._subject(self.name)), self)
        self.description = ServerDescription(version=0)

    async def __aenter__(self) -> Self:
        await self._channel.__aenter__()
        self._beating = asyncio.create_task(self._beat(), name="signs of life")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._beating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._beating
        await self._send(self._all, Presence(version=self.description.version, leaves=True))
        for task in (*self._tasks, *self._replies.values()):
            task.cancel()
        await self._channel.__aexit__(kind, error, trace)

    @property
    def others(self) -> frozenset[str]:
        """The names of the other servers that run."""
        return frozenset(self._others)

    async def ask(
        self, request: Request, *, server: str | None = None, seconds: float = ANSWER_SECONDS
    ) -> Answer:
        """Ask a server, or all servers, and return the answer of the server that can give one.

        Returns NOT_OWNED if no server has what the request concerns. Raises ServerUnavailableError
        if a server that may have it does not reply within `seconds`. If the request fails at the
        other server, raises the error of that server.
        """
        waiting = {server} if server is not None else set(self._others)
        if not waiting:
            if not self._connection.is_connected:
                raise _no_answer()
            return NOT_OWNED
        return await self._ask(request, waiting, server, seconds, several=False)

    async def ask_all(
        self, request: Request, *, seconds: float = ANSWER_SECONDS, complete: bool = False
    ) -> list[JsonValue]:
        """Ask all servers, and return the answers that arrive within `seconds`.

        With `complete`, raises ServerUnavailableError if a server that runs does not answer.
        """
        if not self._others and (self._connection.is_connected or not complete):
            return []
        values: list[JsonValue] = []
        waiting = set(self._others)
        try:
            await self._ask(request, waiting, None, seconds, several=True, values=values)
        except ServerUnavailableError:
            if complete:
                raise
        return values

    async def describe(self, description: ServerDescription) -> None:
        """Send the new description of this server to the others, and wait until they know it.

        The wait is short. A server that misses the description asks for it after the next sign of
        life.
        """
        self.description = description
        await self.ask_all(ServerChanged(description=description), seconds=_DESCRIBE_SECONDS)

    def report_store_change(self, store: str) -> None:
        """Inform the other servers that this server changed a shared store."""
        if self._others:
            self._start(self._send(self._all, StoreChanged(store=store)))

    async def on_message(self, sender: str, message: bytes) -> None:
        """Process a message of another server. The channel calls this method."""
        try:
            received = MESSAGE.validate_json(message)
        except ValidationError:
            await self._refuse_unknown(sender, message)
            return
        match received:
            case Presence():
                await self._hear(sender, received)
            case StoreChanged(store=store):
                self._member.on_store_change(store)
            case Asked():
                self._start(self._reply(sender, received))
            case Replied() if (asked := self._open.get(received.id)) is not None:
                asked.settle(sender, received)

    async def _refuse_unknown(self, sender: str, message: bytes) -> None:
        """Reply to a request that only newer versions know, so that its sender does not wait."""
        _log.warning("A server of another version sent a message that this version cannot read")
        with contextlib.suppress(ValidationError):
            asked = UnknownRequest.model_validate_json(message)
            await self._send(self._subject(sender), Replied(id=asked.id, owned=False))

    async def on_loss(self, sender: str) -> None:
        """Request the description of a server again, because it may be lost.

        The channel calls this method. The request follows at the next sign of life.
        """
        if (other := self._others.get(sender)) is not None:
            other.version = -1

    async def _ask(
        self,
        request: Request,
        waiting: set[str],
        server: str | None,
        seconds: float,
        *,
        several: bool,
        values: list[JsonValue] | None = None,
    ) -> Answer:
        asked = Asked(id=new_id(), request=request)
        subject = self._all if server is None else self._subject(server)
        opened = _Open(_encode(asked), subject, waiting, several)
        if values is not None:
            opened.values = values
        self._open[asked.id] = opened
        try:
            async with asyncio.timeout(seconds):
                await self._channel.send(subject, opened.message)
                return await opened.answer
        except TimeoutError:
            raise _no_answer() from None
        finally:
            del self._open[asked.id]
            if opened.answer.done() and not opened.answer.cancelled():
                opened.answer.exception()  # otherwise asyncio logs it as never retrieved

    async def _reply(self, sender: str, asked: Asked) -> None:
        """Execute a request once, and send its reply each time that the request arrives."""
        task = self._replies.get(asked.id)
        if task is None:
            answering = self._answer(sender, asked)
            task = self._replies[asked.id] = asyncio.create_task(answering, name="reply")
            while len(self._replies) > _REPLIES_KEPT:
                self._replies.popitem(last=False)
        await self._send(self._subject(sender), await asyncio.shield(task))

    async def _answer(self, sender: str, asked: Asked) -> Replied:
        try:
            match asked.request:
                case DescribeServer():
                    value: Answer = self.description.model_dump(mode="json")
                case ServerChanged(description=description):
                    await self._learn(sender, description)
                    value = True
                case request:
                    value = await self._member.answer(sender, request)
        except TreadleError as error:
            failed = Failed(kind=kind_of(error), message=error.message, hint=error.hint)
            return Replied(id=asked.id, error=failed)
        except Exception as error:  # noqa: BLE001  (the other server must not wait)
            _log.exception("A request of another server failed")
            text = f"The other server failed with {type(error).__name__}."
            failed = Failed(kind=ErrorKind.INTERNAL, message=text, hint="See its log.")
            return Replied(id=asked.id, error=failed)
        if isinstance(value, _NotOwned):
            return Replied(id=asked.id, owned=False)
        return Replied(id=asked.id, value=value)

    async def _beat(self) -> None:
        while True:
            await self._send(self._all, Presence(version=self.description.version))
            await self._clock.sleep(BEAT_SECONDS)
            for asked in list(self._open.values()):  # a request or its reply may be lost
                await self._channel.send(asked.subject, asked.message)
            earliest = self._clock.monotonic() - LOST_SECONDS
            for server in [name for name, o in self._others.items() if o.heard_at < earliest]:
                await self._lose(server)

    async def _hear(self, sender: str, presence: Presence) -> None:
        if presence.leaves:
            await self._lose(sender)
            return
        now = self._clock.monotonic()
        known = self._others.get(sender)
        if known is None:
            known = self._others[sender] = _Other(now)
            self._start(
                self._send(self._subject(sender), Presence(version=self.description.version))
            )
        known.heard_at = now
        if known.version < presence.version and not known.asking:
            known.asking = True
            self._start(self._read_description(sender, known))

    async def _read_description(self, server: str, other: _Other) -> None:
        try:
            value = await self.ask(DescribeServer(), server=server)
            await self._learn(server, ServerDescription.model_validate(value))
        except (TreadleError, ValidationError) as error:  # repeated after a sign of life
            _log.warning("Another server sent no description of itself: %s", error)
        finally:
            other.asking = False

    async def _learn(self, server: str, description: ServerDescription) -> None:
        other = self._others.setdefault(server, _Other(self._clock.monotonic()))
        if description.version > other.version:
            other.version = description.version
            await self._member.on_description(server, description)

    async def _lose(self, server: str) -> None:
        if self._others.pop(server, None) is None:
            return
        for asked in self._open.values():
            if server in asked.waiting:
                asked.settle(server, None)
        await self._member.on_lost(server)

    async def _send(self, subject: str, message: Message) -> None:
        await self._channel.send(subject, _encode(message))

    def _subject(self, server: str) -> str:
        return self._names.subject("server", server)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_DESCRIBE_SECONDS = 2.0


def _encode(message: Message) -> bytes:
    return MESSAGE.dump_json(message)


class _OtherServerError(TreadleError):
    """An error that a request caused at another server."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message, hint=failed.hint)
        self.kind = failed.kind


def _no_answer() -> ServerUnavailableError:
    return ServerUnavailableError(
        "Another server of this project does not answer.",
        hint="It may have stopped. Try again in a few seconds.",
    )
