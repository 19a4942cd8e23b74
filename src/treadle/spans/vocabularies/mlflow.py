"""The vocabulary of MLflow, `mlflow.…`. MLflow encodes most values as JSON text.

MLflow can also export spans with the attributes of OpenTelemetry, which `gen_ai` reads. Such a span
keeps those attributes and events of MLflow that OpenTelemetry has no names for. Its scope
identifies it as a span of MLflow.
"""

from typing import Any

from treadle.events.types import Usage
from treadle.llm.usage import read_usage
from treadle.spans.span import Attributes, SpanEvent, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import Message, messages_json, read_messages, tool_call
from treadle.spans.vocabularies.values import (
    as_content,
    as_dollars,
    as_name,
    as_text,
    canonical_provider,
    list_items,
    parse_json,
    summarize_vectors,
    to_json,
)

_KINDS = {
    "LLM": (SpanKind.MODEL, "chat"),
    "CHAT_MODEL": (SpanKind.MODEL, "chat"),
    "TOOL": (SpanKind.TOOL, "execute_tool"),
    "RETRIEVER": (SpanKind.RETRIEVAL, "retrieval"),
    "RERANKER": (SpanKind.RETRIEVAL, "rerank"),
    "EMBEDDING": (SpanKind.EMBEDDING, "embeddings"),
    "AGENT": (SpanKind.AGENT, "invoke_agent"),
    "CHAIN": (SpanKind.AGENT, "chain"),
    "WORKFLOW": (SpanKind.AGENT, "invoke_workflow"),
    "GUARDRAIL": (SpanKind.OTHER, "guardrail"),
    "EVALUATOR": (SpanKind.OTHER, "evaluate"),
}
_SCOPE = "mlflow."
_TAG = "mlflow.traceTag."
_CHUNK = "mlflow.chunk.item."
_PROVIDERS = frozenset({"openai", "anthropic", "gemini", "groq", "mistral", "bedrock"})
"""The values of `mlflow.message.format` that are also names of providers."""


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    native = any(name.startswith("mlflow.") for name in attributes)
    if not (native or columns.raw.scope.startswith(_SCOPE)):
        return
    _read_tags(columns, attributes)
    kind = parse_json(attributes.get("mlflow.spanType"))
    if isinstance(kind, str) and kind.upper() in _KINDS:
        columns.set_kind(*_KINDS[kind.upper()])
    if columns.kind is SpanKind.TOOL and columns.tool is None:
        columns.tool = as_text(columns.raw.name)
    request = parse_json(attributes.get("mlflow.spanInputs"))
    reply = parse_json(attributes.get("mlflow.spanOutputs"))
    _read_model(columns, attributes, request)
    _read_usage(columns, attributes, reply)
    _read_contents(columns, attributes, request, reply)


def _read_tags(columns: SpanColumns, attributes: Attributes) -> None:
    """Read the tags of a trace.

    A tag with the value `true` or without a value is a label. Any other tag is metadata.
    """
    tags = {
        name.removeprefix(_TAG): value
        for name, value in attributes.items()
        if name.startswith(_TAG)
    }
    labels = [name for name, value in tags.items() if value in ("", "true")]
    columns.labels += labels
    columns.add_metadata({name: value for name, value in tags.items() if name not in labels})


def _read_model(columns: SpanColumns, attributes: Attributes, request: Any) -> None:
    names = ("mlflow.llm.model", "gen_ai.response.model", "gen_ai.request.model")
    called = columns.kind in (SpanKind.MODEL, SpanKind.EMBEDDING, None)
    given = request.get("model") if isinstance(request, dict) else attributes.get("model")
    values = [attributes.get(name) for name in names] + ([given] if called else [])
    if columns.model is None:
        columns.model = next(filter(None, (_text(value) for value in values)), None)
    if columns.provider is None:
        layout = _text(attributes.get("mlflow.message.format"))
        known = layout if layout in _PROVIDERS else None
        columns.provider = canonical_provider(_text(attributes.get("mlflow.llm.provider")) or known)


def _text(value: Any) -> str | None:
    """Return a text, which may be encoded as JSON."""
    return as_name(parse_json(value))


def _read_usage(columns: SpanColumns, attributes: Attributes, reply: Any) -> None:
    chunks = _chunks(columns)
    columns.set_first_token(min((chunk.at_us for chunk in chunks), default=None))
    usage = _reported_usage(reply)
    if usage is None and chunks:
        usage = _reported_usage(parse_json(chunks[-1].attributes.get("mlflow.chunk.value")))
    counts = parse_json(attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(counts, dict):
        columns.set_tokens(
            input=counts.get("input_tokens"),
            output=counts.get("output_tokens"),
            cached=counts.get("cache_read_input_tokens"),
            cache_write=counts.get("cache_creation_input_tokens"),
            reasoning=usage.reasoning if usage else None,
            total=counts.get("total_tokens"),
        )
    elif usage is not None:
        columns.set_tokens(
            input=usage.input,
            output=usage.output,
            cached=usage.cached,
            cache_write=usage.cache_write,
            reasoning=usage.reasoning,
        )
    costs = parse_json(attributes.get("mlflow.llm.cost"))
    if columns.cost is None and isinstance(costs, dict):
        columns.cost = as_dollars(costs.get("total_cost"))


def _reported_usage(reply: Any) -> Usage | None:
    """Return the usage that the provider reported in its reply."""
    usage = reply.get("usage") if isinstance(reply, dict) else None
    return read_usage(usage) if isinstance(usage, dict) else None


def _read_contents(columns: SpanColumns, attributes: Attributes, request: Any, reply: Any) -> None:
    given, answered = attributes.get("mlflow.spanInputs"), attributes.get("mlflow.spanOutputs")
    if columns.kind in (SpanKind.MODEL, None) and columns.output is None:
        columns.output = _reply_with_streamed_calls(columns)
    if columns.kind is SpanKind.MODEL and not (given is None and answered is None):
        columns.input = columns.input or messages_json(given, "user")
        columns.output = columns.output or messages_json(answered, "assistant")
    elif columns.kind is SpanKind.EMBEDDING and isinstance(request, dict):
        columns.input = columns.input or as_content(request.get("input"))
        columns.output = columns.output or _vectors(reply)
    if columns.input is None:
        columns.input = as_content(given)
    if columns.output is None:
        # MLflow encodes a returned text as JSON. Other results stay JSON.
        columns.output = as_content(reply if isinstance(reply, str) else answered)


def _reply_with_streamed_calls(columns: SpanColumns) -> str | None:
    """Return the reply with the tool calls of its chunks, or None for other replies.

    MLflow leaves the tool calls out when it joins the chunks of a stream.
    """
    calls: dict[int, Message] = {}
    for chunk in _chunks(columns):
        for fragment in _fragments(parse_json(chunk.attributes.get("mlflow.chunk.value"))):
            function = fragment.get("function")
            values = function if isinstance(function, dict) else {}
            index = fragment.get("index")
            call = calls.setdefault(
                index if isinstance(index, int) else 0, tool_call(None, None, "")
            )
            call["id"] = call["id"] or fragment.get("id")
            call["function"]["name"] = call["function"]["name"] or values.get("name")
            call["function"]["arguments"] += as_text(values.get("arguments")) or ""
    attributes = columns.raw.attributes
    answered = attributes.get("mlflow.spanOutputs") or attributes.get("gen_ai.output.messages")
    messages = read_messages(answered, "assistant")
    if not calls or any(message.get("tool_calls") for message in messages):
        return None
    reply = messages[0] if messages else {"role": "assistant", "content": None}
    content = reply.get("content") or None
    return to_json([{**reply, "content": content, "tool_calls": [*calls.values()]}, *messages[1:]])


def _fragments(chunk: Any) -> list[dict[str, Any]]:
    """Return the parts of tool calls in a chunk of a stream of OpenAI's API."""
    found: list[dict[str, Any]] = []
    for choice in list_items(chunk.get("choices")) if isinstance(chunk, dict) else ():
        delta = choice.get("delta") if isinstance(choice, dict) else None
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        found += [each for each in list_items(calls) if isinstance(each, dict)]
    return found


def _chunks(columns: SpanColumns) -> list[SpanEvent]:
    """Return the events with the chunks of a stream, in their order."""
    chunks = [event for event in columns.raw.events if event.name.startswith(_CHUNK)]
    return sorted(chunks, key=lambda chunk: chunk.at_us)


def _vectors(reply: Any) -> str | None:
    """Return a summary of the vectors in a reply of OpenAI's API, or None for other replies."""
    data = reply.get("data") if isinstance(reply, dict) else None
    entries = [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []
    return summarize_vectors([each.get("embedding") for each in entries])


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"mlflow"}), names=frozenset({"model"}))
