"""Finds recorded calls, and reads their requests and outcomes from spans."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from treadle.errors import NotFoundError, UsageError
from treadle.experiments.model import Outcome, ToolUse
from treadle.experiments.requests import patched, problems
from treadle.ids import is_last
from treadle.llm.image_parts import OMITTED_IMAGE
from treadle.spans.span import Span, SpanKind, SpanStatus, Trace
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import Query
from treadle.traces.query.conditions import Field, any_of
from treadle.traces.store.results import ListedSpan
from treadle.traces.store.span_reader import SpanReader

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
"""Maps span attributes to the names of the request parameters that they contain."""

_VERBATIM = "treadle.request."
"""The prefix of the gateway's attributes for parameters without an OpenTelemetry name."""

_NEWER = "max_completion_tokens"
_REDACTED = "[redacted:"
_OWN = "treadle.operation_id"
"""An attribute that only the spans of calls in Treadle's own sessions have."""


class NotRunnableError(UsageError):
    """Raised for a span without a chat request that can run again.

    The message states the reason.
    """


def request_of(span: Span) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The request of a recorded model call, and notes about parts that were not recorded.

    Raises NotRunnableError if the span has no valid chat request.
    """
    if span.kind is not SpanKind.MODEL:
        raise NotRunnableError(
            f"This span is not a model call; its kind is {span.kind.value}: {span.name}.",
            hint="Choose a span of the kind model.",
        )
    # `span.model` may have a date suffix, since a provider may report a more exact name.
    model = span.attributes.get("gen_ai.request.model") or span.model
    if not isinstance(model, str):
        raise NotRunnableError("The record does not name the model.")
    messages = _messages(span)
    if OMITTED_IMAGE in (span.input or ""):
        raise NotRunnableError("The request has an image, and records contain no images.")
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
        "model": f"{span.provider}/{model}" if span.provider else model,
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
    """The outcome of a call, read from its spans.

    The result is None if no span belongs to a call. A call with several attempts has a span for
    each, and a parent span for the whole call (the gateway step). The outcome contains the tokens,
    the cost and the time of all attempts.
    """
    attempts = [span for span in spans if span.kind is SpanKind.MODEL]
    steps = [span for span in spans if span.operation == "gateway"]
    if not (attempts or steps):
        return None
    call = steps[0] if steps else attempts[-1]
    last = attempts[-1] if attempts else call
    content, calls = _reply(last.output)
    failed = call.status is not SpanStatus.OK
    charged = [span for span in attempts if _charged(span)]
    reasons = last.attributes.get("gen_ai.response.finish_reasons")
    return Outcome(
        trace_id=call.trace_id,
        span_id=call.span_id,
        content=content,
        tool_calls=calls,
        raw=last.output,
        model=last.model,
        finish_reason=str(reasons[0]) if isinstance(reasons, list | tuple) and reasons else None,
        input_tokens=_sum([span.tokens.input for span in charged]),
        output_tokens=_sum([span.tokens.output for span in charged]),
        cached_tokens=_sum([span.tokens.cached for span in charged]),
        cost=_sum([span.cost for span in charged]),
        duration_us=call.duration_us,
        ttft_us=last.time_to_first_token_us,
        error=(call.error or f"The call ended with status {call.status.value}.")
        if failed
        else None,
        error_type=_text(call.attributes.get("error.type")) if failed else None,
    )


def _charged(span: Span) -> bool:
    """Whether an attempt may have cost something. A refused attempt costs nothing."""
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
    if attributes.get("openai.api.type") != "responses":  # the Responses API names them differently
        for key, value in attributes.items():
            if key.startswith(_VERBATIM):
                found[key.removeprefix(_VERBATIM)] = _structured(value)
    if _NEWER in found:  # the gateway records its value under both names
        found.pop("max_tokens", None)
    found.pop("n", None)
    return found


def _invocation(value: object) -> dict[str, Any]:
    """The parameters of a request in OpenInference's format, which is one JSON text."""
    given = _structured(value)
    if not isinstance(given, Mapping):
        return {}
    other = {"model", "messages", "tools", "functions", "stream"}
    return {name: each for name, each in given.items() if name not in other and each is not None}


def _structured(value: object) -> Any:
    """Parse a value if it is the JSON text of an object or a list.

    Attributes cannot contain objects, so they are recorded as JSON text.
    """
    if not (isinstance(value, str) and value[:1] in {"{", "["}):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _tools(value: object) -> list[Any]:
    """Tool definitions in the format of chat requests, from any recorded format."""
    given = _structured(value)
    if not isinstance(given, Sequence) or isinstance(given, str):
        return []
    return [_tool(each) for each in given if isinstance(each, Mapping)]


def _tool(definition: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(definition.get("function"), Mapping):
        return dict(definition)
    named = {
        name: value for name, value in definition.items() if name != "type" and value is not None
    }
    return {"type": "function", "function": named}


def _reply(output: str | None) -> tuple[str | None, tuple[ToolUse, ...]]:
    """The text and the tool calls of a recorded reply, from any recorded format."""
    if output is None:
        return None, ()
    try:
        reply = json.loads(output)
    except (ValueError, RecursionError):
        return output, ()
    if isinstance(reply, Mapping):
        reply = [reply]
    messages = (
        [each for each in reply if isinstance(each, Mapping)] if isinstance(reply, list) else []
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
        nested = call.get("function")
        function = nested if isinstance(nested, Mapping) else call
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield ToolUse(str(function.get("name")), text)


def _sum(values: Sequence[Any]) -> Any:
    """The sum of the values, or None if a value is unknown or there are no values."""
    return sum(values) if values and None not in values else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


_CALLS_OF_OTHERS = Query((any_of(Field.KIND, [SpanKind.MODEL.value]),)) & OF_OTHERS


class RecordedCalls(SpanReader, Protocol):
    """Reads lists of recorded spans, and single spans and traces."""

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """The span with its content, or None if it does not exist."""
        ...

    def trace(self, reference: str) -> Trace:
        """The trace with the id `reference`, a unique prefix of an id, or `last`."""
        ...


def listed_call(traces: SpanReader, reference: str) -> ListedSpan:
    """Find a span by a reference SPAN or TRACE/SPAN.

    Both ids may contain slashes. The result has no content. Raises NotFoundError if there is no
    such span, and UsageError if there are several.
    """
    found = traces.spans(Query((any_of(Field.SPAN, [reference]),)), limit=2).data
    parts = reference.split("/")
    for split in range(len(parts) - 1, 0, -1):
        if found:
            break
        trace_id, span_id = "/".join(parts[:split]), "/".join(parts[split:])
        query = Query((any_of(Field.SPAN, [span_id]), any_of(Field.TRACE, [trace_id])))
        found = traces.spans(query, limit=2).data
    if not found:
        raise NotFoundError(
            f"There is no span {reference[:100]!r}.", hint="fetch_spans lists spans with their ids."
        )
    if len(found) > 1:
        raise UsageError(
            f"Several traces have a span {reference[:100]!r}.",
            hint="Put the id of its trace before it: TRACE/SPAN.",
        )
    return found[0]


def find_call(traces: RecordedCalls, reference: str) -> Span:
    """Find the model call for a reference SPAN or TRACE/SPAN, or the last model call of TRACE.

    `last` is the newest trace with a model call, without calls of Treadle's agents and experiments.
    If the reference is a gateway step with several attempts, the result is the last attempt. If it
    is any other span that is not a model call, the result is this span. Raises NotFoundError,
    UsageError for an ambiguous reference, and NotRunnableError for a trace without a model call.
    """
    try:
        listed = listed_call(traces, reference)
    except NotFoundError:
        if "/" in reference:
            raise
        if is_last(reference):
            newest = traces.spans(_CALLS_OF_OTHERS, limit=1).data
            reference = newest[0].trace_id if newest else reference
        return _last_call(traces.trace(reference))
    span = traces.span(listed.trace_id, listed.span_id)
    if span is None:  # deleted meanwhile
        raise NotFoundError(f"The span {reference[:100]!r} no longer exists.")
    if span.kind is not SpanKind.MODEL:
        below = [s for s in traces.trace(span.trace_id).spans if s.parent_id == span.span_id]
        calls = [s for s in below if s.kind is SpanKind.MODEL]
        # The attempts of one call are children of a gateway step.
        return calls[-1] if span.operation == "gateway" and calls else span
    return span


def _last_call(trace: Trace) -> Span:
    calls = [span for span in trace.spans if span.kind is SpanKind.MODEL]
    if not calls:
        raise NotRunnableError(
            f"The trace {trace.trace_id} has no model call.", hint="Choose another trace."
        )
    return calls[-1]
