"""OpenInference: `openinference.span.kind`, `llm.…`, `tool.…`, `retrieval.…`, `embedding.…`.

The names are those of openinference-semantic-conventions 0.1.42.
"""

from collections.abc import Mapping
from typing import Any

from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import (
    Reading,
    content,
    dollars,
    name_of,
    parsed,
    text,
    texts,
    written,
)
from treadle.spans.vocabularies.flattened import items, nested, tree
from treadle.spans.vocabularies.messages import Message, tool_call, written_messages
from treadle.spans.vocabularies.providers import canonical

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
_EMBEDDINGS = "embedding.embeddings."
_STREAM_BEGINS = "First Token Stream Event"


def read(reading: Reading) -> None:
    """Read OpenInference."""
    said = reading.raw.attributes
    _read_kind(reading, said)
    if reading.kind is SpanKind.MODEL or "llm.token_count.prompt" in said:
        _read_call(reading, said)
    if reading.kind in _CONTENTS:
        _CONTENTS[reading.kind](reading, said)
    if reading.thread_id is None:
        reading.thread_id = name_of(said.get("session.id"))
    if "tag.tags" in said:
        reading.labels += texts(said["tag.tags"])
    if reading.input is None:
        reading.input = content(said.get("input.value"))
    if reading.output is None:
        reading.output = content(said.get("output.value"))


def _read_kind(reading: Reading, said: Attributes) -> None:
    kind = said.get("openinference.span.kind")
    if isinstance(kind, str) and kind.upper() in _KINDS:
        reading.set_kind(*_KINDS[kind.upper()])
    elif "llm.model_name" in said or "llm.input_messages.0.message.role" in said:
        reading.set_kind(SpanKind.MODEL)
    elif "embedding.model_name" in said:
        reading.set_kind(SpanKind.EMBEDDING)
    elif "tool.name" in said or "tool_call.function.name" in said:
        reading.set_kind(SpanKind.TOOL)
    elif any(name.startswith((_DOCUMENTS, "reranker.")) for name in said):
        reading.set_kind(SpanKind.RETRIEVAL)


def _read_call(reading: Reading, said: Attributes) -> None:
    if reading.model is None:
        names = ("llm.response.model_name", "llm.model_name", "llm.request.model_name")
        reading.model = next((name for each in names if (name := text(said.get(each)))), None)
    if reading.model is None:
        parameters = parsed(said.get("llm.invocation_parameters"))
        if isinstance(parameters, dict):
            reading.model = text(parameters.get("model"))
    if reading.provider is None:
        reading.provider = canonical(text(said.get("llm.provider") or said.get("llm.system")))
    cached = said.get("llm.token_count.prompt_details.cache_read")
    if cached is None:
        cached = said.get("llm.token_count.prompt_details.cache_input")
    reading.set_tokens(
        input=said.get("llm.token_count.prompt"),
        output=said.get("llm.token_count.completion"),
        cached=cached,
        cache_write=said.get("llm.token_count.prompt_details.cache_write"),
        reasoning=said.get("llm.token_count.completion_details.reasoning"),
        total=said.get("llm.token_count.total"),
    )
    if reading.cost is None:
        reading.cost = dollars(said.get("llm.cost.total"))
        parts = (dollars(said.get("llm.cost.prompt")), dollars(said.get("llm.cost.completion")))
        if reading.cost is None and None not in parts:
            reading.cost = sum(part or 0.0 for part in parts)
    if reading.first_us is None and reading.raw.events:
        moments = [each.at_us for each in reading.raw.events if each.name == _STREAM_BEGINS]
        reading.set_first(min(moments, default=None))


def _read_messages(reading: Reading, said: Attributes) -> None:
    found = _nested(said, _INPUT, _OUTPUT, _PROMPTS, _CHOICES)
    if reading.input is None:
        reading.input = _written(found.get(_INPUT)) or _prompts(found.get(_PROMPTS), "user")
    if reading.output is None:
        choices = _prompts(found.get(_CHOICES), "assistant")
        reading.output = _written(found.get(_OUTPUT)) or choices
    if reading.input is None:
        reading.input = written_messages(said.get("input.value"), "user")
    if reading.output is None:
        reading.output = written_messages(said.get("output.value"), "assistant")


def _nested(said: Attributes, *prefixes: str) -> dict[str, dict[str, Any]]:
    """The flattened lists; some programs send one list as JSON in text instead."""
    found = nested(said, *prefixes)
    for name in prefixes:
        if name[:-1] in said:
            listed = tree(parsed(said[name[:-1]]))
            found[name] = {str(place): each for place, each in enumerate(items(listed))}
    return found


def _written(found: Any) -> str | None:
    messages = [_message(_inner(each, "message")) for each in items(found)]
    return written(messages) if messages else None


def _prompts(found: Any, role: str) -> str | None:
    """What models without a chat are given (`prompt.text`) and give (`completion.text`)."""
    name = "prompt" if role == "user" else "completion"
    said = [_inner(each, name).get("text") for each in items(found)]
    messages = [{"role": role, "content": each} for each in said]
    return written(messages) if messages else None


def _inner(value: Any, name: str) -> Mapping[str, Any]:
    """The value under the one name that every entry of a list has."""
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _message(said: Mapping[str, Any]) -> Message:
    message: Message = {"role": said.get("role"), "content": said.get("content")}
    contents = [_content(_inner(each, "message_content")) for each in items(said.get("contents"))]
    if contents and message["content"] is None:
        only = contents[0] if len(contents) == 1 else {}
        message["content"] = only["text"] if only.get("type") == "text" else contents
    for name in ("name", "tool_call_id"):
        if name in said:
            message[name] = said[name]
    calls = [_call(_inner(each, "tool_call")) for each in items(said.get("tool_calls"))]
    if not calls and "function_call_name" in said:
        arguments = said.get("function_call_arguments_json")
        calls = [tool_call(None, said["function_call_name"], arguments)]
    if calls:
        message["tool_calls"] = calls
    return message


def _call(said: Mapping[str, Any]) -> Message:
    function = said.get("function")
    values = function if isinstance(function, dict) else {}
    return tool_call(said.get("id"), values.get("name"), values.get("arguments"))


def _content(said: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a content."""
    kind = said.get("type")
    if kind == "text" or (kind is None and "text" in said):
        return {"type": "text", "text": said.get("text")}
    url = _inner(_inner(said, "image"), "image").get("url")
    if url is not None:
        return {"type": "image_url", "image_url": {"url": url}}
    return dict(said)


def _read_tool(reading: Reading, said: Attributes) -> None:
    if reading.tool is None:
        reading.tool = text(said.get("tool.name") or said.get("tool_call.function.name"))
    if reading.input is None and "input.value" not in said:
        reading.input = content(said.get("tool_call.function.arguments"))


def _read_documents(reading: Reading, said: Attributes) -> None:
    if reading.input is None:
        query = said.get("reranker.query")
        reading.input = content(said.get("input.value") if query is None else query)
    if reading.output is None:
        found = _nested(said, _DOCUMENTS, _RERANKED)
        listed = items(found.get(_RERANKED) or found.get(_DOCUMENTS))
        documents = [_document(_inner(each, "document")) for each in listed]
        reading.output = written(documents) if documents else None


def _document(said: Mapping[str, Any]) -> dict[str, Any]:
    return {**said, "metadata": parsed(said["metadata"])} if "metadata" in said else dict(said)


def _read_embedding(reading: Reading, said: Attributes) -> None:
    if reading.model is None:
        reading.model = text(said.get("embedding.model_name"))
    _read_call(reading, said)
    if reading.input is None:
        found = nested(said, _EMBEDDINGS).get(_EMBEDDINGS)
        given: list[JsonValue] = [_inner(each, "embedding").get("text") for each in items(found)]
        if given:
            reading.input = content(given[0] if len(given) == 1 else given)


_CONTENTS = {
    SpanKind.MODEL: _read_messages,
    SpanKind.TOOL: _read_tool,
    SpanKind.RETRIEVAL: _read_documents,
    SpanKind.EMBEDDING: _read_embedding,
}
"""What reads the content of a span, by its kind."""
