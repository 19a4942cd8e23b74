"""Calls of tools that rules make instead of a model, within a request that is recorded as one."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from treadle.clock import Clock
from treadle.config.model import ToolSettings
from treadle.errors import TreadleError
from treadle.events import EventBus
from treadle.events.types import (
    CallKey,
    ErrorKind,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    StopReason,
    ToolCallCompleted,
    Usage,
)
from treadle.ids import new_id
from treadle.llm.messages import ToolCall
from treadle.session.calls import OpenCalls
from treadle.tools.contract import ToolError
from treadle.tools.registry import Registry
from treadle.traces.span import ANALYST_LABEL

RULES = "rules"
"""What stands in the place of a model and of its provider."""


class Steps:
    """The calls of one request; each raises ToolError when it fails."""

    def __init__(
        self, bus: EventBus, registry: Registry, settings: ToolSettings, clock: Clock
    ) -> None:
        self._bus = bus
        self._registry = registry
        self._settings = settings
        self._clock = clock
        self._request_id = new_id()
        self.made = 0

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool, as its tool message has it."""
        key = CallKey(self.made, 0)
        self.made += 1
        calls = OpenCalls(
            self._bus,
            self._registry,
            self._settings,
            self._clock,
            request_id=self._request_id,
            parent_id=None,
            calls=[ToolCall(key, "", name, json.dumps(arguments), RULES)],
        )
        try:
            await calls.run()
        except BaseException:
            await calls.give_up(ErrorKind.CANCELLED, "The request ended while the call ran.")
            raise
        (outcome,) = calls.outcomes()
        if not isinstance(outcome, ToolCallCompleted):
            raise ToolError.of(outcome.error)
        result: dict[str, Any] = json.loads(outcome.content)
        return result

    @asynccontextmanager
    async def session(
        self, agent: str, question: str, request_id: UUID
    ) -> AsyncIterator[dict[str, str]]:
        """Tell of the request as a session does; its answer is put into `text` meanwhile."""
        self._request_id, session_id, started = request_id, new_id(), self._clock.monotonic()
        answer = {"text": ""}

        def spent() -> Mapping[str, Any]:
            return {
                "request_id": request_id,
                "session_id": session_id,
                "usage": Usage(0, 0),
                "cost": 0.0,
                "duration": self._clock.monotonic() - started,
            }

        await self._bus.publish(
            SessionStarted(
                request_id=request_id,
                session_id=session_id,
                user_text=question,
                model=RULES,
                provider="treadle",
                tools=self._registry.names(),
                agent=agent,
                labels=(ANALYST_LABEL,),
            )
        )
        try:
            yield answer
        except TreadleError as error:
            await self._bus.publish(
                SessionFailed(message=error.message, hint=error.hint, **spent())
            )
            raise
        except BaseException:
            await self._bus.publish(SessionCancelled(**spent()))
            raise
        await self._bus.publish(
            SessionFinished(
                text=answer["text"],
                stop_reason=StopReason.COMPLETED,
                tool_calls=self.made,
                **spent(),
            )
        )
