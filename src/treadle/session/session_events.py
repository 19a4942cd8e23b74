"""Publishes the events of a request session and of its model requests."""

import json
from collections.abc import Awaitable
from typing import Protocol
from uuid import UUID

from treadle.clock import Clock
from treadle.errors import TreadleError
from treadle.events import EventBus
from treadle.events.types import (
    Event,
    FallbackApplied,
    HistoryCompacted,
    InstructionsLoaded,
    MessageQueued,
    MessageSteered,
    ModelDelta,
    ModelRequestFinished,
    ModelRequestStarted,
    ModelWaiting,
    Notice,
    PlanChanged,
    PlanStep,
    PromptConstructed,
    Purpose,
    RetryScheduled,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    StopReason,
    Usage,
)
from treadle.instructions.model import Instructions
from treadle.llm.chat_model import AttemptFinished, AttemptStarted, ChatModel
from treadle.llm.messages import AssistantMessage
from treadle.secrets import redact
from treadle.session.conversation_writer import ReplyDraft
from treadle.session.history import Prompt
from treadle.session.instructions import reported_files
from treadle.session.limits import UsageTotal
from treadle.session.role import Role


class SessionReporter:
    """Publishes the events of one request session. The last event contains the usage in `tally`."""

    def __init__(
        self, bus: EventBus, request_id: UUID, session_id: UUID, tally: UsageTotal, clock: Clock
    ) -> None:
        self._bus = bus
        self._request_id = request_id
        self._session_id = session_id
        self._tally = tally
        self._clock = clock
        self._started = clock.monotonic()

    async def started(
        self, user_text: str, model: ChatModel, tools: tuple[str, ...], role: Role
    ) -> None:
        self._started = self._clock.monotonic()
        await self._bus.publish(
            SessionStarted(
                request_id=self._request_id,
                parent_id=role.parent_id,
                session_id=self._session_id,
                user_text=user_text,
                model=model.model,
                provider=model.provider,
                tools=tools,
                agent=role.name,
                labels=role.labels,
                parent_key=role.parent_key,
            )
        )

    async def finished(self, text: str, reason: StopReason, tool_calls: int) -> None:
        await self._bus.publish(
            SessionFinished(
                request_id=self._request_id,
                session_id=self._session_id,
                text=text,
                stop_reason=reason,
                usage=self.usage,
                cost=self._tally.cost,
                tool_calls=tool_calls,
                duration=self._duration,
            )
        )

    async def cancelled(self) -> None:
        await self._bus.publish(
            SessionCancelled(
                request_id=self._request_id,
                session_id=self._session_id,
                usage=self.usage,
                cost=self._tally.cost,
                duration=self._duration,
            )
        )

    async def failed(self, error: Exception) -> None:
        if isinstance(error, TreadleError):
            message, hint = error.message, error.hint
        else:
            message, hint = redact(f"Unexpected {type(error).__name__}: {error}"), None
        await self._bus.publish(
            SessionFailed(
                request_id=self._request_id,
                session_id=self._session_id,
                message=message,
                hint=hint,
                usage=self.usage,
                cost=self._tally.cost,
                duration=self._duration,
            )
        )

    async def prompt(self, prompt: Prompt, turn: int) -> None:
        await self._bus.publish(
            PromptConstructed(
                request_id=self._request_id,
                parent_id=self._request_id,
                turn=turn,
                messages=len(prompt.messages),
                estimated_tokens=prompt.estimated_tokens,
                budget_tokens=prompt.budget_tokens,
                left_out=prompt.left_out,
                reason=prompt.reason,
                context_window=prompt.context_window,
                calibration=prompt.scale,
                tool_tokens=prompt.tool_tokens,
            )
        )

    async def instructions(self, loaded: Instructions) -> None:
        await self._bus.publish(
            InstructionsLoaded(
                request_id=self._request_id,
                parent_id=self._request_id,
                files=reported_files(loaded),
                tokens=loaded.tokens,
                budget=loaded.budget,
            )
        )

    async def compacted(self, messages: int, before: int, after: int, duration: float) -> None:
        await self._bus.publish(
            HistoryCompacted(
                request_id=self._request_id,
                parent_id=self._request_id,
                messages=messages,
                tokens_before=before,
                tokens_after=after,
                duration=duration,
            )
        )

    async def plan(self, steps: tuple[PlanStep, ...]) -> None:
        await self._bus.publish(
            PlanChanged(
                request_id=self._request_id,
                parent_id=self._request_id,
                session_id=self._session_id,
                steps=steps,
            )
        )

    async def steering(self, text: str, *, received: bool) -> None:
        kind = MessageSteered if received else MessageQueued
        extra = {} if received else {"steers": True}
        await self._bus.publish(
            kind(request_id=self._request_id, parent_id=self._request_id, text=text, **extra)
        )

    async def notice(self, level: str, text: str) -> None:
        await self._bus.publish(
            Notice(request_id=self._request_id, parent_id=self._request_id, level=level, text=text)
        )

    @property
    def usage(self) -> Usage:
        """The usage of all model requests so far."""
        return self._tally.usage or Usage()

    @property
    def _duration(self) -> float:
        return self._clock.monotonic() - self._started


class EventPublisher(Protocol):
    """A publisher of events: the bus, or the context of a running tool."""

    def publish(self, event: Event, /) -> Awaitable[None]: ...


class ReplyObserver:
    """Publishes the events of the requests for one reply. `turn` is the number of the reply.

    Streamed text is added to `draft`. If `draft` is None, the text is not shown. The purpose of the
    request is then a summary, unless `purpose` states another. `operation_id` is the id of the
    newest attempt. `offered` is the number of tools that the newest attempt offered.
    """

    def __init__(
        self,
        bus: EventPublisher,
        request_id: UUID,
        turn: int,
        model: ChatModel,
        *,
        estimated_tokens: int,
        draft: ReplyDraft | None,
        purpose: Purpose | None = None,
    ) -> None:
        self._bus = bus
        self._request_id = request_id
        self._turn = turn
        self._model = model
        self._estimated_tokens = estimated_tokens
        self._draft = draft
        self._purpose = purpose or (Purpose.REPLY if draft else Purpose.SUMMARY)
        self.operation_id: UUID | None = None
        self.offered = 0

    async def attempt_started(self, attempt: AttemptStarted) -> None:
        self.operation_id = attempt.operation_id
        self.offered = attempt.tools
        await self._bus.publish(
            ModelRequestStarted(
                request_id=self._request_id,
                parent_id=self._request_id,
                operation_id=attempt.operation_id,
                turn=self._turn,
                attempt=attempt.attempt,
                model=self._model.model,
                provider=self._model.provider,
                messages=attempt.messages,
                tools=attempt.tools,
                purpose=self._purpose,
                estimated_tokens=self._estimated_tokens,
                input_text=attempt.input_text,
            )
        )

    async def attempt_finished(self, attempt: AttemptFinished) -> None:
        reply = attempt.reply
        await self._bus.publish(
            ModelRequestFinished(
                request_id=self._request_id,
                parent_id=self._request_id,
                operation_id=attempt.operation_id,
                turn=self._turn,
                attempt=attempt.attempt,
                model=self._model.model,
                provider=self._model.provider,
                usage=reply.usage if reply else Usage(),
                cost=reply.cost if reply else None,
                time_to_first_token=reply.time_to_first_token if reply else None,
                duration=attempt.duration,
                finish_reason=reply.finish_reason if reply else None,
                error=attempt.error,
                output_text=_output_text(reply.message) if reply else None,
            )
        )

    async def delta(self, text: str, *, reasoning: bool = False) -> None:
        if self._draft is None:
            return
        if not reasoning:
            await self._draft.add_text(text)
        await self._bus.publish(
            ModelDelta(
                request_id=self._request_id,
                parent_id=self.operation_id,
                turn=self._turn,
                text=text,
                reasoning=reasoning,
            )
        )

    async def retry_scheduled(self, attempt: int, delay: float, reason: str) -> None:
        await self._bus.publish(
            RetryScheduled(
                request_id=self._request_id,
                parent_id=self._request_id,
                attempt=attempt,
                delay=delay,
                reason=reason,
            )
        )

    async def fallback_applied(self, reason: str, change: str) -> None:
        await self._bus.publish(
            FallbackApplied(
                request_id=self._request_id,
                parent_id=self._request_id,
                reason=reason,
                change=change,
            )
        )

    async def waiting(self, seconds: float, text: str) -> None:
        await self._bus.publish(
            ModelWaiting(
                request_id=self._request_id,
                parent_id=self._request_id,
                seconds=seconds,
                text=text,
            )
        )

    async def notice(self, level: str, text: str) -> None:
        await self._bus.publish(
            Notice(request_id=self._request_id, parent_id=self._request_id, level=level, text=text)
        )


def _output_text(message: AssistantMessage) -> str:
    """Return the reply as JSON, with secrets redacted.

    Arguments stay the text that the model wrote.
    """
    reply: dict[str, object] = {"text": message.text}
    if message.reasoning:
        reply["reasoning"] = message.reasoning
    if message.calls:
        reply["tool_calls"] = [
            {"id": call.call_id, "name": call.name, "arguments": call.arguments}
            for call in message.calls
        ]
    return redact(json.dumps(reply, ensure_ascii=False))
