"""Reads the recorded parameters and the recorded input of a call from its request.

The attributes have OpenTelemetry names. The input has the form of chat requests.
"""

import json
from collections.abc import Mapping

from treadle.gateway.apis import Api, Operation
from treadle.gateway.conversion import merge_assistant_messages, messages_of_request
from treadle.gateway.media_filter import MediaFilter
from treadle.gateway.native_requests import (
    anthropic_request_messages,
    chat_tools,
    gemini_embedding_texts,
    gemini_request_messages,
)
from treadle.gateway.request import CallRequest, claude_code_session
from treadle.spans.otlp.span_collector import double_value
from treadle.spans.span import JsonValue

_PARAMETERS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "max_output_tokens": "gen_ai.request.max_tokens",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
    "n": "gen_ai.request.choice.count",
    "stop": "gen_ai.request.stop_sequences",
    "stream": "gen_ai.request.stream",
    "dimensions": "gen_ai.embeddings.dimension.count",
    "topP": "gen_ai.request.top_p",
    "topK": "gen_ai.request.top_k",
    "maxOutputTokens": "gen_ai.request.max_tokens",
    "frequencyPenalty": "gen_ai.request.frequency_penalty",
    "presencePenalty": "gen_ai.request.presence_penalty",
    "candidateCount": "gen_ai.request.choice.count",
    "stop_sequences": "gen_ai.request.stop_sequences",
    "stopSequences": "gen_ai.request.stop_sequences",
    "outputDimensionality": "gen_ai.embeddings.dimension.count",
    "service_tier": "openai.request.service_tier",
}
"""The OpenTelemetry attributes of request parameters."""

_NEWER_LIMIT = "max_completion_tokens"
"""The newer name of `max_tokens` in chat requests.

Its value has two attributes: one for `max_tokens`, and one with this name.
"""

_CONTENTS = frozenset({
    "model", "messages", "input", "instructions", "tools", "functions", "stream_options",
})  # fmt: skip
"""Parameters that have their own fields in a span.

If a parameter is neither here nor in `_PARAMETERS`, its attribute is named `treadle.request.NAME`,
or `treadle.API.request.NAME` for the APIs of Anthropic and Gemini.
"""

_NATIVE_CONTENTS = _CONTENTS | {
    "system", "contents", "systemInstruction", "system_instruction", "content", "requests",
}  # fmt: skip
"""Parameters of the APIs of Anthropic and Gemini that have their own fields in a span."""

_FILES = frozenset({"file", "image", "images", "mask"})
"""The fields of a request that contain media."""

_WRITTEN_LIMIT = 20_000
"""The maximum number of characters of a request parameter in a span."""


def request_attributes(request: CallRequest) -> dict[str, JsonValue]:
    """The attributes of the parameters of a request, without its contents."""
    attributes: dict[str, JsonValue] = {}
    api = request.target.api
    contents = _CONTENTS if api is Api.OPENAI else _NATIVE_CONTENTS
    if request.operation.passes_through:
        contents = contents | _FILES | {"prompt"}
    prefix = "treadle.request." if api is Api.OPENAI else f"treadle.{api.value}.request."
    for name, value in _recorded_values(request).items():
        if name in contents or value is None:
            continue
        known = _PARAMETERS.get(name)
        if known == "gen_ai.request.stop_sequences" and isinstance(value, str):
            value = [value]  # noqa: PLW2901
        if name == "metadata" and api is not Api.OPENAI:
            known = "gen_ai.request.metadata"
        attributes[known or prefix + name] = _bounded(value)
        if name == _NEWER_LIMIT:  # an experiment can then send the parameter under this name
            attributes[f"treadle.request.{name}"] = _bounded(value)
    metadata = request.body.values.get("metadata")
    if isinstance(metadata, Mapping) and (session := claude_code_session(metadata.get("user_id"))):
        attributes["user.id"] = session.user
    tools = request.body.values.get("tools") or request.body.values.get("functions")
    if api is not Api.OPENAI:
        tools = chat_tools(request.tools)
    if tools:
        attributes["gen_ai.tool.definitions"] = json.dumps(tools, ensure_ascii=False)
    return attributes


def _recorded_values(request: CallRequest) -> Mapping[str, object]:
    """The parameters of a request, without media."""
    if not request.operation.passes_through:
        return request.parameters
    text = json.dumps(request.parameters).encode()
    values: dict[str, object] = json.loads(MediaFilter().feed(text))
    return values


def _media_input(request: CallRequest) -> str | None:
    """The input of a call whose request may contain media.

    If a model reads or makes media, the input is one chat message. For other calls, such as an
    upload of a file, the input is an object with all parameters.
    """
    values = _recorded_values(request)
    if not request.operation.makes_media:
        return _to_json(values) if values else None
    texts = [values.get(name) for name in ("prompt", "input")]
    files = [value for name, value in values.items() if name.partition("[")[0] in _FILES]
    content = [
        each if isinstance(each, str) else json.dumps(each) for each in (*texts, *files) if each
    ]
    return _to_json([{"role": "user", "content": "\n".join(content)}])


def recorded_input(request: CallRequest) -> str | None:
    """The input of the call: messages in the form of chat requests, or texts to embed."""
    values = request.body.values
    if request.operation.passes_through:
        return _media_input(request)
    if request.target.api is Api.ANTHROPIC:
        return _to_json(anthropic_request_messages(values))
    if request.target.api is Api.GEMINI:
        embeds = request.operation is Operation.EMBEDDINGS
        return _to_json((gemini_embedding_texts if embeds else gemini_request_messages)(values))
    if request.operation is Operation.EMBEDDINGS:
        given = values.get("input")
        return given if isinstance(given, str) else _to_json(given)
    if request.operation is Operation.RESPONSES:
        return _to_json(merge_assistant_messages(messages_of_request(values)))
    return _to_json(values.get("messages"))


def _to_json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _bounded(value: object) -> JsonValue:
    if isinstance(value, str):
        return value[:_WRITTEN_LIMIT]
    if isinstance(value, float):
        return double_value(value)
    if isinstance(value, bool | int):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    return json.dumps(value, ensure_ascii=False)[:_WRITTEN_LIMIT]
