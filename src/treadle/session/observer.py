"""What happens while a model replies, published as events."""

import json
from collections.abc import Awaitable
from typing import Protocol
from uuid import UUID

from treadle.events.types import (
    Event,
    FallbackApplied,
    ModelDelta,
    ModelRequestFinished,
    ModelRequestStarted,
    ModelWaiting,
    Notice,
    Purpose,
    RetryScheduled,
    Usage,
)
from treadle.llm.chat_model import AttemptFinished, AttemptStarted, ChatModel
from treadle.llm.messages import AssistantMessage
from treadle.secrets import redact
from treadle.session.keeping import Draft


class Publisher(Protocol):
    """Where events go: the bus, or what a running tool knows of it."""

    def publish(self, event: Event, /) -> Awaitable[None]: ...


class ReplyObserver:
    """Implements `llm.port.ModelObserver` for one reply, the `turn` of a session.

    What streams of it grows in `draft`; without one it is shown to nobody, and it is a summary
    unless `purpose` says otherwise. `operation_id` is that of the attempt which is under way or
    was the last, `offered` how many tools it offered.
    """

    def __init__(
        self,
        bus: Publisher,
        request_id: UUID,
        turn: int,
        model: ChatModel,
        *,
        estimated_tokens: int,
        draft: Draft | None,
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
            await self._draft.grow(text)
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
    """The reply as JSON, with secrets redacted. Arguments stay the text that the model wrote."""
    reply: dict[str, object] = {"text": message.text}
    if message.reasoning:
        reply["reasoning"] = message.reasoning
    if message.calls:
        reply["tool_calls"] = [
            {"id": call.call_id, "name": call.name, "arguments": call.arguments}
            for call in message.calls
        ]
    return redact(json.dumps(reply, ensure_ascii=False))
