"""Recorded spans as experiments need them: the request that can be made again, and what came."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from treadle.errors import UsageError
from treadle.experiments.model import Outcome, ToolUse
from treadle.experiments.requests import patched, problems
from treadle.spans.span import Span, SpanKind, SpanStatus

_PARAMETERS = {
    "gen_ai.request.temperature": "temperature",
    "gen_ai.request.top_p": "top_p",
    "gen_ai.request.top_k": "top_k",
    "gen_ai.request.max_tokens": "max_tokens",
    "gen_ai.request.frequency_penalty": "frequency_penalty",
    "gen_ai.request.presence_penalty": "presence_penalty",
    "gen_ai.request.seed": "seed",
    "gen_ai.request.stop_sequences": "stop",
    "gen_ai.request.stream": "stream",
    "openai.request.service_tier": "service_tier",
}
"""Attributes of a recorded call that tell a parameter of its request."""

_VERBATIM = "treadle.request."
"""Begins the attributes in which the gateway keeps what OpenTelemetry has no name for."""

_NEWER = "max_completion_tokens"
_REDACTED = "[redacted:"
_OWN = "treadle.operation_id"
"""Attribute of the calls of our own sessions."""


class NotRunnableError(UsageError):
    """A span holds no chat request that could be made again; the message says why."""


def request_of(span: Span) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The request of a recorded model call, and what of it the record does not hold, in words.

    Raises NotRunnableError.
    """
    if span.kind is not SpanKind.MODEL:
        raise NotRunnableError(
            f"This span is not a model call; its kind is {span.kind.value}: {span.name}.",
            hint="Choose a span of the kind model.",
        )
    asked = span.attributes.get("gen_ai.request.model") or span.model  # the latter may be dated
    if not isinstance(asked, str):
        raise NotRunnableError("The record does not name the model.")
    messages = _messages(span)
    notes = []
    tools = _tools(span.attributes.get("gen_ai.tool.definitions"))
    offered = span.attributes.get("treadle.tools_offered")
    if not tools and isinstance(offered, int) and offered:
        notes.append(f"Tools were offered ({offered}); their definitions were not recorded.")
    if _OWN in span.attributes:
        notes.append("Its parameters, such as the temperature, were not recorded.")
    if _REDACTED in (span.input or ""):
        notes.append("Secrets in the messages were redacted when they were recorded.")
    document = patched({}, {
        "model": f"{span.provider}/{asked}" if span.provider else asked,
        "messages": messages,
        "parameters": _parameters(span.attributes),
        "tools": tools,
    })  # fmt: skip
    wrong = problems(document)
    if wrong:
        raise NotRunnableError(
            f"The recorded request is not a chat request: {wrong[0].field}: {wrong[0].message}"
        )
    return document, tuple(notes)


def outcome_of(spans: Sequence[Span]) -> Outcome | None:
    """What came of a call, of which these are the spans; None where none of them is its.

    A call that took several attempts is told by a span around them: it counts the tokens and the
    cost of all, and takes the time of all.
    """
    attempts = [span for span in spans if span.kind is SpanKind.MODEL]
    steps = [span for span in spans if span.operation == "gateway"]
    if not (attempts or steps):
        return None
    told = steps[0] if steps else attempts[-1]
    last = attempts[-1] if attempts else told
    content, calls = _reply(last.output)
    failed = told.status is not SpanStatus.OK
    charged = [span for span in attempts if _charged(span)]
    reasons = last.attributes.get("gen_ai.response.finish_reasons")
    return Outcome(
        trace_id=told.trace_id,
        span_id=told.span_id,
        content=content,
        tool_calls=calls,
        raw=last.output,
        model=last.model,
        finish_reason=str(reasons[0]) if isinstance(reasons, list | tuple) and reasons else None,
        input_tokens=_sum([span.tokens.input for span in charged]),
        output_tokens=_sum([span.tokens.output for span in charged]),
        cached_tokens=_sum([span.tokens.cached for span in charged]),
        cost=_sum([span.cost for span in charged]),
        duration_us=told.duration_us,
        ttft_us=last.time_to_first_token_us,
        error=(told.error or f"The call ended with status {told.status.value}.")
        if failed
        else None,
        error_type=_text(told.attributes.get("error.type")) if failed else None,
    )


def _charged(span: Span) -> bool:
    """Whether an attempt may have used anything up: a refused one did not."""
    return span.status is not SpanStatus.ERROR or span.tokens.input is not None


def _messages(span: Span) -> list[Any]:
    try:
        messages = json.loads(span.input or "")
    except (ValueError, RecursionError) as error:
        raise NotRunnableError(
            "Its messages were not recorded." if not span.input else "Its input is not valid JSON."
        ) from error
    if not isinstance(messages, list) or not messages:
        raise NotRunnableError("Its input is not a list of messages.")
    return messages


def _parameters(attributes: Mapping[str, Any]) -> dict[str, Any]:
    found = _invocation(attributes.get("llm.invocation_parameters"))
    found |= {
        name: attributes[key]
        for key, name in _PARAMETERS.items()
        if attributes.get(key) is not None
    }
    if attributes.get("openai.api.type") != "responses":  # those are named otherwise
        for key, value in attributes.items():
            if key.startswith(_VERBATIM):
                found[key.removeprefix(_VERBATIM)] = _structured(value)
    if _NEWER in found:  # which is kept beside the common name
        found.pop("max_tokens", None)
    found.pop("n", None)
    return found


def _invocation(value: object) -> dict[str, Any]:
    """The parameters as OpenInference tells them: one JSON text."""
    given = _structured(value)
    if not isinstance(given, Mapping):
        return {}
    placed = {"model", "messages", "tools", "functions", "stream"}
    return {name: each for name, each in given.items() if name not in placed and each is not None}


def _structured(value: object) -> Any:
    """A value that was kept as JSON text since an attribute holds no objects."""
    if not (isinstance(value, str) and value[:1] in {"{", "["}):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _tools(value: object) -> list[Any]:
    """Definitions of tools in the form of chat requests, whichever way they were told."""
    given = _structured(value)
    if not isinstance(given, Sequence) or isinstance(given, str):
        return []
    return [_tool(each) for each in given if isinstance(each, Mapping)]


def _tool(told: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(told.get("function"), Mapping):
        return dict(told)
    named = {name: value for name, value in told.items() if name != "type" and value is not None}
    return {"type": "function", "function": named}


def _reply(output: str | None) -> tuple[str | None, tuple[ToolUse, ...]]:
    """The text and the calls of a recorded reply, in whichever form it was kept."""
    if output is None:
        return None, ()
    try:
        told = json.loads(output)
    except (ValueError, RecursionError):
        return output, ()
    if isinstance(told, Mapping):
        told = [told]
    messages = (
        [each for each in told if isinstance(each, Mapping)] if isinstance(told, list) else []
    )
    if not any(each.keys() & {"content", "text", "tool_calls"} for each in messages):
        return output, ()
    texts = [text for each in messages if (text := _content(each))]
    calls = tuple(use for each in messages for use in _uses(each.get("tool_calls")))
    return "\n".join(texts) if texts else None, calls


def _content(message: Mapping[str, Any]) -> str | None:
    content = message.get("content", message.get("text"))
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(
        part["text"]
        for part in parts
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def _uses(calls: object) -> Iterator[ToolUse]:
    for call in calls if isinstance(calls, list) else []:
        if not isinstance(call, Mapping):
            continue
        told = call.get("function")
        function = told if isinstance(told, Mapping) else call
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield ToolUse(str(function.get("name")), text)


def _sum(values: Sequence[Any]) -> Any:
    """The sum where all are known: one that is missing would make it too small."""
    return sum(values) if values and None not in values else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
