"""Short constructors for spans of small traces, and a store with spans."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from treadle.diagnosis.evidence import SpanReference
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.traces import TraceStore

BEGIN = 1_790_000_000_000_000
MS = 1_000


def span(
    span_id: str,
    parent_id: str | None = None,
    *,
    at: int = 0,
    ms: int | None = 10,
    kind: SpanKind = SpanKind.OTHER,
    name: str = "step",
    trace_id: str = "t1",
    status: SpanStatus = SpanStatus.OK,
    **rest: Any,
) -> Span:
    """A span that begins `at` milliseconds after the beginning and takes `ms`."""
    start = BEGIN + at * MS
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id,
        kind=kind,
        operation=kind.value,
        name=name,
        start_us=start,
        end_us=None if ms is None else start + ms * MS,
        status=SpanStatus.UNFINISHED if ms is None else status,
        **rest,
    )


def tool(
    span_id: str,
    result: object,
    *,
    tool_name: str = "get_order",
    arguments: object = None,
    parent_id: str | None = "run",
    **rest: Any,
) -> Span:
    """A tool call. A result that is not text is written as JSON."""
    return span(
        span_id,
        parent_id,
        kind=SpanKind.TOOL,
        name=f"execute_tool {tool_name}",
        attributes={"gen_ai.tool.name": tool_name},
        input=json.dumps(arguments if arguments is not None else {"order_id": span_id}),
        output=result if isinstance(result, str) or result is None else json.dumps(result),
        **rest,
    )


def model(
    span_id: str,
    *,
    instructions: str = "Be brief.",
    model_name: str = "large",
    tokens: Usage | None = None,
    cost: float | None = 0.01,
    parent_id: str | None = "run",
    **rest: Any,
) -> Span:
    """A model call with instructions and one question."""
    messages = [
        {"role": "system", "content": instructions},
        {"role": "user", "content": f"Question {span_id}?"},
    ]
    return span(
        span_id,
        parent_id,
        kind=SpanKind.MODEL,
        name=f"chat {model_name}",
        model=model_name,
        tokens=tokens or Usage(1_000, 50, 0),
        cost=cost,
        input=json.dumps(messages),
        output=json.dumps([{"role": "assistant", "content": "An answer."}]),
        **rest,
    )


def run(ms: int | None = 10_000, **rest: Any) -> Span:
    """The root of a trace."""
    return span("run", kind=SpanKind.RUN, name="answer", ms=ms, **rest)


def stored(folder: Path, spans: Sequence[Span]) -> closing[TraceStore]:
    """A store with these spans, which closes at the end of the context."""
    store = TraceStore.open(folder / "traces.db")
    store.write(spans).result()
    return closing(store)


def named(span_id: str, trace_id: str = "t1") -> SpanReference:
    return SpanReference(trace_id, span_id)
