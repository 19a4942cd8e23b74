"""Spans for the tests of detectors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from treadle.diagnosis.detectors import Finding, detect
from treadle.diagnosis.evidence import holds
from treadle.spans.span import JsonValue, Span, SpanKind, SpanStatus

Message = dict[str, Any]


def tool(result: str | None, *, name: str = "get_weather", arguments: str = "{}") -> Span:
    """A tool call with status ok."""
    return Span(
        trace_id="t",
        span_id="tool",
        kind=SpanKind.TOOL,
        operation="execute_tool",
        name=f"execute_tool {name}",
        start_us=1_000,
        end_us=2_000,
        status=SpanStatus.OK,
        input=arguments,
        output=result,
    )


def model(
    request: Sequence[Message],
    reply: Sequence[Message] | None = None,
    *,
    attributes: Mapping[str, JsonValue] | None = None,
) -> Span:
    """A model call with these messages."""
    answer = [{"role": "assistant", "content": "Fine."}] if reply is None else list(reply)
    return Span(
        trace_id="t",
        span_id="model",
        kind=SpanKind.MODEL,
        operation="chat",
        name="chat m",
        start_us=1_000,
        end_us=2_000,
        status=SpanStatus.OK,
        attributes=attributes or {},
        input=json.dumps(request),
        output=json.dumps(answer),
    )


def other(kind: SpanKind = SpanKind.OTHER, **changes: Any) -> Span:
    """A span of another kind."""
    plain = replace(tool(None), kind=kind, operation=kind.value, name=kind.value, input=None)
    return replace(plain, **changes)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(*named: tuple[str, str], ids: Sequence[str] | None = None) -> Message:
    """A reply that calls tools, by name and arguments."""
    ids = ids or [f"call-{number}" for number in range(len(named))]
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": one, "type": "function", "function": {"name": name, "arguments": arguments}}
            for one, (name, arguments) in zip(ids, named, strict=True)
        ],
    }


def result(content: str, call_id: str = "call-0") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def only(*spans: Span) -> Finding:
    """The only finding of `spans`, with a verified quote."""
    (found,) = detect(spans)
    assert any(holds(found.evidence, span) for span in spans)
    return found
