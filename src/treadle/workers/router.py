"""The server side: sends calls to workers, waits for their outcomes, and answers the workers."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from treadle.clock import Clock, SystemClock, wait_within
from treadle.config.model import ApprovalSettings, WorkerSettings
from treadle.errors import TreadleError
from treadle.events.encoding import event_from_json
from treadle.events.types import Effect, ErrorKind, ToolCallAssigned, ToolCallLate
from treadle.ids import new_id
from treadle.json_records import JsonMismatchError
from treadle.nats.connection import NatsConnection
from treadle.nats.names import ProjectNames
from treadle.tools.approvals.question import Decision
from treadle.tools.contract import AnyTool, Arguments, Result, ToolClass, ToolContext, ToolError
from treadle.tools.failures import effect_of_unfinished
from treadle.workers.call_queue import NATS_ERRORS, CallQueue, is_full
from treadle.workers.messages import (
    ANY_COMMIT,
    FORWARDED,
    CallOutcome,
    DecisionMessage,
    EventMessage,
    Offer,
    OutcomeMessage,
    Report,
    ReportKind,
    ReportReply,
    WorkerCall,
    decode,
    encode,
)
from treadle.workers.timing import Timing
from treadle.workers.work_tree import read_work_tree, repository_of

if TYPE_CHECKING:
    from nats.aio.msg import Msg

_log = logging.getLogger(__name__)


class _NotBegunError(Exception):
    """No worker is left, and none began the call."""


@dataclass(slots=True)
class _OpenCall:
    """A call that this server waits for."""

    message: WorkerCall
    tool: AnyTool
    context: ToolContext
    outcome: "asyncio.Future[CallOutcome]"
    heard: float
    """The time of the last report about the call, or of the last offer of any worker."""
    connected: float
    """The last time at which NATS answered."""
    worker: str | None = None
    """The worker that runs the call, or None if no worker began it."""
    questions: dict[tuple[str, int], "asyncio.Task[Decision]"] = field(default_factory=dict)

    @property
    def effect(self) -> Effect:
        """The effect of the call if its outcome stays unknown."""
        return Effect.NONE if self.worker is None else self.message.unfinished


class WorkerRouter:
    """Runs calls at workers. Use it as a context manager, in one event loop.

    `root` is the repository of the server. A call goes to a worker with the same commit if the
    server's own work tree has no changes.
    """

    def __init__(
        self,
        connection: NatsConnection,
        names: ProjectNames,
        root: Path,
        settings: WorkerSettings,
        approvals: ApprovalSettings,
        *,
        timing: Timing | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._connection = connection
        self._names = names
        self._root = root.resolve()
        self._settings = settings
        self._approvals = approvals
        self._clock = clock or SystemClock()
        self._queue = CallQueue(connection, names, timing)
        self._timing = self._queue.timing
        self._name = str(new_id())
        self._open: dict[str, _OpenCall] = {}
        self._offers: dict[tuple[str, str], tuple[float, Offer]] = {}
        """The offers by repository and commit, each with the time at which it becomes too old."""
        self._tasks: set[asyncio.Future[None]] = set()

    async def __aenter__(self) -> Self:
        await self._queue.open()
        client = self._connection.client
        self._subscriptions = [
            await client.subscribe(self._subject("reports"), cb=self._on_report),
            await client.subscribe(self._subject("outcomes"), cb=self._on_outcome),
            await client.subscribe(self._subject("events"), cb=self._on_event),
        ]
        self._stop_following = self._connection.on_reconnect(self._reconnected)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop_following()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for subscription in self._subscriptions:
            with suppress(*NATS_ERRORS):
                await subscription.unsubscribe()

    def may_route(self, tool: AnyTool) -> bool:
        """Whether calls of the tool may go to workers.

        These are background tools, and the tools in the setting `workers.tools`.
        """
        return tool.tool_class is ToolClass.BACKGROUND or tool.name in self._settings.tools

    async def run(self, tool: AnyTool, arguments: Arguments, context: ToolContext) -> Result | None:
        """Run a call at a worker and return its result, or None if the call must run here.

        The call must run here if no worker has the commit, if the work tree has changes, or if the
        call needs something that only this server has. Raises ToolError for a failure.
        """
        if not tool.is_portable(arguments):
            return None
        wanted = await asyncio.to_thread(self._wanted, tool)
        if wanted is None:
            return None
        offer = await self._offer(*wanted)
        if offer is None or offer.tools.get(tool.name) != tool.version:
            return None
        message = self._message(tool, arguments, context, *wanted)
        try:
            async with self._opened(message, tool, context) as call:
                await self._publish(call)
                outcome = await self._outcome(call)
        except _NotBegunError:  # workers ask before they begin, so none begins it later
            return None
        if outcome.failure is not None:
            raise ToolError.of(outcome.failure)
        result: Result = tool.result.model_validate_json(outcome.result or "")
        return result

    async def _offer(self, repository: str, commit: str) -> Offer | None:
        """Return the offer of a worker with the commit. The offer may be a second old."""
        key, now = (repository, commit), self._clock.monotonic()
        until, offer = self._offers.get(key, (now, None))
        if until <= now:
            offer = await self._queue.find_offer(repository, commit)
            if offer is None:
                self._offers.pop(key, None)
            else:
                self._offers[key] = (now + self._timing.offer_kept, offer)
        return offer

    def _wanted(self, tool: AnyTool) -> tuple[str, str] | None:
        """Return the repository and the commit that a worker needs.

        Returns None if no worker can have this work tree.
        """
        if tool.name in self._settings.any_commit:
            repository = repository_of(self._root)
            return None if repository is None else (repository, ANY_COMMIT)
        tree = read_work_tree(self._root)
        return (tree.repository, tree.commit) if tree is not None and tree.is_clean else None

    def _message(
        self,
        tool: AnyTool,
        arguments: Arguments,
        context: ToolContext,
        repository: str,
        commit: str,
    ) -> WorkerCall:
        key = context.key
        return WorkerCall(
            id=f"{context.request_id}.{key.turn}.{key.slot}",
            caller=self._name,
            repository=repository,
            commit=commit,
            tool=tool.name,
            version=tool.version,
            arguments=arguments.model_dump_json(exclude_unset=True, by_alias=True),
            request_id=context.request_id,
            key=key,
            call_id=context.call_id,
            session_id=context.session_id,
            parent_id=context.parent_id,
            user_message=context.last_user_message,
            unfinished=effect_of_unfinished(tool),
            private=tuple(
                sorted(path.relative_to(self._root).as_posix() for path in context.private)
            ),
            deny=self._approvals.deny,
            ask=self._approvals.ask,
        )

    @asynccontextmanager
    async def _opened(
        self, message: WorkerCall, tool: AnyTool, context: ToolContext
    ) -> AsyncIterator[_OpenCall]:
        """Receive the messages about a call in the context. At its end, workers end the call."""
        now = self._clock.monotonic()
        outcome: asyncio.Future[CallOutcome] = asyncio.get_running_loop().create_future()
        call = self._open[message.id] = _OpenCall(message, tool, context, outcome, now, now)
        try:
            yield call
        except asyncio.CancelledError:
            if outcome.done():  # the outcome arrived just as the call was cancelled
                await self._publish_late(call, outcome.result())
            raise
        finally:
            del self._open[message.id]
            for question in call.questions.values():
                question.cancel()
            if not outcome.done():
                outcome.cancel()
                with suppress(*NATS_ERRORS):  # workers also ask whether the call is wanted
                    await self._send(self._names.subject("cancelled"), message.id.encode())

    async def _publish(self, call: _OpenCall) -> None:
        """Store the call in the queue. Repeats the attempt while NATS is away."""
        size = len(encode(call.message))
        if size > self._queue.max_bytes:
            raise ToolError(
                ErrorKind.LIMIT,
                f"The arguments of {call.tool.name} are too large for a worker: {size:,} bytes.",
                expected=f"at most {self._queue.max_bytes:,} bytes",
                hint="Use shorter arguments, or raise max_payload of the NATS server.",
            )
        while True:
            try:
                await self._queue.publish(call.message)
            except NATS_ERRORS as error:
                if is_full(error):
                    raise ToolError(
                        ErrorKind.UNAVAILABLE,
                        f"The queue of the workers is full, so {call.tool.name} was not sent.",
                        hint="Call the tool again later, or start more workers.",
                    ) from error
                self._check_connection(call)
                await self._clock.sleep(self._timing.hand_back)
            else:
                call.connected = self._clock.monotonic()
                return

    async def _outcome(self, call: _OpenCall) -> CallOutcome:
        while not call.outcome.done():
            with suppress(TimeoutError):
                await wait_within(call.outcome, self._timing.poll, self._clock)
            if not call.outcome.done():
                await self._look(call)
        return call.outcome.result()

    async def _look(self, call: _OpenCall) -> None:
        """Read the state of a call. Raises ToolError if no outcome can be expected any more."""
        try:
            stored = await self._queue.state(call.message.id)
        except NATS_ERRORS:
            self._check_connection(call)
            return
        call.connected = now = self._clock.monotonic()
        if stored is not None and stored[0].outcome is not None:
            _settle(call, stored[0].outcome)
        elif call.worker is None or now - call.heard > self._timing.no_worker:
            offer = await self._queue.find_offer(call.message.repository, call.message.commit)
            if offer is not None:
                call.heard = now
            elif call.worker is None:
                raise _NotBegunError
            elif now - call.heard > self._timing.no_worker:
                raise ToolError(
                    ErrorKind.UNAVAILABLE,
                    f"The worker {call.worker} stopped while it ran {call.tool.name}, and no other "
                    "worker of this repository is left.",
                    hint="Call the tool again. Without a worker, it runs on the server.",
                    effect=call.effect,
                )

    def _check_connection(self, call: _OpenCall) -> None:
        """Raise ToolError if NATS has not answered for too long."""
        if self._clock.monotonic() - call.connected > self._timing.away:
            raise ToolError(
                ErrorKind.UNAVAILABLE,
                f"NATS has not answered for {self._timing.away:g} seconds, so the outcome of "
                f"{call.tool.name} is not known.",
                hint="Call the tool again when the NATS server is back.",
                effect=call.effect,
            )

    async def _reconnected(self) -> None:
        """Read the states of all open calls, because outcomes may have been missed."""
        for call in self._open.values():
            self._spawn(self._look_again(call))

    async def _look_again(self, call: _OpenCall) -> None:
        with suppress(ToolError, _NotBegunError):  # the task that waits for the call raises it
            await self._look(call)

    async def _on_report(self, message: "Msg") -> None:
        """Answer a report of a worker."""
        try:
            report = decode(Report, message.data)
        except (JsonMismatchError, ValueError):
            _log.warning("a worker sent a malformed report")
            return
        call = self._open.get(report.call)
        wanted = call is not None and not call.outcome.done()
        await self._send(message.reply, encode(ReportReply(wanted)))
        if call is None or not wanted:
            return
        call.heard = call.connected = self._clock.monotonic()
        match report.kind:
            case ReportKind.BEGIN:
                call.worker = report.worker
                self._spawn(self._publish_assigned(call, report.worker))
            case ReportKind.QUESTION:
                self._spawn(self._decide(call, report))
            case ReportKind.ALIVE:
                pass

    async def _decide(self, call: _OpenCall, report: Report) -> None:
        """Ask for approval as if the call ran here, and send the decision to the worker."""
        slot = (report.attempt, report.number)
        if slot not in call.questions:
            call.questions[slot] = asyncio.create_task(_decision(call, report))
        decision = await asyncio.shield(call.questions[slot])
        await self._send(
            self._names.subject("workers", report.worker, "decisions"),
            encode(DecisionMessage(report.call, report.attempt, report.number, decision)),
        )

    async def _on_outcome(self, message: "Msg") -> None:
        try:
            received = decode(OutcomeMessage, message.data)
        except (JsonMismatchError, ValueError):
            _log.warning("a worker sent a malformed outcome")
            return
        if (call := self._open.get(received.call)) is not None:
            _settle(call, received.outcome)

    async def _on_event(self, message: "Msg") -> None:
        try:
            received = decode(EventMessage, message.data)
            event = event_from_json(received.event)
        except (JsonMismatchError, ValueError):
            return
        call = self._open.get(received.call)
        own = call is not None and event is not None and event.request_id == call.context.request_id
        if own and isinstance(event, FORWARDED):
            assert call is not None
            self._spawn(call.context.publish(event))

    async def _publish_assigned(self, call: _OpenCall, worker: str) -> None:
        context = call.context
        await context.publish(
            ToolCallAssigned(
                request_id=context.request_id,
                parent_id=context.parent_id,
                key=context.key,
                call_id=context.call_id,
                worker=worker,
            )
        )

    async def _publish_late(self, call: _OpenCall, outcome: CallOutcome) -> None:
        context = call.context
        await context.publish(
            ToolCallLate(
                request_id=context.request_id,
                parent_id=context.parent_id,
                key=context.key,
                call_id=context.call_id,
                outcome="completed" if outcome.failure is None else "failed",
            )
        )

    async def _send(self, subject: str, data: bytes) -> None:
        await self._connection.client.publish(subject, data)

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Future[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("a message of a worker could not be handled", exc_info=error)

    def _subject(self, what: str) -> str:
        return self._names.subject("callers", self._name, what)


def _settle(call: _OpenCall, outcome: CallOutcome) -> None:
    if not call.outcome.done():
        call.outcome.set_result(outcome)


async def _decision(call: _OpenCall, report: Report) -> Decision:
    assert report.question is not None
    try:
        decision = await call.context.approve(report.question)
    except TreadleError as error:
        return Decision(allowed=False, reason=str(error))
    return replace(decision, private=frozenset())  # private paths are valid only on this machine
