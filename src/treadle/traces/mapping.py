"""Events into spans: the pure part of the recorder. Every text is redacted before anything else."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from hashlib import blake2b
from typing import TypeVar, cast
from uuid import UUID

from treadle.events import Envelope
from treadle.events.types import (
    CallKey,
    ErrorKind,
    Event,
    FallbackApplied,
    ModelRequestFinished,
    ModelRequestStarted,
    Notice,
    PromptConstructed,
    RetrievalFinished,
    RetryScheduled,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    StopReason,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolCallRequested,
    ToolFailure,
)
from treadle.secrets import redact
from treadle.traces.span import Attributes, JsonValue, Span, SpanEvent, SpanKind, SpanStatus

RECORDED: tuple[type[Event], ...] = (
    SessionStarted,
    PromptConstructed,
    ModelRequestStarted,
    ModelRequestFinished,
    RetryScheduled,
    FallbackApplied,
    Notice,
    ToolCallRequested,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    RetrievalFinished,
    SessionFinished,
    SessionFailed,
    SessionCancelled,
)
"""The events that leave a mark in a trace."""

_ENDED_RUNS_KEPT = 32
"""Runs that stay in memory after their end, for results that come late."""

T = TypeVar("T")
_Attempt = tuple[UUID, int]


class SpanMapper:
    """Follows the events of any number of runs and gives the spans that each event changes."""

    def __init__(self) -> None:
        self._runs: dict[UUID, _Run] = {}

    def apply(self, envelope: Envelope) -> list[Span]:
        """New versions of the spans that the event begins, changes or ends."""
        event = _redacted(envelope.event)
        run = self._runs.get(event.request_id)
        if run is None:
            run = self._runs[event.request_id] = _Run(event.request_id)
        changed = run.apply(envelope.at_us, event)
        if run.ended:
            self._forget_old_runs()
        return changed

    def _forget_old_runs(self) -> None:
        ended = [request_id for request_id, run in self._runs.items() if run.ended]
        for request_id in ended[:-_ENDED_RUNS_KEPT]:
            del self._runs[request_id]


class _Run:
    """The spans of one request session so far."""

    def __init__(self, request_id: UUID) -> None:
        # Calls outside a session announce no end, so only a session's start makes it open.
        self.ended = True
        self._trace_id = request_id.hex
        self._run_id = str(request_id)
        self._thread_id: str | None = None
        self._root: Span | None = None
        self._attempts: dict[_Attempt, Span] = {}
        self._operations: dict[UUID, str] = {}
        self._calls: dict[CallKey, Span] = {}
        self._retrievals = 0

    def apply(self, at_us: int, event: Event) -> list[Span]:
        match event:
            case SessionStarted():
                changed = self._start(at_us, event)
            case ModelRequestStarted():
                changed = self._start_attempt(at_us, event)
            case ModelRequestFinished():
                changed = self._finish_attempt(at_us, event)
            case ToolCallRequested():
                changed = self._start_call(at_us, event)
            case ToolCallCompleted():
                changed = self._complete_call(at_us, event)
            case ToolCallFailed():
                changed = self._fail_call(at_us, event)
            case ToolCallLate():
                changed = self._note_late(at_us, event)
            case RetrievalFinished():
                changed = self._retrieval(event)
            case SessionFinished() | SessionFailed() | SessionCancelled():
                changed = self._end(at_us, event)
            case _:
                changed = self._note(at_us, event)
        return changed

    def _span(
        self,
        *identity: object,
        parent_id: str | None,
        kind: SpanKind,
        operation: str,
        subject: str,
        start_us: int,
        attributes: Attributes,
    ) -> Span:
        return Span(
            trace_id=self._trace_id,
            span_id=_span_id(self._run_id, *identity),
            parent_id=parent_id,
            kind=kind,
            operation=operation,
            name=f"{operation} {subject}",
            start_us=start_us,
            thread_id=self._thread_id,
            run_id=self._run_id,
            attributes=attributes,
        )

    def _parent(self, parent_id: UUID | None) -> str | None:
        """The span of the operation with that id, else the root."""
        operation = self._operations.get(parent_id) if parent_id else None
        return operation or (self._root.span_id if self._root else None)

    def _start(self, at_us: int, event: SessionStarted) -> list[Span]:
        self.ended = False
        self._thread_id = str(event.session_id)
        attributes: dict[str, JsonValue] = {
            "gen_ai.agent.name": "treadle",
            "treadle.tools": list(event.tools),
        }
        if event.parent_id is not None:
            attributes["treadle.parent_id"] = str(event.parent_id)
        root = self._span(
            "run",
            parent_id=None,
            kind=SpanKind.RUN,
            operation="invoke_agent",
            subject="treadle",
            start_us=at_us,
            attributes=attributes,
        )
        self._root = replace(
            root, model=event.model, provider=event.provider, input=event.user_text
        )
        return [self._root]

    def _end(
        self, at_us: int, event: SessionFinished | SessionFailed | SessionCancelled
    ) -> list[Span]:
        self.ended = True
        if self._root is None:
            return []
        output, error, reason = None, None, StopReason.CANCELLED
        extra: dict[str, JsonValue] = {}
        if isinstance(event, SessionFinished):
            output, reason = event.text, event.stop_reason
            extra = {"treadle.tool_calls": event.tool_calls}
        elif isinstance(event, SessionFailed):
            error, reason = event.message, StopReason.FAILED
            extra = _known({"treadle.hint": event.hint})
        status = {
            StopReason.CANCELLED: SpanStatus.CANCELLED,
            StopReason.FAILED: SpanStatus.ERROR,
        }.get(reason, SpanStatus.OK)
        self._root = replace(
            self._root,
            end_us=at_us,
            status=status,
            error=error,
            output=output,
            attributes={**self._root.attributes, "treadle.stop_reason": reason.value, **extra},
        )
        return [self._root, *self._cancel_attempts(at_us, status)]

    def _cancel_attempts(self, at_us: int, status: SpanStatus) -> list[Span]:
        """End the attempts that the person's cancelling cut off: no event of theirs comes."""
        if status is not SpanStatus.CANCELLED:
            return []
        cut_off = [
            replace(attempt, end_us=at_us, status=status) for attempt in self._attempts.values()
        ]
        self._attempts.clear()
        return cut_off

    def _start_attempt(self, at_us: int, event: ModelRequestStarted) -> list[Span]:
        span = self._span(
            "model",
            event.operation_id,
            event.attempt,
            parent_id=self._parent(event.parent_id),
            kind=SpanKind.MODEL,
            operation="chat",
            subject=event.model,
            start_us=at_us,
            attributes={
                "treadle.operation_id": str(event.operation_id),
                "treadle.turn": event.turn,
                "treadle.attempt": event.attempt,
                "treadle.messages": event.messages,
                "treadle.tools_offered": event.tools,
            },
        )
        span = replace(span, model=event.model, provider=event.provider, input=event.input_text)
        self._attempts[event.operation_id, event.attempt] = span
        self._operations[event.operation_id] = span.span_id
        return [span]

    def _finish_attempt(self, at_us: int, event: ModelRequestFinished) -> list[Span]:
        started = self._attempts.pop((event.operation_id, event.attempt), None)
        if started is None:
            return []
        attributes = dict(started.attributes)
        if event.finish_reason is not None:
            attributes["gen_ai.response.finish_reasons"] = [event.finish_reason]
        first = event.time_to_first_token
        return [
            replace(
                started,
                end_us=at_us,
                status=SpanStatus.OK if event.error is None else SpanStatus.ERROR,
                error=event.error,
                tokens=event.usage,
                cost=event.cost,
                time_to_first_token_us=None if first is None else _microseconds(first),
                output=event.output_text,
                attributes=attributes,
            )
        ]

    def _start_call(self, at_us: int, event: ToolCallRequested) -> list[Span]:
        span = self._span(
            "tool",
            event.key.turn,
            event.key.slot,
            parent_id=self._parent(event.parent_id),
            kind=SpanKind.TOOL,
            operation="execute_tool",
            subject=event.name,
            start_us=at_us,
            attributes={
                "gen_ai.tool.name": event.name,
                "gen_ai.tool.call.id": event.call_id,
                "treadle.turn": event.key.turn,
                "treadle.slot": event.key.slot,
                "treadle.vendor": event.vendor,
            },
        )
        self._calls[event.key] = replace(span, input=event.arguments)
        return [self._calls[event.key]]

    def _complete_call(self, at_us: int, event: ToolCallCompleted) -> list[Span]:
        return self._change_call(
            event.key,
            lambda call: replace(
                call,
                end_us=at_us,
                status=SpanStatus.OK,
                output=event.content,
                attributes={**call.attributes, "treadle.summary": event.ui.summary},
            ),
        )

    def _fail_call(self, at_us: int, event: ToolCallFailed) -> list[Span]:
        cancelled = event.error.kind is ErrorKind.CANCELLED
        return self._change_call(
            event.key,
            lambda call: replace(
                call,
                end_us=at_us,
                status=SpanStatus.CANCELLED if cancelled else SpanStatus.ERROR,
                error=event.error.message,
                attributes={**call.attributes, **_failure(event.error)},
            ),
        )

    def _note_late(self, at_us: int, event: ToolCallLate) -> list[Span]:
        late = SpanEvent(at_us, "late_result", {"outcome": event.outcome})
        return self._change_call(event.key, lambda call: replace(call, events=(*call.events, late)))

    def _change_call(self, key: CallKey, change: Callable[[Span], Span]) -> list[Span]:
        call = self._calls.get(key)
        if call is None:
            return []
        self._calls[key] = change(call)
        return [self._calls[key]]

    def _retrieval(self, event: RetrievalFinished) -> list[Span]:
        self._retrievals += 1
        call = self._calls.get(event.key) if event.key else None
        span = self._span(
            "retrieval",
            self._retrievals,
            parent_id=call.span_id if call else self._parent(event.parent_id),
            kind=SpanKind.RETRIEVAL,
            operation="retrieval",
            subject="code",
            start_us=event.started_us,
            attributes={
                "treadle.retrieval.top_k": event.top_k,
                "treadle.retrieval.sources": [
                    {item.name: getattr(source, item.name) for item in fields(source)}
                    for source in event.sources
                ],
                "treadle.retrieval.omitted": event.omitted,
                "treadle.retrieval.tokens": event.tokens,
                "treadle.retrieval.budget": event.budget,
                "treadle.index.files": event.index_files,
                "treadle.index.items": event.index_items,
            },
        )
        return [
            replace(
                span,
                end_us=event.started_us + _microseconds(event.duration),
                status=SpanStatus.OK,
                input=event.query,
            )
        ]

    def _note(self, at_us: int, event: Event) -> list[Span]:
        if self._root is None:
            return []
        match event:
            case PromptConstructed():
                name = "prompt"
            case RetryScheduled():
                name = "retry"
            case FallbackApplied():
                name = "fallback"
            case _:
                name = "notice"
        own = [item.name for item in fields(event) if item.name not in {"request_id", "parent_id"}]
        attributes = _known({name: getattr(event, name) for name in own})
        note = SpanEvent(at_us, name, attributes)
        self._root = replace(self._root, events=(*self._root.events, note))
        return [self._root]


def _span_id(*identity: object) -> str:
    """16 hexadecimal digits, the same at every replay of the same events."""
    return blake2b("/".join(map(str, identity)).encode(), digest_size=8).hexdigest()


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)


def _known(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in values.items() if value is not None}


def _failure(failure: ToolFailure) -> dict[str, JsonValue]:
    return _known(
        {
            "error.type": failure.kind.value,
            "treadle.error.field": failure.field,
            "treadle.error.expected": failure.expected,
            "treadle.error.received": failure.received,
            "treadle.error.hint": failure.hint,
            "treadle.error.effect": failure.effect.value,
        }
    )


def _redacted(value: T) -> T:
    """`value` with every text in it redacted, through tuples and dataclasses."""
    cleaned: object = value
    if isinstance(value, str) and not isinstance(value, Enum):
        cleaned = redact(value)
    elif isinstance(value, tuple):
        cleaned = tuple(_redacted(item) for item in value)
    elif is_dataclass(value) and not isinstance(value, type):
        cleaned = replace(
            value, **{item.name: _redacted(getattr(value, item.name)) for item in fields(value)}
        )
    return cast("T", cleaned)
