"""The dispatcher: answers tool calls from the bus by running the tools of a registry."""

import asyncio
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.events import EventBus, Outcome
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    Event,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
    ToolFailure,
)
from treadle.ids import new_id
from treadle.tools.approvals.gate import Approvals
from treadle.tools.approvals.question import Question
from treadle.tools.arguments import parse_arguments
from treadle.tools.contract import Arguments, Result, ToolClass, ToolContext, ToolEffect
from treadle.tools.failures import failure_of, unknown_tool
from treadle.tools.message_size import fit_message
from treadle.tools.registry import AnyTool, Registry

if TYPE_CHECKING:  # it brings a library that is slow to import, and few need it
    from treadle.tools.external.bridge import Bridge

_log = logging.getLogger(__name__)

BACKGROUND_THREADS = 16
"""Threads for blocking work of background tools, which so cannot take those of the others."""

_SHOWN_CHARACTERS = 200

_Slot = tuple[UUID, CallKey]


class Dispatcher:
    """Serves the calls of all sessions on a bus, each in a task of its own, until it is left.

    How long a call may take and how many run at once is the session's to decide: when it answers
    a running call itself (a time-out, a cancellation), the call's task is cancelled. What a task
    still brings after that is published all the same, and the bus makes it a late result.
    """

    def __init__(
        self,
        bus: EventBus,
        registry: Registry,
        root: Path,
        *,
        clock: Clock | None = None,
        bridge: "Bridge | None" = None,
        approvals: Approvals | None = None,
        labels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        """`root` is the root of the repository that the tools may see.

        The tools are those of `registry`, and those that front ends run over `bridge`. Without
        `approvals` nobody can be asked, so what needs approval is refused. `labels` are, by the
        name of a tool, those of what is recorded of a call from outside a session.
        """
        self._bus = bus
        self._registry = registry
        self._root = root.resolve()
        self._clock = clock or SystemClock()
        self._bridge = bridge
        self._approvals = approvals or Approvals(bus, root, clock=clock)
        self._labels = labels or {}
        self._background = ThreadPoolExecutor(BACKGROUND_THREADS, "treadle-background")
        self._sessions: dict[UUID, SessionStarted] = {}
        self._lent: dict[UUID, Registry] = {}
        self._offered: dict[UUID, tuple[str, ...]] = {}
        self._running: dict[_Slot, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._subscription = self._bus.subscribe(
            SessionStarted,
            SessionFinished,
            SessionFailed,
            SessionCancelled,
            ToolCallRequested,
            ToolCallFailed,
        )
        self._server = asyncio.create_task(self._serve(), name="dispatcher")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._subscription.close()
        tasks = {self._server, *self._tasks}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._background.shutdown(wait=False, cancel_futures=True)

    async def call(
        self,
        name: str,
        arguments: str,
        *,
        call_id: str = "",
        vendor: str = "",
        offered: Collection[str] | None = None,
        lent: Iterable[AnyTool] = (),
    ) -> Outcome:
        """Run one tool outside a session, as a request of its own, and return its outcome.

        `offered` are the names that the caller may call; None: all. Tools that are `lent` to it
        serve in place of those with the same name.

        The call goes over the bus as one of a session does, so that a recorder sees it. It has no
        time limit; when the caller is cancelled, so is the call. Only while this is entered.
        """
        call = ToolCallRequested(
            request_id=new_id(),
            key=CallKey(0, 0),
            call_id=call_id,
            vendor=vendor,
            name=name,
            arguments=arguments,
            labels=self._labels.get(name, ()),
        )
        tool = self._tool(name)
        started = self._clock.monotonic()
        outcome = self._bus.expect(call.request_id, call.key)
        if offered is not None:
            self._offered[call.request_id] = tuple(offered)
        self._lent[call.request_id] = Registry(lent)
        try:
            await self._bus.publish(call)
            return await asyncio.shield(outcome)
        except asyncio.CancelledError:
            effect = (
                Effect.NONE if tool is None or tool.effect is ToolEffect.READ else Effect.UNKNOWN
            )
            failure = ToolFailure(
                ErrorKind.CANCELLED, f"{name} was cancelled by its caller.", effect=effect
            )
            await self._bus.publish(self._failed(call, failure, started))
            raise
        finally:
            self._offered.pop(call.request_id, None)
            self._lent.pop(call.request_id, None)

    @contextmanager
    def lent(self, request_id: UUID, tools: Iterable[AnyTool]) -> Iterator[None]:
        """Meanwhile serve these tools too, to the session of that request alone."""
        self._lent[request_id] = Registry(tools)
        try:
            yield
        finally:
            del self._lent[request_id]

    def _tool(self, name: str) -> AnyTool | None:
        tool = self._registry.get(name)
        return self._bridge.tool(name) if tool is None and self._bridge else tool

    def _tool_of(self, call: ToolCallRequested) -> AnyTool | None:
        """The tool that is called; None where the caller was not offered one of that name."""
        if call.name not in self._offer(call, (call.name,)):
            return None
        lent = self._lent.get(call.request_id)
        return (lent.get(call.name) if lent else None) or self._tool(call.name)

    def _offer(self, call: ToolCallRequested, otherwise: tuple[str, ...]) -> tuple[str, ...]:
        """The names that the caller was offered; `otherwise` where it was offered all."""
        session = self._sessions.get(call.request_id)
        return session.tools if session else self._offered.get(call.request_id, otherwise)

    def _names(self, call: ToolCallRequested) -> tuple[str, ...]:
        external = self._bridge.tools() if self._bridge else ()
        return self._offer(call, (*self._registry.names(), *(tool.name for tool in external)))

    async def _serve(self) -> None:
        async for envelope in self._subscription:
            self._handle(envelope.event)

    def _handle(self, event: Event) -> None:
        match event:
            case ToolCallRequested():
                self._start(event)
            case ToolCallFailed(request_id=request_id, key=key):
                self._stop((request_id, key))
            case SessionStarted(request_id=request_id):
                self._sessions[request_id] = event
            case _:  # the session ended
                self._sessions.pop(event.request_id, None)
                if self._bridge is not None:
                    self._bridge.release(event.request_id)
                for slot in [slot for slot in self._running if slot[0] == event.request_id]:
                    self._stop(slot)

    def _start(self, call: ToolCallRequested) -> None:
        task = asyncio.create_task(self._answer(call), name=f"tool {call.name}")
        self._running[call.request_id, call.key] = task
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _stop(self, slot: _Slot) -> None:
        task = self._running.pop(slot, None)
        if task is not None:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("The result of %s could not be published", task.get_name(), exc_info=error)

    async def _answer(self, call: ToolCallRequested) -> None:
        slot = (call.request_id, call.key)
        try:
            outcome = await self._outcome(call)
        finally:
            # Before publishing: a failure that is seen for this call from here on is our own.
            if self._running.get(slot) is asyncio.current_task():
                del self._running[slot]
        await self._bus.publish(outcome)

    def _context(self, call: ToolCallRequested, tool: AnyTool) -> ToolContext:
        session = self._sessions.get(call.request_id)
        context = ToolContext(
            request_id=call.request_id,
            key=call.key,
            root=self._root,
            tool=tool.name,
            session_id=session.session_id if session else None,
            parent_id=call.parent_id,
            call_id=call.call_id,
            last_user_message=session.user_text if session else "",
            clock=self._clock,
            publish=self._bus.publish,
            open_to=partial(self._approvals.open_to, tool.name),
            executor=self._background if tool.tool_class is ToolClass.BACKGROUND else None,
        )
        return replace(context, approve=partial(self._approvals.decide, context=context))

    async def _outcome(self, call: ToolCallRequested) -> Outcome:
        started = self._clock.monotonic()
        tool = self._tool_of(call)
        if tool is None:
            return self._failed(call, unknown_tool(call.name, self._names(call)), started)
        try:
            arguments = parse_arguments(tool.name, tool.arguments, call.arguments)
            if call.max_tokens is not None:
                arguments = arguments.within(call.max_tokens)
            context = self._context(call, tool)
            question = Question(
                tool.subjects(arguments),
                tool.asks,
                _summary(tool, arguments),
                preview=_exactly(arguments),
                asked_later=tool.proposes,
            )
            decision = await context.approve(question)
            if not decision.allowed:
                return self._failed(call, decision.failure(question.summary), started)
            started = self._clock.monotonic()  # what a person took is not the tool's time
            result = await tool.run(arguments, replace(context, private=decision.private))
            return ToolCallCompleted(
                request_id=call.request_id,
                parent_id=call.parent_id,
                key=call.key,
                call_id=call.call_id,
                content=await _content(tool, result, call.max_tokens),
                ui=tool.view(arguments, result),
                duration=self._clock.monotonic() - started,
            )
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # The tool gave up something that it waited for; nobody asked this call to end.
            return self._failed(call, self._failure(tool, RuntimeError(str(error))), started)
        except Exception as error:  # noqa: BLE001  (whatever a tool does, its call is answered)
            return self._failed(call, self._failure(tool, error), started)

    def _failure(self, tool: AnyTool, error: Exception) -> ToolFailure:
        failure = failure_of(tool, error)
        if failure.kind is ErrorKind.INTERNAL:
            _log.error("The tool %s failed", tool.name, exc_info=error)
        return failure

    def _failed(self, call: ToolCallRequested, error: ToolFailure, started: float) -> Outcome:
        return ToolCallFailed(
            request_id=call.request_id,
            parent_id=call.parent_id,
            key=call.key,
            call_id=call.call_id,
            error=error,
            duration=self._clock.monotonic() - started,
        )


async def _content(tool: AnyTool, result: Result, limit: int | None) -> str:
    """The text of the tool message, within `limit` tokens."""
    content = tool.content(result)
    if limit is None or len(content) * 4 <= limit:
        return content
    return await asyncio.to_thread(fit_message, content, limit)  # a long text takes a while


def _summary(tool: AnyTool, arguments: Arguments) -> str:
    """What would happen, in a few words: the tool and what it is about."""
    about = ", ".join(filter(None, map(str, tool.subjects(arguments))))
    about = about or json.dumps(_given(arguments), ensure_ascii=False).removeprefix("{}")
    shown = about if len(about) <= _SHOWN_CHARACTERS else f"{about[:_SHOWN_CHARACTERS]}…"
    return " ".join(f"{tool.name} {shown}".split())


def _exactly(arguments: Arguments) -> str | None:
    """The arguments as they were understood, for a person.

    The model's own text may repeat a name, and a reader of it could take the wrong value.
    """
    given = _given(arguments)
    return json.dumps(given, ensure_ascii=False, indent=1) if given else None


def _given(arguments: Arguments) -> dict[str, Any]:
    return arguments.model_dump(mode="json", exclude_unset=True)
