"""The calls of one reply: requested over the bus, each with its own time-out, each answered."""

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from treadle.clock import Clock
from treadle.config.model import ToolSettings
from treadle.events import EventBus, Outcome, Subscription
from treadle.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    CallKey,
    Effect,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
    ToolFailure,
)
from treadle.llm.messages import ToolCall, ToolMessage
from treadle.session.time_limit import TimeLimit
from treadle.tools.contract import ToolClass, ToolEffect
from treadle.tools.failures import failure_content
from treadle.tools.message_size import fit_message
from treadle.tools.registry import Registry
from treadle.tools.resources import meet, write_set

_ILL = frozenset({ErrorKind.PARSING, ErrorKind.VALIDATION, ErrorKind.UNKNOWN_TOOL})
"""Failures that say that the call itself was wrong."""


class OpenCalls:
    """The tool calls of one reply, each matched to its result by the key that its future has.

    Calls that write the same thing run one after another, in the order of their slots; all others
    run together. Made, then `run`; when that is cancelled or fails, `give_up` answers what is
    still open. After either, `outcomes` has one outcome for each call.
    """

    def __init__(
        self,
        bus: EventBus,
        registry: Registry,
        settings: ToolSettings,
        clock: Clock,
        *,
        request_id: UUID,
        parent_id: UUID | None,
        calls: Sequence[ToolCall],
        max_tokens: int | None = None,
        unlimited: Collection[str] = (),
    ) -> None:
        """No tool message takes more than `max_tokens`, except those of tools in `unlimited`."""
        self._bus = bus
        self._registry = registry
        self._settings = settings
        self._clock = clock
        self._request_id = request_id
        self._parent_id = parent_id
        self._max_tokens = max_tokens
        self._unlimited = frozenset(unlimited)
        self._calls = sorted(calls, key=lambda call: call.key)
        self._futures = {call.key: bus.expect(request_id, call.key) for call in self._calls}
        self._time_limits = {call.key: self._time_limit(call) for call in self._calls}
        self._published: dict[CallKey, float] = {}

    async def run(self) -> None:
        """Publish the calls, so many of each class open at once as the settings say; wait for all.

        A call that has to wait is published when its turn has come: only then its time runs.
        """
        places = {
            ToolClass.REALTIME: asyncio.Semaphore(self._settings.max_concurrent),
            ToolClass.BACKGROUND: asyncio.Semaphore(self._settings.max_background),
        }
        earlier = self._earlier()
        approvals = self._bus.subscribe(
            ApprovalRequested, ApprovalResolved, request_id=self._request_id
        )
        following = asyncio.create_task(self._follow(approvals), name="approvals of calls")
        try:
            async with asyncio.TaskGroup() as group:
                for call in self._calls:
                    running = self._run_one(call, earlier[call.key], places[self._class(call)])
                    group.create_task(running, name=f"call {call.name}")
        finally:
            approvals.close()
            following.cancel()
            await asyncio.wait({following})

    async def give_up(self, kind: ErrorKind, message: str) -> None:
        """Answer every call that is still open with that failure."""
        try:
            for call in self._calls:
                await self._fail(call, kind, message)
        finally:  # cancelled once more meanwhile: nobody waits for the rest
            for future in self._futures.values():
                future.cancel()

    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes of the calls, in the order of the slots."""
        futures = [self._futures[call.key] for call in self._calls]
        return tuple(
            future.result() for future in futures if future.done() and not future.cancelled()
        )

    def _earlier(self) -> dict[CallKey, list[asyncio.Future[Outcome]]]:
        """For each call, the outcomes of those before it that write what it writes."""
        writes = [write_set(self._registry.get(call.name), call.arguments) for call in self._calls]
        return {
            call.key: [
                self._futures[before.key]
                for before, written in zip(self._calls[:place], writes, strict=False)
                if meet(written, writes[place])
            ]
            for place, call in enumerate(self._calls)
        }

    async def _follow(self, approvals: Subscription) -> None:
        """Pause the timeout of a call while a person is asked about it."""
        async for envelope in approvals:
            match envelope.event:
                case ApprovalRequested(key=key) if key in self._time_limits:
                    self._time_limits[key].hold()
                case ApprovalResolved(key=key) if key in self._time_limits:
                    self._time_limits[key].go_on()

    async def _run_one(
        self, call: ToolCall, earlier: list[asyncio.Future[Outcome]], places: asyncio.Semaphore
    ) -> None:
        if earlier:
            await asyncio.wait(earlier)
        async with places:
            self._published[call.key] = self._clock.monotonic()
            await self._bus.publish(
                ToolCallRequested(
                    request_id=self._request_id,
                    parent_id=self._parent_id,
                    key=call.key,
                    call_id=call.call_id,
                    vendor=call.vendor,
                    name=call.name,
                    arguments=call.arguments,
                    max_tokens=None if call.name in self._unlimited else self._max_tokens,
                )
            )
            limit = self._time_limits[call.key]
            try:
                await limit.wait(self._futures[call.key])
            except TimeoutError:
                message = f"{call.name} did not answer within {limit.seconds:g} seconds."
                await self._fail(call, ErrorKind.TIMEOUT, message)

    def _class(self, call: ToolCall) -> ToolClass:
        tool = self._registry.get(call.name)
        return ToolClass.REALTIME if tool is None else tool.tool_class

    def _time_limit(self, call: ToolCall) -> TimeLimit:
        tool = self._registry.get(call.name)
        background = self._class(call) is ToolClass.BACKGROUND
        seconds = self._settings.background_timeout if background else self._settings.timeout
        if tool is not None and tool.timeout is not None:
            seconds = tool.timeout
        return TimeLimit(seconds, self._clock)

    async def _fail(self, call: ToolCall, kind: ErrorKind, message: str) -> None:
        if self._futures[call.key].done():
            return
        failure = ToolFailure(kind, message, effect=self._effect(call))
        # The bus resolves the future before it waits for anybody; the dispatcher sees this too
        # and ends the tool's task.
        started = self._published.get(call.key)
        await self._bus.publish(
            ToolCallFailed(
                request_id=self._request_id,
                parent_id=self._parent_id,
                key=call.key,
                call_id=call.call_id,
                error=failure,
                duration=0.0 if started is None else self._clock.monotonic() - started,
            )
        )

    def _effect(self, call: ToolCall) -> Effect:
        """What a call that has no outcome of its own may have changed."""
        tool = self._registry.get(call.name)
        if call.key not in self._published or tool is None or tool.effect is ToolEffect.READ:
            return Effect.NONE
        return Effect.UNKNOWN


async def result_message(outcome: Outcome, tokens: int) -> ToolMessage:
    """The message of a result, within so many tokens whoever answered the call."""
    if ok := isinstance(outcome, ToolCallCompleted):
        whole, summary = outcome.content, outcome.ui.summary
    else:
        whole, summary = failure_content(outcome.error), outcome.error.message
    # A long one takes a while: off the loop. No token is shorter than a byte.
    short = len(whole) * 4 <= tokens
    content = whole if short else await asyncio.to_thread(fit_message, whole, tokens)
    return ToolMessage(outcome.key, content, ok=ok, summary=summary)


_CUT_ARGUMENTS = 400
"""Characters that are kept of the arguments of a call that was cut off."""

_CUT_OFF = failure_content(
    ToolFailure(
        ErrorKind.LIMIT,
        "Not run: the reply reached its maximum length in the middle of this call.",
        hint="Send less in one reply: one call at a time, and a long text in several parts.",
    )
)


def split_cut_calls(
    calls: Sequence[ToolCall],
) -> tuple[tuple[ToolCall, ...], tuple[ToolCall, ...]]:
    """The calls of a cut reply that were finished before the cut, and those that were not.

    Empty arguments may have been about to come. Of arguments that broke off only the beginning is
    kept, so that the model sees which call it was.
    """
    whole = tuple(call for call in calls if _is_whole(call.arguments))
    cut = tuple(
        replace(call, arguments=call.arguments[:_CUT_ARGUMENTS])
        for call in calls
        if call not in whole and call.name
    )
    return whole, cut


def cut_results(calls: Sequence[ToolCall]) -> list[ToolMessage]:
    """The results of calls that were cut off: not run, and what the model should do instead."""
    return [ToolMessage(call.key, _CUT_OFF, ok=False, summary="cut off") for call in calls]


def ill_kinds(outcomes: Sequence[Outcome]) -> set[ErrorKind]:
    """The kinds of failure when every call of a reply was itself wrong, else none."""
    kinds = {outcome.error.kind for outcome in outcomes if isinstance(outcome, ToolCallFailed)}
    worked = any(isinstance(outcome, ToolCallCompleted) for outcome in outcomes)
    return set() if worked or not kinds <= _ILL else kinds


def _is_whole(arguments: str) -> bool:
    """Whether arguments are finished JSON; the beginning of a number is not told from a number."""
    try:
        return not isinstance(json.loads(arguments, strict=False), int | float)
    except (ValueError, RecursionError):
        return False
