"""The vocabulary of OpenInference: `openinference.span.kind`, `llm.…`, `tool.…` and others.

The names are from openinference-semantic-conventions 0.1.42.
"""

import re
from collections.abc import Mapping
from typing import Any

from treadle.spans.raw_span import RawStatus
from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.messages import Message, messages_json, read_messages, tool_call
from treadle.spans.vocabularies.values import (
    as_content,
    as_dollars,
    as_name,
    as_text,
    as_texts,
    canonical_provider,
    list_items,
    nest_attributes,
    nest_names,
    parse_json,
    summarize_vectors,
    to_json,
)

_KINDS = {
    "LLM": (SpanKind.MODEL, "chat"),
    "TOOL": (SpanKind.TOOL, "execute_tool"),
    "RETRIEVER": (SpanKind.RETRIEVAL, "retrieval"),
    "RERANKER": (SpanKind.RETRIEVAL, "rerank"),
    "EMBEDDING": (SpanKind.EMBEDDING, "embeddings"),
    "AGENT": (SpanKind.AGENT, "invoke_agent"),
    "CHAIN": (SpanKind.AGENT, "chain"),
    "GUARDRAIL": (SpanKind.OTHER, "guardrail"),
    "EVALUATOR": (SpanKind.OTHER, "evaluate"),
    "PROMPT": (SpanKind.OTHER, "prompt"),
    "DECISION": (SpanKind.OTHER, "decision"),
}

_INPUT, _OUTPUT = "llm.input_messages.", "llm.output_messages."
_PROMPTS, _CHOICES = "llm.prompts.", "llm.choices."
_DOCUMENTS, _RERANKED = "retrieval.documents.", "reranker.output_documents."
_OF_CALL = (
    _INPUT[:-1], _OUTPUT[:-1], _PROMPTS[:-1], _CHOICES[:-1], "llm.token_count.", "gen_ai.",
)  # fmt: skip
"""The beginnings of the names of attributes that only a model call has."""
_HIDDEN = "__REDACTED__"
_USAGE = 600
"""The maximum distance in characters between the input tokens and the cached tokens of a call."""
_CACHED = re.compile(r"cached_tokens['\"]?\s*[=:]\s*(\d{1,9})\b")
_EMBEDDINGS = "embedding.embeddings."
_STREAM_BEGINS = "First Token Stream Event"


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    _read_kind(columns, attributes)
    if columns.kind is SpanKind.MODEL or "llm.token_count.prompt" in attributes:
        _read_call(columns, attributes)
    if columns.kind in _CONTENTS:
        _CONTENTS[columns.kind](columns, attributes)
    if columns.thread_id is None:
        columns.thread_id = as_name(attributes.get("session.id"))
    if "tag.tags" in attributes:
        columns.labels += as_texts(attributes["tag.tags"])
    if columns.input is None:
        columns.input = as_content(attributes.get("input.value"))
    if columns.output is None:
        columns.output = as_content(attributes.get("output.value"))


def _read_kind(columns: SpanColumns, attributes: Attributes) -> None:
    kind = attributes.get("openinference.span.kind")
    if kind == "LLM" and not _is_call(columns, attributes):
        columns.set_kind(SpanKind.OTHER, "llm")
    elif isinstance(kind, str) and kind.upper() in _KINDS:
        columns.set_kind(*_KINDS[kind.upper()])
    elif "llm.model_name" in attributes or "llm.input_messages.0.message.role" in attributes:
        columns.set_kind(SpanKind.MODEL)
    elif "embedding.model_name" in attributes:
        columns.set_kind(SpanKind.EMBEDDING)
    elif "tool.name" in attributes or "tool_call.function.name" in attributes:
        columns.set_kind(SpanKind.TOOL)
    elif any(name.startswith((_DOCUMENTS, "reranker.")) for name in attributes):
        columns.set_kind(SpanKind.RETRIEVAL)


def _is_call(columns: SpanColumns, attributes: Attributes) -> bool:
    """Return whether a span of the kind LLM may be a model call.

    LlamaIndex also reports methods that only prepare a call as spans of this kind. These spans have
    an input, but no messages and no tokens.
    """
    given = attributes.get("input.value")
    if given is None or given == _HIDDEN or columns.raw.status is RawStatus.ERROR:
        return True
    return any(name.startswith(_OF_CALL) for name in attributes)


def _read_call(columns: SpanColumns, attributes: Attributes) -> None:
    if columns.model is None:
        names = ("llm.response.model_name", "llm.model_name", "llm.request.model_name")
        columns.model = next(
            (name for each in names if (name := as_text(attributes.get(each)))), None
        )
    if columns.model is None:
        parameters = parse_json(attributes.get("llm.invocation_parameters"))
        if isinstance(parameters, dict):
            columns.model = as_text(parameters.get("model"))
    if columns.provider is None:
        columns.provider = canonical_provider(
            as_text(attributes.get("llm.provider") or attributes.get("llm.system"))
        )
    cached = attributes.get("llm.token_count.prompt_details.cache_read")
    if cached is None:
        cached = attributes.get("llm.token_count.prompt_details.cache_input")
    columns.set_tokens(
        input=attributes.get("llm.token_count.prompt"),
        output=attributes.get("llm.token_count.completion"),
        cached=cached,
        cache_write=attributes.get("llm.token_count.prompt_details.cache_write"),
        reasoning=attributes.get("llm.token_count.completion_details.reasoning"),
        total=attributes.get("llm.token_count.total"),
    )
    if columns.cached is None and columns.input_tokens is not None:
        columns.cached = _cached_in_reply(attributes.get("output.value"), columns.input_tokens)
    if columns.cost is None:
        columns.cost = as_dollars(attributes.get("llm.cost.total"))
        parts = (
            as_dollars(attributes.get("llm.cost.prompt")),
            as_dollars(attributes.get("llm.cost.completion")),
        )
        if columns.cost is None and None not in parts:
            columns.cost = sum(part or 0.0 for part in parts)
    if columns.time_to_first_token_us is None and columns.raw.events:
        moments = [each.at_us for each in columns.raw.events if each.name == _STREAM_BEGINS]
        columns.set_first_token(min(moments, default=None))


def _cached_in_reply(whole: JsonValue, input_tokens: int) -> int | None:
    """Return the cached tokens in the usage of the provider's whole reply, or None.

    Some instrumentations send this count only in the whole reply. The reply is JSON, or text that
    Python's `repr` wrote. The number of input tokens identifies the usage in this text.
    """
    if not isinstance(whole, str) or "cached_tokens" not in whole:
        return None
    usage = re.search(rf"prompt_tokens['\"]?\s*[=:]\s*{input_tokens}\b", whole)
    if usage is None:
        return None
    near = max(0, usage.start() - _USAGE), usage.end() + _USAGE
    found = _CACHED.search(whole, *near)
    return None if found is None else int(found[1])


def _read_messages(columns: SpanColumns, attributes: Attributes) -> None:
    found = _nested(attributes, _INPUT, _OUTPUT, _PROMPTS, _CHOICES)
    if columns.input is None:
        columns.input = _written(found.get(_INPUT)) or _prompts(found.get(_PROMPTS), "user")
    if columns.output is None:
        choices = _prompts(found.get(_CHOICES), "assistant")
        columns.output = _written(found.get(_OUTPUT)) or choices
    if columns.input is None:
        columns.input = messages_json(attributes.get("input.value"), "user")
    whole = attributes.get("output.value")
    if columns.output is None:
        columns.output = messages_json(whole, "assistant")
    elif isinstance(whole, str) and '"reasoning"' in whole:
        columns.output = _with_reasoning(columns.output, whole)


def _with_reasoning(output: str, whole: str) -> str | None:
    """Return the reply with the reasoning from the whole reply of the provider.

    Some instrumentations send the reasoning only in the whole reply.
    """
    replies, wholes = parse_json(output), read_messages(whole, "assistant")
    if not (replies and wholes and "reasoning_content" in wholes[0]):
        return output
    thoughts = wholes[0]["reasoning_content"]
    return to_json([{"reasoning_content": thoughts, **replies[0]}, *replies[1:]])


def _nested(attributes: Attributes, *prefixes: str) -> dict[str, dict[str, Any]]:
    """Return the lists under dotted names. Some programs send a list as JSON text instead."""
    found = nest_attributes(attributes, *prefixes)
    for name in prefixes:
        if name[:-1] in attributes:
            listed = nest_names(parse_json(attributes[name[:-1]]))
            found[name] = {str(index): each for index, each in enumerate(list_items(listed))}
    return found


def _written(found: Any) -> str | None:
    messages = [_message(_inner(each, "message")) for each in list_items(found)]
    return to_json(read_messages(messages, "user")) if messages else None


def _prompts(found: Any, role: str) -> str | None:
    """Return the prompts or the completions of a text-completion model, as messages."""
    name = "prompt" if role == "user" else "completion"
    texts = [
        each if isinstance(each, str) else _inner(each, name).get("text")
        for each in list_items(found)
    ]
    messages = [{"role": role, "content": text} for text in texts]
    return to_json(messages) if messages else None


def _inner(value: Any, name: str) -> Mapping[str, Any]:
    """Return the map under `name` in an entry of a list.

    The result is an empty map if there is none.
    """
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _message(entry: Mapping[str, Any]) -> Message:
    message: Message = {"role": entry.get("role"), "content": entry.get("content")}
    contents = [
        _content(_inner(each, "message_content")) for each in list_items(entry.get("contents"))
    ]
    if contents and message["content"] is None:
        only = contents[0] if len(contents) == 1 else {}
        message["content"] = only["text"] if only.get("type") == "text" else contents
    for name in ("name", "tool_call_id"):
        if name in entry:
            message[name] = entry[name]
    calls = [_call(_inner(each, "tool_call")) for each in list_items(entry.get("tool_calls"))]
    if not calls and "function_call_name" in entry:
        arguments = entry.get("function_call_arguments_json")
        calls = [tool_call(None, entry["function_call_name"], arguments)]
    if calls:
        message["tool_calls"] = calls
    return message


def _call(call: Mapping[str, Any]) -> Message:
    function = call.get("function")
    values = function if isinstance(function, dict) else {}
    return tool_call(call.get("id"), values.get("name"), values.get("arguments"))


def _content(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of the content of a message in OpenAI's form."""
    kind = part.get("type")
    if kind == "text" or (kind is None and "text" in part):
        return {"type": "text", "text": part.get("text")}
    url = _inner(_inner(part, "image"), "image").get("url")
    if url is not None:
        return {"type": "image_url", "image_url": {"url": url}}
    return dict(part)


def _read_tool(columns: SpanColumns, attributes: Attributes) -> None:
    if columns.tool is None:
        columns.tool = as_text(
            attributes.get("tool.name") or attributes.get("tool_call.function.name")
        )
    if columns.input is None and "input.value" not in attributes:
        columns.input = as_content(attributes.get("tool_call.function.arguments"))


def _read_documents(columns: SpanColumns, attributes: Attributes) -> None:
    if columns.input is None:
        query = attributes.get("reranker.query")
        columns.input = as_content(attributes.get("input.value") if query is None else query)
    if columns.output is None:
        found = _nested(attributes, _DOCUMENTS, _RERANKED)
        listed = list_items(found.get(_RERANKED) or found.get(_DOCUMENTS))
        documents = [_document(_inner(each, "document")) for each in listed]
        columns.output = to_json(documents) if documents else None


def _document(document: Mapping[str, Any]) -> dict[str, Any]:
    return (
        {**document, "metadata": parse_json(document["metadata"])}
        if "metadata" in document
        else dict(document)
    )


def _read_embedding(columns: SpanColumns, attributes: Attributes) -> None:
    if columns.model is None:
        columns.model = as_text(attributes.get("embedding.model_name"))
    _read_call(columns, attributes)
    found = nest_attributes(attributes, _EMBEDDINGS).get(_EMBEDDINGS)
    embeddings = [_inner(each, "embedding") for each in list_items(found)]
    if columns.input is None and embeddings:
        given = [each.get("text") for each in embeddings]
        columns.input = as_content(given[0] if len(given) == 1 else given)
    if columns.output is None:
        vectors = [each["vector"] for each in embeddings if "vector" in each]
        columns.output = summarize_vectors(vectors)


_CONTENTS = {
    SpanKind.MODEL: _read_messages,
    SpanKind.TOOL: _read_tool,
    SpanKind.RETRIEVAL: _read_documents,
    SpanKind.EMBEDDING: _read_embedding,
}
"""Maps a kind of span to the function that reads its input and output."""


VOCABULARY = Vocabulary(
    _read,
    prefixes=frozenset(
        {"openinference", "llm", "tool", "tool_call", "retrieval", "reranker", "embedding",
         "input", "output", "tag"}
    ),
)  # fmt: skip
