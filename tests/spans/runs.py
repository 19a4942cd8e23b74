"""The events of a whole run, and a builder of small spans, for tests."""

from uuid import UUID

from treadle.events.types import (
    CallKey,
    Event,
    ModelRequestFinished,
    ModelRequestStarted,
    PromptConstructed,
    RetrievalFinished,
    RetryScheduled,
    SessionFinished,
    SessionStarted,
    SourceRange,
    StopReason,
    ToolCallCompleted,
    ToolCallRequested,
    ToolView,
    Usage,
)
from treadle.spans.span import Span, SpanKind, SpanStatus

REQUEST = UUID("01930000-0000-7000-8000-000000000001")
SESSION = UUID("01930000-0000-7000-8000-0000000000aa")
FAILED, FIRST, SECOND = (UUID(int=REQUEST.int + 16 * step) for step in (1, 2, 3))
KEY = CallKey(0, 0)
QUESTION = "How are tool calls matched?"
ANSWER = "By the key of turn and slot."


def run_events(*, started_us: int, request: UUID = REQUEST, secret: str = "") -> list[Event]:
    """One question: a failed attempt, a retry, a tool call with a retrieval, the answer."""
    return [
        SessionStarted(
            request_id=request,
            session_id=SESSION,
            user_text=f"{QUESTION}{secret}",
            model="small",
            provider="local",
            tools=("request_code_context",),
        ),
        PromptConstructed(
            request_id=request, turn=0, messages=2, estimated_tokens=300, budget_tokens=4000
        ),
        model_started(request, FAILED, 1, turn=0, secret=secret),
        ModelRequestFinished(
            request_id=request,
            operation_id=FAILED,
            turn=0,
            attempt=1,
            model="small",
            provider="local",
            usage=Usage(),
            cost=None,
            time_to_first_token=None,
            duration=0.1,
            error=f"503 busy{secret}",
        ),
        RetryScheduled(
            request_id=request, parent_id=request, attempt=2, delay=0.5, reason=f"503{secret}"
        ),
        model_started(request, FIRST, 2, turn=0, secret=secret),
        model_finished(
            request,
            FIRST,
            2,
            turn=0,
            reason="tool_calls",
            output='{"text": null, "tool_calls": [{"id": "c1", "name": "request_code_context", '
            f'"arguments": "{{}}{secret}"}}]}}',
        ),
        ToolCallRequested(
            request_id=request,
            parent_id=FIRST,
            key=KEY,
            call_id="c1",
            vendor="local",
            name="request_code_context",
            arguments=f'{{"token_budget": 4000, "hint": "calls{secret}"}}',
        ),
        RetrievalFinished(
            request_id=request,
            key=KEY,
            query=f"calls{secret}",
            top_k=10,
            sources=(SourceRange("src/bus.py", 120, 160, "EventBus.publish"),),
            omitted=2,
            tokens=3900,
            budget=4000,
            index_files=120,
            index_items=3400,
            started_us=started_us,
            duration=0.03,
        ),
        ToolCallCompleted(
            request_id=request,
            parent_id=FIRST,
            key=KEY,
            call_id="c1",
            content=f'{{"ok": true, "context": []}}{secret}',
            ui=ToolView(summary=f"1 item{secret}"),
            duration=0.04,
        ),
        model_started(request, SECOND, 1, turn=1, secret=secret),
        model_finished(
            request, SECOND, 1, turn=1, reason="stop", output=f'{{"text": "{ANSWER}{secret}"}}'
        ),
        SessionFinished(
            request_id=request,
            session_id=SESSION,
            text=f"{ANSWER}{secret}",
            stop_reason=StopReason.COMPLETED,
            usage=Usage(input=200, output=20),
            cost=0.002,
            tool_calls=1,
            duration=2.0,
        ),
    ]


def model_started(
    request: UUID, operation: UUID, attempt: int, *, turn: int, secret: str = ""
) -> ModelRequestStarted:
    return ModelRequestStarted(
        request_id=request,
        parent_id=request,
        operation_id=operation,
        turn=turn,
        attempt=attempt,
        model="small",
        provider="local",
        messages=2,
        tools=1,
        input_text=f'[{{"role": "user", "content": "{QUESTION}{secret}"}}]',
    )


def model_finished(
    request: UUID, operation: UUID, attempt: int, *, turn: int, reason: str, output: str
) -> ModelRequestFinished:
    return ModelRequestFinished(
        request_id=request,
        parent_id=request,
        operation_id=operation,
        turn=turn,
        attempt=attempt,
        model="small",
        provider="local",
        usage=Usage(input=100, output=10, cached=40),
        cost=0.001,
        time_to_first_token=0.25,
        duration=1.0,
        finish_reason=reason,
        output_text=output,
    )


def span(
    span_id: str,
    parent_id: str | None = None,
    *,
    trace_id: str = "trace",
    start_us: int = 1_000,
    end_us: int | None = 2_000,
    kind: SpanKind = SpanKind.OTHER,
) -> Span:
    """A small span; unfinished when `end_us` is None."""
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id,
        kind=kind,
        operation="work",
        name=f"work {span_id}",
        start_us=start_us,
        end_us=end_us,
        status=SpanStatus.OK if end_us is not None else SpanStatus.UNFINISHED,
    )
