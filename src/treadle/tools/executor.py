"""The executor of tool calls. It handles each call from its request to its outcome."""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.config.model import ToolSettings
from treadle.events import EventBus, Outcome
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
    ToolFailure,
)
from treadle.ids import new_id
from treadle.tools.approvals.gate import Approvals, question_about
from treadle.tools.arguments import parse_arguments
from treadle.tools.contract import (
    EVERYTHING,
    AnyTool,
    Arguments,
    ReadMode,
    Registry,
    ToolClass,
    ToolContext,
    ToolEffect,
    ToolError,
    normal_mode,
)
from treadle.tools.failures import effect_of_unfinished, failure_of, unknown_tool
from treadle.tools.message_size import fitted

if TYPE_CHECKING:  # the bridge imports a library that loads slowly and is rarely needed
    from treadle.tools.external.bridge import Bridge

_log = logging.getLogger(__name__)

BACKGROUND_THREADS = 16
"""The number of threads for blocking work of background tools.

Realtime tools use the default threads of the event loop.
"""


class TimeLimit:
    """The time limit of one future, in seconds on `clock`. The time of pauses does not count."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self.seconds = seconds
        self._left = seconds
        self._clock = clock
        self._pauses = 0
        self._since = 0.0
        self._timer: asyncio.Task[None] | None = None
        self._timeout: asyncio.Future[None] | None = None

    async def wait(self, future: asyncio.Future[Any]) -> None:
        """Wait until `future` is done. Raises TimeoutError if the time is up first.

        `future` is not cancelled.
        """
        self._timeout = asyncio.get_running_loop().create_future()
        self._run()
        try:
            await asyncio.wait({future, self._timeout}, return_when=asyncio.FIRST_COMPLETED)
            if not future.done():
                raise TimeoutError
        finally:
            timer = self._timer
            self._stop()
            self._timeout = None
            if timer is not None:
                await asyncio.wait({timer})

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the limit. It resumes when all pauses have ended."""
        self._pauses += 1
        self._stop()
        try:
            yield
        finally:
            self._pauses -= 1
            self._run()

    def _run(self) -> None:
        if self._timeout is not None and self._timer is None and self._pauses == 0:
            self._since = self._clock.monotonic()
            self._timer = asyncio.create_task(self._tick(self._timeout))

    def _stop(self) -> None:
        if self._timer is not None:
            self._left -= self._clock.monotonic() - self._since
            self._timer.cancel()
            self._timer = None

    async def _tick(self, expired: "asyncio.Future[None]") -> None:
        await self._clock.sleep(max(0.0, self._left))
        if not expired.done():
            expired.set_result(None)


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a tool: the tools that it may call, and its conversation if it has one.

    `mode` returns the present mode of the conversation. Without `asks_person`, calls that need a
    person's approval are refused.
    """

    registry: Registry
    session_id: UUID | None = None
    user_message: str = ""
    mode: ReadMode = normal_mode
    asks_person: bool = True


class OpenCall:
    """One call: its request, its tool, and the future of its one outcome.

    `tool` is None if the caller has no tool with the name in the request. `published` is the time
    at which the request was published. `limit` is None for a call without a time limit.
    """

    def __init__(
        self,
        request: ToolCallRequested,
        caller: Caller,
        outcome: asyncio.Future[Outcome],
        limit: TimeLimit | None = None,
    ) -> None:
        self.request = request
        self.caller = caller
        self.tool: AnyTool | None = caller.registry.get(request.name)
        self.outcome = outcome
        self.limit = limit
        self.published: float | None = None
        self._arguments: Arguments | ToolError | None = None

    def arguments(self, tool: AnyTool) -> Arguments:
        """Return the arguments of the call for `tool`. Raises ToolError if they are invalid."""
        if self._arguments is None:
            try:
                parsed = parse_arguments(tool.name, tool.arguments, self.request.arguments)
                self._arguments = parsed
            except ToolError as error:
                self._arguments = error
        if isinstance(self._arguments, ToolError):
            raise self._arguments
        return self._arguments

    def writes(self) -> AbstractSet[str]:
        """Return the resources that the call writes.

        The set is empty if the arguments are invalid.
        """
        if self.tool is None or self.tool.effect is ToolEffect.READ:
            return frozenset()
        try:
            return self.tool.writes(self.arguments(self.tool))
        except ToolError:
            return frozenset()

    def failed(self, error: ToolFailure, duration: float) -> ToolCallFailed:
        """Return the outcome of this call for a failure after `duration` seconds."""
        return ToolCallFailed(
            request_id=self.request.request_id,
            parent_id=self.request.parent_id,
            key=self.request.key,
            call_id=self.request.call_id,
            error=error,
            duration=duration,
        )

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the time limit while a person is asked."""
        if self.limit is None:
            yield
            return
        with self.limit.paused():
            yield


class ToolExecutor:
    """Validates, approves and runs tool calls, and publishes each request and its one outcome.

    The first outcome of a call that is published counts, even if other code published it. The
    executor then cancels the task that runs the tool. If the task still publishes an outcome, it
    becomes a late result.

    Use the executor as a context manager: its exit cancels the calls that still run.
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
        """Create an executor. `root` is the root of the repository that the tools may read.

        The method `call` runs the tools of `registry` and the external tools of `bridge`. If
        `approvals` is None, every call that needs approval is refused. `labels` maps the name of a
        tool to the labels that the spans of its calls get outside of sessions.
        """
        self.bus = bus
        self._registry = registry
        self._root = root.resolve()
        self._clock = clock or SystemClock()
        self._bridge = bridge
        self._approvals = approvals or Approvals(bus, root, clock=clock)
        self._labels = labels or {}
        self._background = ThreadPoolExecutor(BACKGROUND_THREADS, "treadle-background")
        self._running: dict[OpenCall, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._tasks)
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
        registry: Registry | None = None,
    ) -> Outcome:
        """Run one tool outside a session, as a request of its own, and return its outcome.

        `registry` contains the available tools. If it is None, the tools of the executor and of
        front ends are available. The call has no time limit. If the task that awaits this method is
        cancelled, the call is cancelled too.
        """
        request = ToolCallRequested(
            request_id=new_id(),
            key=CallKey(0, 0),
            call_id=call_id,
            vendor=vendor,
            name=name,
            arguments=arguments,
            labels=self._labels.get(name, ()),
        )
        call = self.open(request, Caller(self._all_tools() if registry is None else registry))
        try:
            await self.start(call)
            return await asyncio.shield(call.outcome)
        except asyncio.CancelledError:
            await self.fail(call, ErrorKind.CANCELLED, f"{name} was cancelled by its caller.")
            raise

    def calls_of_reply(
        self,
        requests: Sequence[ToolCallRequested],
        caller: Caller,
        settings: ToolSettings,
    ) -> "ReplyCalls":
        """Return the calls of one reply of a model. They run within the limits of `settings`."""
        return ReplyCalls(self, requests, caller, settings, self._clock)

    def open(
        self, request: ToolCallRequested, caller: Caller, limit: TimeLimit | None = None
    ) -> OpenCall:
        """Register a call with the bus.

        When the outcome is published, the bus resolves the future of the call. The method `start`
        starts the call.
        """
        outcome = self.bus.expect(request.request_id, request.key)
        return OpenCall(request, caller, outcome, limit)

    async def start(self, call: OpenCall) -> None:
        """Publish the request of a call, and begin to answer it."""
        call.published = self._clock.monotonic()
        await self.bus.publish(call.request)
        task = asyncio.create_task(self._serve(call), name=f"tool {call.request.name}")
        self._running[call] = task
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        call.outcome.add_done_callback(lambda _: self._stop(call))

    async def fail(self, call: OpenCall, kind: ErrorKind, message: str) -> None:
        """Publish a failure as the outcome of a call, unless it has one already.

        The outcome ends the task that runs the tool.
        """
        if call.outcome.done():
            return
        published = call.published is not None
        effect = effect_of_unfinished(call.tool) if published else Effect.NONE
        # The outcome is set before this statement first waits, since the bus resolves the future
        # before it waits for a subscriber.
        await self.bus.publish(
            call.failed(ToolFailure(kind, message, effect=effect), self._since(call.published))
        )

    async def answer(self, call: OpenCall) -> Outcome:
        """Validate the arguments of a call, get approval, run the tool and return the outcome."""
        request, tool = call.request, call.tool
        started = self._clock.monotonic()
        if tool is None:
            failure = unknown_tool(request.name, call.caller.registry.names())
            return call.failed(failure, self._since(started))
        try:
            arguments = call.arguments(tool)
            if request.max_tokens is not None:
                arguments = arguments.limited_to(request.max_tokens)
            context = self._context(call, tool)
            question = question_about(tool, arguments)
            decision = await context.approve(question)
            if not decision.allowed:
                return call.failed(decision.failure(question.summary), self._since(started))
            started = self._clock.monotonic()  # the duration excludes the wait for a person
            result = await tool.run(arguments, replace(context, private=decision.private))
            return ToolCallCompleted(
                request_id=request.request_id,
                parent_id=request.parent_id,
                key=request.key,
                call_id=request.call_id,
                content=await fitted(tool.content(result), request.max_tokens),
                ui=tool.view(arguments, result),
                duration=self._since(started),
            )
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # This call was not cancelled. The tool awaited another task, and that task was
            # cancelled.
            failure = _failure(tool, RuntimeError(str(error)))
        except Exception as error:  # noqa: BLE001  (every call gets an outcome)
            failure = _failure(tool, error)
        return call.failed(failure, self._since(started))

    async def _serve(self, call: OpenCall) -> None:
        try:
            outcome = await self.answer(call)
        finally:
            # Publishing the outcome cancels the task of the call in `_running`. This task must not
            # cancel itself, so it is removed first.
            self._running.pop(call, None)
        await self.bus.publish(outcome)

    def _stop(self, call: OpenCall) -> None:
        task = self._running.pop(call, None)
        if task is not None:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("The result of %s could not be published", task.get_name(), exc_info=error)

    def _all_tools(self) -> Registry:
        external = self._bridge.tools() if self._bridge else ()
        return self._registry.with_tools(external) if external else self._registry

    def _context(self, call: OpenCall, tool: AnyTool) -> ToolContext:
        context = ToolContext(
            request_id=call.request.request_id,
            key=call.request.key,
            tool=tool.name,
            session_id=call.caller.session_id,
            parent_id=call.request.parent_id,
            call_id=call.request.call_id,
            last_user_message=call.caller.user_message,
            clock=self._clock,
            publish=self.bus.publish,
            open_to=partial(self._approvals.open_to, tool.name),
            executor=self._background if tool.tool_class is ToolClass.BACKGROUND else None,
            effect=tool.effect,
            mode=call.caller.mode,
            asks_person=call.caller.asks_person,
        )
        approve = partial(self._approvals.decide, context=context, waiting=call.paused)
        return replace(context, approve=approve)

    def _since(self, start: float | None) -> float:
        """Return the seconds since `start`, or 0 if `start` is None."""
        return 0.0 if start is None else self._clock.monotonic() - start


class ReplyCalls:
    """The tool calls of one reply of a model.

    Calls that write the same resource run one after another, in the order of their slots. All other
    calls run concurrently. `outcomes` has one outcome for each call after `run` has ended. If `run`
    was cancelled or failed, call `give_up` first.
    """

    def __init__(
        self,
        executor: ToolExecutor,
        requests: Sequence[ToolCallRequested],
        caller: Caller,
        settings: ToolSettings,
        clock: Clock,
    ) -> None:
        """Register the calls with the bus. Use `ToolExecutor.calls_of_reply` instead."""
        self._executor = executor
        self._settings = settings
        self._calls = [
            executor.open(
                request,
                caller,
                TimeLimit(self._seconds(caller.registry.get(request.name)), clock),
            )
            for request in sorted(requests, key=lambda request: request.key)
        ]

    async def run(self) -> None:
        """Run the calls and wait for all of them.

        The settings limit how many calls of each class run at the same time. If a call has to wait,
        its request is published and its time limit begins after the wait.
        """
        lanes = {
            ToolClass.REALTIME: asyncio.Semaphore(self._settings.max_concurrent),
            ToolClass.BACKGROUND: asyncio.Semaphore(self._settings.max_background),
        }
        writes = [call.writes() for call in self._calls]
        async with asyncio.TaskGroup() as group:
            for position, call in enumerate(self._calls):
                earlier = [
                    before.outcome
                    for before, written in zip(self._calls[:position], writes, strict=False)
                    if _overlap(written, writes[position])
                ]
                running = self._run_one(call, earlier, lanes[_class(call.tool)])
                group.create_task(running, name=f"call {call.request.name}")

    async def give_up(self, kind: ErrorKind, message: str) -> None:
        """Publish a failure as the outcome of every call that has no outcome."""
        try:
            for call in self._calls:
                await self._executor.fail(call, kind, message)
        finally:  # after a second cancellation, some calls may have no outcome
            for call in self._calls:
                call.outcome.cancel()

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the outcomes of the calls, in the order of their slots."""
        futures = [call.outcome for call in self._calls]
        return tuple(
            future.result() for future in futures if future.done() and not future.cancelled()
        )

    async def _run_one(
        self, call: OpenCall, earlier: list[asyncio.Future[Outcome]], lane: asyncio.Semaphore
    ) -> None:
        if earlier:
            await asyncio.wait(earlier)
        async with lane:
            await self._executor.start(call)
            assert call.limit is not None
            try:
                await call.limit.wait(call.outcome)
            except TimeoutError:
                name, seconds = call.request.name, call.limit.seconds
                message = f"{name} did not answer within {seconds:g} seconds."
                await self._executor.fail(call, ErrorKind.TIMEOUT, message)

    def _seconds(self, tool: AnyTool | None) -> float:
        if tool is not None and tool.timeout is not None:
            return tool.timeout
        background = _class(tool) is ToolClass.BACKGROUND
        return self._settings.background_timeout if background else self._settings.timeout


def _class(tool: AnyTool | None) -> ToolClass:
    return ToolClass.REALTIME if tool is None else tool.tool_class


def _overlap(first: AbstractSet[str], second: AbstractSet[str]) -> bool:
    if not first or not second:
        return False
    return EVERYTHING in first or EVERYTHING in second or not first.isdisjoint(second)


def _failure(tool: AnyTool, error: Exception) -> ToolFailure:
    failure = failure_of(tool, error)
    if failure.kind is ErrorKind.INTERNAL:
        _log.error("The tool %s failed", tool.name, exc_info=error)
    return failure
