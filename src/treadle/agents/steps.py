"""Calls of tools that rules make instead of a model, within a request that is recorded as one."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from treadle.clock import Clock
from treadle.config.model import ToolSettings
from treadle.errors import TreadleError
from treadle.events import EventBus, Outcome
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
from treadle.llm.messages import AssistantMessage, ToolCall, UserMessage
from treadle.session.calls import OpenCalls, result_message
from treadle.session.keeping import Keeper
from treadle.spans.span import ANALYST_LABEL
from treadle.tools.contract import ToolError
from treadle.tools.registry import Registry

RULES, PROVIDER = "rules", "treadle"
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
        self._turn = 0
        self._keeper: Keeper | None = None
        self.made = 0

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool, as its tool message has it."""
        key = CallKey(self._turn, 0)
        self._turn += 1
        self.made += 1
        made = ToolCall(key, "", name, json.dumps(arguments), RULES)
        calls = OpenCalls(
            self._bus,
            self._registry,
            self._settings,
            self._clock,
            request_id=self._request_id,
            parent_id=None,
            calls=[made],
        )
        try:
            await calls.run()
        except BaseException:
            await calls.give_up(ErrorKind.CANCELLED, "The request ended while the call ran.")
            raise
        finally:
            await self._keep(made, calls.outcomes())
        (outcome,) = calls.outcomes()
        if not isinstance(outcome, ToolCallCompleted):
            raise ToolError.of(outcome.error)
        result: dict[str, Any] = json.loads(outcome.content)
        return result

    async def _keep(self, call: ToolCall, outcomes: Sequence[Outcome]) -> None:
        """Put a call with its result into the conversation."""
        if self._keeper is None or not outcomes:
            return
        results = [await result_message(each, self._settings.result_tokens) for each in outcomes]
        said = AssistantMessage(calls=(call,), provider=PROVIDER, model=RULES)
        await self._keeper.append(said, *results)

    @asynccontextmanager
    async def session(
        self, agent: str, question: UserMessage, request_id: UUID, keeper: Keeper
    ) -> AsyncIterator[dict[str, str]]:
        """Tell of the request as a session does; its answer is put into `text` meanwhile.

        Question, calls and answer are kept in the conversation of `keeper`.
        """
        conversation = keeper.conversation
        self._keeper, self._turn = keeper, conversation.next_turn()
        self._request_id, session_id = request_id, conversation.id
        started = self._clock.monotonic()
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
                user_text=question.text,
                model=RULES,
                provider=PROVIDER,
                tools=self._registry.names(),
                agent=agent,
                labels=(ANALYST_LABEL,),
            )
        )
        await keeper.append(question, request_id=request_id)
        asked = conversation.entries[-1]
        try:
            yield answer
        except TreadleError as error:
            await keeper.end_turn(asked, StopReason.FAILED)
            await self._bus.publish(
                SessionFailed(message=error.message, hint=error.hint, **spent())
            )
            raise
        except BaseException:
            await keeper.end_turn(asked, StopReason.CANCELLED)
            await self._bus.publish(SessionCancelled(**spent()))
            raise
        await keeper.append(AssistantMessage(answer["text"], provider=PROVIDER, model=RULES))
        await keeper.end_turn(asked, StopReason.COMPLETED)
        await self._bus.publish(
            SessionFinished(
                text=answer["text"],
                stop_reason=StopReason.COMPLETED,
                tool_calls=self.made,
                **spent(),
            )
        )
