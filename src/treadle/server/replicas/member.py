"""This server as a member of the group: it answers requests of other servers, and asks them."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, cast
from uuid import UUID

from pydantic import JsonValue

from treadle.app.application import App
from treadle.app.permissions import Permission, Permissions
from treadle.app.turns import Turns
from treadle.errors import TreadleError, UsageError
from treadle.events.encoding import plain
from treadle.events.types import ApprovalScope, CallKey, ToolFailure
from treadle.gateway.breakpoints import Breakpoints
from treadle.ids import new_id
from treadle.json_records import from_json
from treadle.json_values import to_json
from treadle.nats.connection import NatsConnection
from treadle.nats.names import ProjectNames
from treadle.server.event_log import EventLog, event_records
from treadle.server.held_calls import HeldDecision, decide, held_call
from treadle.server.replicas.group import (
    ANSWER_SECONDS,
    NOT_OWNED,
    Answer,
    Group,
    ServerUnavailableError,
)
from treadle.server.replicas.messages import (
    AnswerQuestion,
    CancelTurn,
    DecideHeld,
    FindConversation,
    FrontEnd,
    ListChoices,
    ListPermissions,
    ListQuestions,
    ListTurns,
    OfferCall,
    ReadBreakpoints,
    ReplayTurn,
    ReportCall,
    Request,
    RevokePermissions,
    ServerDescription,
    SettleCall,
    ShowHeld,
    ShowTurn,
    StartQuestion,
    StartTurn,
    SteerTurn,
)
from treadle.server.replicas.shared_events import SharedEvents
from treadle.server.turn_json import Ask, Begin, start_question, start_turn, turn_answer
from treadle.tools.approvals.grants import Grant
from treadle.tools.external import AnswerStatus, Connection, ToolDefinition

_log = logging.getLogger(__name__)

_START_SECONDS = 30.0
"""The maximum time for the start of a turn at another server, which first reads attachments."""


@dataclass(slots=True)
class _LocalFrontEnd:
    """A front end that is connected to this server. Other servers send calls to it."""

    description: FrontEnd
    connection: Connection
    received: dict[str, int]
    """The number of the newest message from each server."""


class GroupMember:
    """Represents this server to the others, and the others to this server.

    Use it as a context manager, in the event loop of the application.
    """

    def __init__(
        self,
        connection: NatsConnection,
        app: App,
        turns: Turns,
        log: EventLog,
        *,
        on_store_change: Callable[[str], None] = lambda _: None,
    ) -> None:
        names, clock = ProjectNames(app.stores.project), app.clock
        self._app = app
        self._turns = turns
        self._log = log
        self._on_store_change = on_store_change
        self._group = Group(connection, names, self, clock)
        self._events = SharedEvents(connection, names, self._group.name, log, clock)
        self._approving = 0
        self._breakpoints: Breakpoints | None = None
        self._front_ends: dict[UUID, _LocalFrontEnd] = {}
        self._askers: dict[str, AsyncExitStack] = {}
        """The contexts that allow approval questions, by server.

        At each of these servers, a person answers questions.
        """
        self._relays: dict[tuple[str, UUID], asyncio.Task[None]] = {}
        """The tasks that send calls of this server to front ends of other servers."""
        self._describing: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._events.__aenter__()
        await self._group.__aenter__()
        self._app.bridge.forward_to(self)
        self._app.conversations.ask_elsewhere(self.runs_elsewhere)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._app.bridge.forward_to(None)
        self._app.conversations.ask_elsewhere(None)
        for server in list(self._group.others):
            await self.on_lost(server)
        for task in self._describing:
            task.cancel()
        await self._group.__aexit__(kind, error, trace)
        await self._events.__aexit__(kind, error, trace)

    @property
    def names(self) -> frozenset[str]:
        """The names of the other servers that run."""
        return self._group.others

    def report_store_change(self, store: str) -> None:
        """Inform the other servers that this server changed a shared store."""
        self._group.report_store_change(store)

    # ---- requests to other servers

    async def start_turn(self, conversation_id: UUID, message: Begin) -> dict[str, Any] | None:
        """See `OtherServers`."""
        request = StartTurn(conversation_id=conversation_id, message=message)
        return await self._ask_for_object(request, seconds=_START_SECONDS)

    async def start_question(
        self, conversation_id: UUID, agent: str, question: Ask
    ) -> dict[str, Any] | None:
        """See `OtherServers`."""
        request = StartQuestion(conversation_id=conversation_id, agent=agent, question=question)
        return await self._ask_for_object(request, seconds=_START_SECONDS)

    async def runs_elsewhere(self, conversation_id: UUID) -> bool:
        """Whether another server runs a turn of a conversation.

        Raises ServerUnavailableError if a server does not answer.
        """
        return await self._group.ask(FindConversation(conversation_id=conversation_id)) is True

    async def show_turn(self, request_id: UUID, wait: float) -> dict[str, Any] | None:
        """See `OtherServers`."""
        request = ShowTurn(request_id=request_id, wait=wait)
        return cast(
            "dict[str, Any] | None",
            await self._ask_owner(request_id, request, seconds=wait + ANSWER_SECONDS),
        )

    async def running_turns(self) -> Sequence[dict[str, Any]]:
        """See `OtherServers`."""
        return _joined(await self._group.ask_all(ListTurns()))

    async def replay_turn(self, request_id: UUID) -> Sequence[dict[str, Any]] | None:
        """See `OtherServers`."""
        return cast(
            "Sequence[dict[str, Any]] | None",
            await self._ask_owner(request_id, ReplayTurn(request_id=request_id)),
        )

    async def steer_turn(self, request_id: UUID, text: str) -> bool | None:
        """See `OtherServers`."""
        return cast(
            "bool | None",
            await self._ask_owner(request_id, SteerTurn(request_id=request_id, text=text)),
        )

    async def cancel_turn(self, request_id: UUID) -> bool | None:
        """See `OtherServers`."""
        return cast(
            "bool | None", await self._ask_owner(request_id, CancelTurn(request_id=request_id))
        )

    async def approval_questions(self) -> Sequence[dict[str, Any]]:
        """See `OtherServers`."""
        return _joined(await self._group.ask_all(ListQuestions()))

    async def answer_approval(
        self, approval_id: UUID, scope: ApprovalScope, words: str | None
    ) -> bool:
        """See `OtherServers`."""
        request = AnswerQuestion(approval_id=approval_id, scope=scope, words=words)
        return await self._ask_owner(approval_id, request) is True

    async def approval_choices(self, approval_id: UUID) -> Sequence[dict[str, Any]] | None:
        """See `OtherServers`."""
        return cast(
            "Sequence[dict[str, Any]] | None",
            await self._ask_owner(approval_id, ListChoices(approval_id=approval_id)),
        )

    async def session_permissions(self, conversation_id: UUID | None) -> Sequence[Permission]:
        """See `OtherServers`."""
        lists = await self._group.ask_all(ListPermissions(conversation_id=conversation_id))
        found: Sequence[Permission] = from_json(list[Permission], _joined(lists))
        return found

    async def revoke_permissions(
        self, *, number: int | None = None, grants: Collection[Grant] = ()
    ) -> int:
        """See `OtherServers`."""
        request = RevokePermissions(number=number, grants=tuple(grants))
        counts = await self._group.ask_all(request, complete=True)
        return sum(each for each in counts if isinstance(each, int))

    @contextmanager
    def use_breakpoints(self, breakpoints: Breakpoints) -> Iterator[None]:
        """See `OtherServers`."""
        self._breakpoints = breakpoints
        try:
            yield
        finally:
            self._breakpoints = None

    async def read_breakpoints(self) -> None:
        """See `OtherServers`."""
        await self._group.ask_all(ReadBreakpoints())

    async def show_held(self, held_id: str) -> dict[str, Any] | None:
        """See `OtherServers`."""
        return await self._ask_for_object(ShowHeld(held_id=held_id))

    async def decide_held(self, held_id: str, decision: HeldDecision) -> dict[str, Any] | None:
        """See `OtherServers`."""
        return await self._ask_for_object(DecideHeld(held_id=held_id, decision=decision))

    @asynccontextmanager
    async def approving(self) -> AsyncIterator[None]:
        """See `OtherServers`."""
        self._approving += 1
        try:
            if self._approving == 1:
                await self._describe()
            yield
        finally:
            self._approving -= 1
            if not self._approving:
                self._describe_soon()

    @asynccontextmanager
    async def front_end(
        self,
        name: str,
        connection: Connection,
        *,
        runs: Sequence[str],
        tools: Sequence[ToolDefinition],
    ) -> AsyncIterator[None]:
        """See `OtherServers`."""
        description = FrontEnd(name=name, connection=new_id(), runs=tuple(runs), tools=tuple(tools))
        key = description.connection
        self._front_ends[key] = _LocalFrontEnd(description, connection, {})
        try:
            await self._describe()
            yield
        finally:
            del self._front_ends[key]
            self._describe_soon()

    async def settle(
        self, front_end: str, request_id: UUID, key: CallKey, answer: JsonValue | ToolFailure
    ) -> AnswerStatus:
        """Pass on the answer of a front end to the server that runs the call."""
        failed = isinstance(answer, ToolFailure)
        request = SettleCall(
            front_end=front_end,
            request_id=request_id,
            key=key,
            result=None if failed else answer,
            failure=answer if failed else None,
        )
        status = await self._group.ask(request)
        return AnswerStatus(status) if isinstance(status, str) else AnswerStatus.UNKNOWN

    async def report(self, front_end: str, request_id: UUID, key: CallKey, text: str) -> None:
        """Pass on the progress of a call to the server that runs it."""
        request = ReportCall(front_end=front_end, request_id=request_id, key=key, text=text)
        with contextlib.suppress(ServerUnavailableError):  # progress may be lost
            await self._group.ask(request)

    async def _ask_for_object(
        self, request: Request, *, seconds: float = ANSWER_SECONDS
    ) -> dict[str, Any] | None:
        """Ask all servers. Returns the JSON object of the answer, or None if no server has one."""
        answer = await self._group.ask(request, seconds=seconds)
        return None if answer is NOT_OWNED else cast("dict[str, Any]", answer)

    async def _ask_owner(
        self, thing: UUID, request: Request, *, seconds: float = ANSWER_SECONDS
    ) -> JsonValue | None:
        """Ask all servers for the turn or question with the id `thing`.

        Returns None if no server has it. Raises ServerUnavailableError if the server that had it
        has stopped.
        """
        answer = await self._group.ask(request, seconds=seconds)
        if answer is not NOT_OWNED:
            return cast("JsonValue", answer)
        owner = self._events.owner(thing)
        if owner is not None and owner not in self._group.others:
            raise ServerUnavailableError(
                f"The server that ran {thing} has stopped.",
                hint="Send it again, and another server processes it.",
            )
        return None

    # ---- requests of other servers

    async def answer(self, sender: str, request: Request) -> Answer:
        """Answer a request of another server. The group calls this method."""
        match request:
            case ShowTurn() | SteerTurn() | CancelTurn() | ReplayTurn() | ListTurns():
                answering = self._answer_turn(request)
            case StartTurn() | StartQuestion() | FindConversation():
                answering = self._answer_conversation(request)
            case OfferCall():
                return self._take_offer(sender, request)
            case SettleCall() | ReportCall():
                answering = self._answer_call(request)
            case ReadBreakpoints() | ShowHeld() | DecideHeld():
                answering = self._answer_held(request)
            case _:
                answering = self._answer_approval(request)
        return await answering

    async def _answer_held(self, request: ReadBreakpoints | ShowHeld | DecideHeld) -> Answer:
        breakpoints = self._breakpoints
        if breakpoints is None:  # the gateway is not open yet, and reads them when it opens
            return NOT_OWNED
        if isinstance(request, ReadBreakpoints):
            await breakpoints.refresh()
            return True
        if not breakpoints.is_waiting(request.held_id):
            return NOT_OWNED
        if isinstance(request, ShowHeld):
            return held_call(breakpoints.one_held(request.held_id)).model_dump(mode="json")
        decided = await decide(breakpoints, request.held_id, request.decision)
        return decided.model_dump(mode="json")

    async def _answer_approval(self, request: Request) -> Answer:
        approvals = self._app.approvals
        match request:
            case ListQuestions():
                return [cast("JsonValue", plain(event)) for event in approvals.pending()]
            case AnswerQuestion(approval_id=approval_id, scope=scope, words=words):
                return approvals.answer(approval_id, scope, words) or NOT_OWNED
            case ListPermissions() | RevokePermissions():
                return await self._answer_permissions(request)
            case ListChoices(approval_id=approval_id) if approvals.required(approval_id):
                choices = Permissions(self._app).choices(approval_id)
                return [cast("JsonValue", to_json(choice)) for choice in choices]
        return NOT_OWNED

    async def _answer_permissions(self, request: ListPermissions | RevokePermissions) -> Answer:
        if isinstance(request, ListPermissions):
            listed = await Permissions(self._app).of_conversations(request.conversation_id)
            return [cast("JsonValue", to_json(each)) for each in listed]
        approvals, number = self._app.approvals, request.number
        if request.grants:
            return approvals.revoke_equal(request.grants)
        held = [each.number for each in approvals.session_grants()]
        return approvals.revoke_session_grants(held if number is None else [number])

    async def _answer_call(self, request: SettleCall | ReportCall) -> Answer:
        bridge, slot = self._app.bridge, (request.request_id, request.key)
        if isinstance(request, ReportCall):
            return await bridge.report_own(request.front_end, *slot, request.text) or NOT_OWNED
        answer = request.failure or request.result
        status = await bridge.settle_own(request.front_end, *slot, answer)
        return NOT_OWNED if status is AnswerStatus.UNKNOWN else status.value

    async def _answer_conversation(
        self, request: StartTurn | StartQuestion | FindConversation
    ) -> Answer:
        running = [turn.conversation_id for turn in self._turns.running()]
        if request.conversation_id not in running:
            return NOT_OWNED
        match request:
            case FindConversation():
                return True
            case StartTurn(message=message):  # "last" may be another conversation here
                message = message.model_copy(update={"session": str(request.conversation_id)})
                return _turn_json(await start_turn(self._turns, message))
            case StartQuestion(agent=agent, question=question):
                known = {"conversation": str(request.conversation_id)}
                question = question.model_copy(update=known)
                return _turn_json(await start_question(self._turns, agent, question))

    async def _answer_turn(
        self, request: ShowTurn | SteerTurn | CancelTurn | ReplayTurn | ListTurns
    ) -> Answer:
        if isinstance(request, ListTurns):
            return [_turn_json(turn) for turn in self._turns.running()]
        turn = self._turns.find(request.request_id)
        if turn is None:
            return NOT_OWNED
        match request:
            case ShowTurn(wait=wait):
                await asyncio.wait({turn.task}, timeout=wait)
                return _turn_json(turn)
            case SteerTurn(text=text):
                return await self._turns.steer(turn.request_id, text)
            case CancelTurn():
                return self._turns.cancel(turn.request_id)
            case ReplayTurn():
                logged = self._log.of_turn(turn.request_id)
                return cast("JsonValue", await asyncio.to_thread(event_records, logged))

    def _take_offer(self, sender: str, offer: OfferCall) -> Answer:
        front_end = self._front_ends.get(offer.connection)
        if front_end is None:
            return NOT_OWNED
        if offer.number > front_end.received.get(sender, 0):
            front_end.received[sender] = offer.number
            front_end.connection.send(offer.message)
        return True

    # ---- news about other servers

    async def on_description(self, server: str, description: ServerDescription) -> None:
        """Use the front ends and approvers of another server. The group calls this method."""
        await self._allow_questions(server, allow=description.approves)
        connected = {(server, each.connection): each for each in description.front_ends}
        for key in [key for key in self._relays if key[0] == server and key not in connected]:
            self._relays.pop(key).cancel()
        for key, front_end in connected.items():
            if key not in self._relays:
                self._connect(key, front_end)

    async def on_lost(self, server: str) -> None:
        """Disconnect the front ends of a server that has ended. The group calls this method."""
        await self.on_description(server, ServerDescription(version=0))
        self._events.lose(server)

    def on_store_change(self, store: str) -> None:
        """Pass on a change of a shared store. The group calls this method."""
        self._on_store_change(store)

    async def _allow_questions(self, server: str, *, allow: bool) -> None:
        if allow and server not in self._askers:
            stack = self._askers[server] = AsyncExitStack()
            stack.enter_context(self._app.approvals.allow_questions())
        if not allow and server in self._askers:
            await self._askers.pop(server).aclose()

    def _connect(self, key: tuple[str, UUID], front_end: FrontEnd) -> None:
        """Connect a front end of another server to the bridge of this server."""
        for definition in front_end.tools:
            try:
                self._app.bridge.define(definition)
            except UsageError as error:  # the name is reserved here, for example
                _log.warning("A tool of another server is not available here: %s", error)
        connection = self._app.bridge.connect(front_end.name, runs=front_end.runs)
        relaying = self._relay(key, connection)
        self._relays[key] = asyncio.create_task(relaying, name=f"front end {front_end.name}")

    async def _relay(self, key: tuple[str, UUID], connection: Connection) -> None:
        """Send the calls for a front end to its server, until the front end leaves."""
        server, front_end = key
        with connection:
            number = 0
            async for message in connection:
                number += 1
                request = OfferCall(connection=front_end, number=number, message=message)
                while server in self._group.others:
                    try:
                        await self._group.ask(request, server=server)
                    except TreadleError:
                        continue  # repeated, as the server may not have received it
                    break

    async def _describe(self) -> None:
        described = ServerDescription(
            version=self._group.description.version + 1,
            approves=self._approving > 0,
            front_ends=tuple(each.description for each in self._front_ends.values()),
        )
        await self._group.describe(described)

    def _describe_soon(self) -> None:
        task = asyncio.create_task(self._describe())
        self._describing.add(task)
        task.add_done_callback(self._describing.discard)


def _turn_json(turn: Any) -> JsonValue:
    return cast("JsonValue", turn_answer(turn).model_dump(mode="json"))


def _joined(lists: Sequence[JsonValue]) -> list[dict[str, Any]]:
    return [each for part in lists if isinstance(part, list) for each in part]  # type: ignore[misc]
