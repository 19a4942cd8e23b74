"""The events of a session: its start and end, its prompts, and notices."""

from uuid import UUID

from treadle.clock import Clock
from treadle.errors import TreadleError
from treadle.events import EventBus
from treadle.events.types import (
    HistoryCompacted,
    MessageQueued,
    MessageSteered,
    Notice,
    PromptConstructed,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    StopReason,
    Usage,
)
from treadle.llm.chat_model import ChatModel
from treadle.secrets import redact
from treadle.session.history import Prompt
from treadle.session.role import Role
from treadle.session.tally import Tally


class Reporter:
    """Publishes the events of one request session, with the sums of `tally` at its end."""

    def __init__(
        self, bus: EventBus, request_id: UUID, session_id: UUID, tally: Tally, clock: Clock
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

    async def steering(self, text: str, *, taken: bool) -> None:
        kind = MessageSteered if taken else MessageQueued
        extra = {} if taken else {"steers": True}
        await self._bus.publish(
            kind(request_id=self._request_id, parent_id=self._request_id, text=text, **extra)
        )

    async def notice(self, level: str, text: str) -> None:
        await self._bus.publish(
            Notice(request_id=self._request_id, parent_id=self._request_id, level=level, text=text)
        )

    @property
    def usage(self) -> Usage:
        """The sum over all model requests so far."""
        return self._tally.usage or Usage()

    @property
    def _duration(self) -> float:
        return self._clock.monotonic() - self._started
