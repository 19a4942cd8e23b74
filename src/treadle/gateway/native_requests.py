"""Converts requests of Anthropic's and Gemini's APIs to the form of chat requests."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from treadle.gateway.media_notes import without_media
from treadle.spans.vocabularies.messages import Message, read_messages

Values = Mapping[str, Any]


def anthropic_request_messages(values: Values) -> list[Message]:
    """The messages of a request to Anthropic's API, with its system prompt."""
    messages = values.get("messages")
    contents = [
        {**each, "content": plain_blocks(each.get("content"))}
        if isinstance(each, Mapping)
        else each
        for each in (messages if isinstance(messages, list) else [])
    ]
    system = plain_blocks(values.get("system"))
    given = without_media({"messages": contents, "system": system}, images=True)
    return read_messages(given, "user")


def plain_blocks(content: object) -> object:
    """The content of a message of Anthropic's API, in which texts are as simple as possible.

    A single text block becomes its text. The text blocks of a tool result are joined.
    """
    if not isinstance(content, list):
        return content
    texts = _texts_of_blocks(content)
    if texts is not None and len(texts) == 1:
        return texts[0]
    return [_plain_result(each) for each in content]


def _plain_result(block: object) -> object:
    if not isinstance(block, Mapping) or block.get("type") != "tool_result":
        return block
    content = block.get("content")
    texts = _texts_of_blocks(content) if isinstance(content, list) else None
    return block if texts is None else {**block, "content": "\n".join(texts)}


def _texts_of_blocks(blocks: Sequence[object]) -> list[str] | None:
    """The texts of text blocks, or None if any other block is among them."""
    texts = [
        block.get("text") if isinstance(block, Mapping) and block.get("type") == "text" else None
        for block in blocks
    ]
    found = [text for text in texts if isinstance(text, str)]
    return found if len(found) == len(texts) else None


def gemini_request_messages(values: Values) -> list[Message]:
    """The messages of a request to Gemini's API, with its system instruction."""
    contents = values.get("contents")
    contents = contents if isinstance(contents, list) else [contents] if contents else []
    system = values.get("systemInstruction") or values.get("system_instruction")
    if isinstance(system, Mapping):
        contents = [{**system, "role": "system"}, *contents]
    return gemini_messages(contents, images=True)


def gemini_embedding_texts(values: Values) -> object:
    """The text or the texts of a request for embeddings."""
    requests = values.get("requests")
    given = requests if isinstance(requests, list) else [values]
    texts = [_text_of(each.get("content")) for each in given if isinstance(each, Mapping)]
    return texts if isinstance(requests, list) else texts[0]


def gemini_messages(contents: Sequence[Any], *, images: bool) -> list[Message]:
    """Convert contents of Gemini's API. `images` states whether images are kept."""
    messages: list[Message] = []
    for content in contents:
        if not isinstance(content, Mapping):
            messages += read_messages(content, "user")
            continue
        parts = content.get("parts")
        typed = [
            _typed(part if isinstance(part, Mapping) else {"text": str(part)}, images=images)
            for part in (parts if isinstance(parts, list) else [])
        ]
        role = content.get("role") or "user"
        messages += read_messages({"role": role, "content": plain_blocks(typed)}, "user")
    return messages


def chat_tools(tools: Sequence[Values]) -> list[Values]:
    """The tools in the form of chat requests. Tools that the provider runs stay unchanged."""
    found: list[Values] = []
    for tool in tools:
        declared = tool.get("functionDeclarations") or tool.get("function_declarations")
        if isinstance(declared, list):
            found += [_chat_tool(each) for each in declared if isinstance(each, Mapping)]
        else:
            found.append(_chat_tool(tool) if "input_schema" in tool else tool)
    return found


def _chat_tool(tool: Values) -> Values:
    schemas = ("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema")
    schema = next((tool[name] for name in schemas if name in tool), None)
    function = {"name": tool.get("name"), "description": tool.get("description")}
    function["parameters"] = schema
    given = {name: value for name, value in function.items() if value is not None}
    return {"type": "function", "function": given}


def _typed(part: Values, *, images: bool) -> dict[str, Any]:
    """A part of Gemini's API as a part with a type, which `read_messages` reads."""
    call = part.get("functionCall") or part.get("function_call")
    result = part.get("functionResponse") or part.get("function_response")
    data = part.get("inlineData") or part.get("inline_data")
    if isinstance(call, Mapping):
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        name = call.get("name")
        return {
            "type": "tool_call", "id": call.get("id") or name, "name": name, "arguments": arguments
        }  # fmt: skip
    if isinstance(result, Mapping):
        called = result.get("id") or result.get("name")
        return {"type": "tool_result", "id": called, "result": result.get("response")}
    if isinstance(data, Mapping):
        media = str(data.get("mimeType") or data.get("mime_type") or "")
        kept = without_media(data, images=images)
        assert isinstance(kept, dict)  # an object stays an object
        if images and media.startswith("image/"):
            return {"type": "image", "mime_type": media, "data": kept.get("data")}
        return {"type": "text", "text": str(kept.get("data") or "")}
    if "text" in part:
        kind = "reasoning" if part.get("thought") is True else "text"
        return {"type": kind, "text": part["text"]}
    return {"type": "unknown", **part}


def _text_of(content: object) -> str:
    parts = content.get("parts") if isinstance(content, Mapping) else None
    texts = [each.get("text") for each in parts or () if isinstance(each, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))
