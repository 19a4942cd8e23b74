"""Maps events of the event bus to spans. Every text of an event is redacted first."""

from dataclasses import asdict, fields, is_dataclass, replace
from enum import Enum
from typing import TypeVar, cast
from uuid import UUID

from treadle.events import Envelope
from treadle.events.types import (
    CallKey,
    Event,
    FallbackApplied,
    HistoryCompacted,
    InstructionsLoaded,
    MessageSteered,
    ModelRequestFinished,
    ModelRequestStarted,
    Notice,
    PlanChanged,
    PromptConstructed,
    RetryScheduled,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    StopReason,
)
from treadle.secrets import redact
from treadle.spans.call_spans import CALL_EVENTS, CallSpans
from treadle.spans.span import (
    NO_ATTRIBUTES,
    Attributes,
    JsonValue,
    Span,
    SpanEvent,
    SpanKind,
    SpanStatus,
)
from treadle.spans.span_builder import SpanBuilder, known, microseconds

RECORDED: tuple[type[Event], ...] = (
    SessionStarted,
    PromptConstructed,
    ModelRequestStarted,
    ModelRequestFinished,
    RetryScheduled,
    FallbackApplied,
    Notice,
    HistoryCompacted,
    InstructionsLoaded,
    MessageSteered,
    *CALL_EVENTS,
    SessionFinished,
    SessionFailed,
    SessionCancelled,
)
"""The events that change a trace."""

_ENDED_RUNS_KEPT = 32
"""The number of ended runs that stay in memory, so that late results find their run."""

_INTERRUPTED = "cancelled"
"""The `error` of an attempt of a model request, if Treadle cancelled the attempt."""

_ATTEMPT_ENDS = {None: SpanStatus.OK, _INTERRUPTED: SpanStatus.CANCELLED}

T = TypeVar("T")
_Attempt = tuple[UUID, int]


class EventMapper:
    """Tracks the events of any number of runs, and returns the spans that each event changes."""

    def __init__(self, labels: tuple[str, ...] = (), resource: Attributes = NO_ATTRIBUTES) -> None:
        """Create a mapper that adds `labels` and `resource` to every span."""
        self._labels = labels
        self._resource = resource
        self._runs: dict[UUID, _Run] = {}

    def apply(self, envelope: Envelope) -> list[Span]:
        """Return new versions of the spans that the event starts, changes or ends."""
        event = _redacted(envelope.event)
        run = self._runs.get(event.request_id)
        if run is None:
            builder = SpanBuilder(
                event.request_id,
                within=self._containing_call(event),
                labels=self._labels,
                resource=self._resource,
            )
            run = _Run(builder)
            self._runs[event.request_id] = run
        changed = run.apply(envelope.at_us, event)
        if run.ended:
            self._forget_old_runs()
        return changed

    def _containing_call(self, event: Event) -> Span | None:
        """Return the tool call of another session that started this session, or None."""
        if not isinstance(event, SessionStarted) or event.parent_key is None:
            return None
        outer = self._runs.get(event.parent_id) if event.parent_id else None
        return outer.call(event.parent_key) if outer else None

    def _forget_old_runs(self) -> None:
        ended = [request_id for request_id, run in self._runs.items() if run.ended]
        for request_id in ended[:-_ENDED_RUNS_KEPT]:
            del self._runs[request_id]


class _Run:
    """The spans of one request so far."""

    def __init__(self, builder: SpanBuilder) -> None:
        # A run counts as ended until a session starts. Calls outside of sessions have no end event,
        # so their run would otherwise stay in memory.
        self.ended = True
        self._builder = builder
        self._within = builder.within
        self._root: Span | None = None
        self._attempts: dict[_Attempt, Span] = {}
        self._calls = CallSpans(self._builder)

    def call(self, key: CallKey) -> Span | None:
        """Return the span of a tool call of this run, or None if the call is unknown."""
        return self._calls.span(key)

    def apply(self, at_us: int, event: Event) -> list[Span]:
        if isinstance(event, CALL_EVENTS):
            return self._calls.apply(at_us, event)
        match event:
            case SessionStarted():
                changed = self._start(at_us, event)
            case ModelRequestStarted():
                changed = self._start_attempt(at_us, event)
            case ModelRequestFinished():
                changed = self._finish_attempt(at_us, event)
            case SessionFinished() | SessionFailed() | SessionCancelled():
                changed = self._end(at_us, event)
            case _:
                changed = self._note(at_us, event)
        return changed

    def _start(self, at_us: int, event: SessionStarted) -> list[Span]:
        self.ended = False
        if self._within is None:
            self._builder.thread_id = str(event.session_id)
        self._builder.labels = tuple(sorted({*self._builder.labels, *event.labels}))
        attributes: dict[str, JsonValue] = {
            "gen_ai.agent.name": event.agent,
            "treadle.tools": list(event.tools),
        }
        if event.parent_id is not None:
            attributes["treadle.parent_id"] = str(event.parent_id)
        root = self._builder.span(
            "run",
            parent_id=self._within.span_id if self._within else None,
            kind=SpanKind.RUN,
            operation="invoke_agent",
            subject=event.agent,
            start_us=at_us,
            attributes=attributes,
        )
        self._root = replace(
            root, model=event.model, provider=event.provider, input=event.user_text
        )
        self._builder.root_id = self._root.span_id
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
            extra = known({"treadle.hint": event.hint})
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
        """End the attempts that a cancellation interrupted, since no event reports their end."""
        if status is not SpanStatus.CANCELLED:
            return []
        cut_off = [
            replace(attempt, end_us=at_us, status=status) for attempt in self._attempts.values()
        ]
        self._attempts.clear()
        return cut_off

    def _start_attempt(self, at_us: int, event: ModelRequestStarted) -> list[Span]:
        span = self._builder.span(
            "model",
            event.operation_id,
            event.attempt,
            parent_id=self._builder.parent(event.parent_id),
            kind=SpanKind.MODEL,
            operation="chat",
            subject=event.model,
            start_us=at_us,
            attributes=known(
                {
                    "treadle.operation_id": str(event.operation_id),
                    "treadle.turn": event.turn,
                    "treadle.attempt": event.attempt,
                    "treadle.purpose": event.purpose.value,
                    "treadle.messages": event.messages,
                    "treadle.tools_offered": event.tools,
                    "treadle.estimated_tokens": event.estimated_tokens,
                }
            ),
        )
        span = replace(span, model=event.model, provider=event.provider, input=event.input_text)
        self._attempts[event.operation_id, event.attempt] = span
        self._builder.operations[event.operation_id] = span.span_id
        return [span]

    def _finish_attempt(self, at_us: int, event: ModelRequestFinished) -> list[Span]:
        started = self._attempts.pop((event.operation_id, event.attempt), None)
        if started is None:
            return []
        attributes = dict(started.attributes)
        if event.finish_reason is not None:
            attributes["gen_ai.response.finish_reasons"] = [event.finish_reason]
        estimated, counted = attributes.get("treadle.estimated_tokens"), event.usage.input
        if isinstance(estimated, int) and counted:
            attributes["treadle.estimate_error"] = round(estimated / counted - 1, 3)
        first = event.time_to_first_token
        return [
            replace(
                started,
                end_us=at_us,
                status=_ATTEMPT_ENDS.get(event.error, SpanStatus.ERROR),
                error=event.error if event.error != _INTERRUPTED else None,
                tokens=event.usage,
                cost=event.cost,
                time_to_first_token_us=None if first is None else microseconds(first),
                output=event.output_text,
                attributes=attributes,
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
            case HistoryCompacted():
                name = "compaction"
            case MessageSteered():
                name = "steering"
            case InstructionsLoaded():
                name = "instructions"
            case PlanChanged(steps=steps):
                lines = "\n".join(f"{step.id} {step.state}: {step.text}" for step in steps)
                return [self._with_event(SpanEvent(at_us, "plan", {"steps": lines}))]
            case _:
                name = "notice"
        own = [item.name for item in fields(event) if item.name not in {"request_id", "parent_id"}]
        attributes = known({name: _json(getattr(event, name)) for name in own})
        return [self._with_event(SpanEvent(at_us, name, attributes))]

    def _with_event(self, event: SpanEvent) -> Span:
        """Add an event to the root span."""
        assert self._root is not None
        self._root = replace(self._root, events=(*self._root.events, event))
        return self._root


def _json(value: JsonValue) -> JsonValue:
    """Return the value of a field of an event as JSON. A dataclass becomes a mapping."""
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return cast("JsonValue", asdict(value))
    return value


def _redacted(value: T) -> T:
    """Return `value` with all texts redacted, including texts in tuples and dataclasses."""
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
