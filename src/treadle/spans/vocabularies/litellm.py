"""The attributes that litellm's callback `otel` adds to the vocabulary of OpenTelemetry."""

from typing import Any

from treadle.spans.span import Attributes, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import read_messages, tool_call
from treadle.spans.vocabularies.values import (
    as_dollars,
    as_name,
    as_text,
    canonical_provider,
    list_items,
    nest_attributes,
    parse_mapping,
    to_json,
)

CALL_ID = "litellm.call_id"
"""The attribute of every span of a call.

In a span with this attribute, the attributes `metadata.…` are litellm's own metadata, and not those
of the application.
"""

_CALLS = {
    "acompletion": (SpanKind.MODEL, "chat"),
    "anthropic_messages": (SpanKind.MODEL, "chat"),
    "aresponses": (SpanKind.MODEL, "chat"),
    "atext_completion": (SpanKind.MODEL, "text_completion"),
    "agenerate_content": (SpanKind.MODEL, "generate_content"),
    "aembedding": (SpanKind.EMBEDDING, "embeddings"),
    "rerank": (SpanKind.RETRIEVAL, "rerank"),
    "arerank": (SpanKind.RETRIEVAL, "rerank"),
}
"""Maps functions of litellm to a kind and an operation. litellm sends their names as operations."""

_COMPLETIONS = "gen_ai.completion."
_USERS = ("llm.user", "metadata.user_api_key_end_user_id", "metadata.user_api_key_user_id")


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    if CALL_ID not in attributes:
        return
    if (called := str(attributes.get("gen_ai.operation.name"))) in _CALLS:
        columns.set_kind(*_CALLS[called])
    if columns.provider is None and not attributes.get("gen_ai.system"):
        provider, slash, _model = str(attributes.get("litellm.provider.model")).partition("/")
        columns.provider = canonical_provider(provider) if slash else None
    usage = parse_mapping(attributes.get("metadata.usage_object"))
    if columns.cost is None:
        columns.cost = as_dollars(attributes.get("gen_ai.cost.total_cost"))
    if columns.cost is None and usage is not None:
        columns.cost = as_dollars(usage.get("cost"))
    for name in _USERS:
        columns.user = columns.user or as_name(attributes.get(name))
    given = parse_mapping(attributes.get("metadata.requester_metadata"))
    if given is not None:
        columns.add_metadata(given)
    if columns.output is None:
        columns.output = _reply_with_calls(attributes)


def _reply_with_calls(attributes: Attributes) -> str | None:
    """Return a reply with tool calls, or None for other replies.

    litellm sends the calls apart from the message, each with its index but without its id.
    """
    completions = nest_attributes(attributes, _COMPLETIONS).get(_COMPLETIONS, {})
    functions: list[Any] = [
        each.get("function_call") for each in list_items(completions) if isinstance(each, dict)
    ]
    calls = [
        tool_call(None, as_text(each.get("name")), each.get("arguments"))
        for each in functions
        if isinstance(each, dict)
    ]
    messages = read_messages(attributes.get("gen_ai.output.messages"), "assistant")
    if not calls or any("tool_calls" in message for message in messages):
        return None
    reply = messages[0] if messages else {"role": "assistant", "content": None}
    content = reply.get("content") or None
    return to_json([{**reply, "content": content, "tool_calls": calls}, *messages[1:]])


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"litellm"}))
