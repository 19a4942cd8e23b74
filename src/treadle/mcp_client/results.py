"""Reads the result of a call from the answer of an MCP server."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from treadle.tools.contract import Result
from treadle.visible import printable


class McpResult(Result):
    """The result of a tool of an MCP server. `text` is foreign text.

    `structured` is the structured content, if the answer has no text.
    """

    type: str = "mcp"
    server: str
    text: str
    structured: JsonValue = None


def read_result(server: str, answer: Mapping[str, Any]) -> McpResult:
    """Read the answer of a server. Contents that are not text are described in words."""
    content = answer.get("content")
    blocks = content if isinstance(content, list) else []
    text = "\n".join(filter(None, map(_block_text, blocks)))
    structured = answer.get("structuredContent")
    return McpResult(server=server, text=printable(text), structured=None if text else structured)


def error_text(answer: Mapping[str, Any]) -> str | None:
    """Return the text of an answer that reports a failure, or None for a success."""
    if answer.get("isError") is not True:
        return None
    return read_result("", answer).text.strip() or "The server gave no reason."


def _block_text(block: object) -> str:
    if not isinstance(block, dict):
        return ""
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio" as kind:
            return f"[{kind}, {_size(block.get('data'))}, not shown]"
        case "resource_link":
            return f"[resource {_short(block.get('name'))} at {_short(block.get('uri'))}]"
        case "resource":
            return _resource_text(block.get("resource"))
        case _:
            return f"[content of an unknown type, {len(json.dumps(block)):,} characters, not shown]"


def _resource_text(resource: object) -> str:
    given = resource if isinstance(resource, dict) else {}
    where = f"resource {_short(given.get('uri'))}"
    if isinstance(given.get("text"), str):
        return f"[{where}]\n{given['text']}"
    return f"[{where}, {_size(given.get('blob'))}, not shown]"


def _size(data: object) -> str:
    return f"about {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else "no data"


def _short(value: object) -> str:
    return str(value)[:300]
