"""Records the HTTP answers of the llama.cpp server into `tests/cases/recorded/`.

    python scripts/record_llama_server.py

Needs the embedded model's packages. The bytes are kept as received, except for ids and times of
this run, which are replaced, so that a recording changes only with the server.
"""

import http.client
import json
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fakes.llama_server import STRICT_TEMPLATE, TEMPLATE, llama_server

FOLDER = Path("tests/cases/recorded")

_TOOL = {
    "type": "function",
    "function": {
        "name": "request_code_context",
        "description": "Get the code that matters.",
        "parameters": {
            "type": "object",
            "properties": {"token_budget": {"type": "integer"}},
            "required": ["token_budget"],
        },
    },
}
_QUESTION = {"role": "user", "content": "Where is the index built?"}
_CALL = {
    "id": "a",
    "type": "function",
    "function": {"name": "request_code_context", "arguments": '{"token_budget": 800}'},
}
_ALONE = {"stream": True, "stream_options": {"include_usage": True}, "temperature": 0}
_ANSWERED = [
    _QUESTION,
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "a", "content": '{"ok": true, "context": []}'},
]

REQUESTS: dict[str, dict[str, object]] = {
    "llama_cpp_call.sse": {**_ALONE, "messages": [_QUESTION], "tools": [_TOOL], "max_tokens": 60},
    "llama_cpp_call.json": {
        **_ALONE,
        "stream": False,
        "messages": [_QUESTION],
        "tools": [_TOOL],
        "max_tokens": 60,
    },
    "llama_cpp_cut.sse": {**_ALONE, "messages": [_QUESTION], "tools": [_TOOL], "max_tokens": 14},
    "llama_cpp_text.sse": {**_ALONE, "messages": _ANSWERED, "max_tokens": 12},
    "llama_cpp_too_long.json": {
        **_ALONE,
        "messages": [{"role": "user", "content": "word " * 6_000}],
    },
    "llama_cpp_no_messages.json": {**_ALONE, "messages": "none"},
}


STRICT: dict[str, dict[str, object]] = {
    "llama_cpp_roles.json": {**_ALONE, "messages": [*_ANSWERED, _QUESTION]},
}
"""Requests to a server whose template requires alternating roles, like those of Mistral models."""


def main() -> int:
    """Record every request again."""
    for template, requests in ((TEMPLATE, REQUESTS), (STRICT_TEMPLATE, STRICT)):
        with llama_server(template) as base_url:
            for name, request in requests.items():
                status, content = _ask(base_url, request)
                (FOLDER / name).write_bytes(_without_names(content))
                sys.stderr.write(f"{name}: status {status}, {len(content)} bytes\n")
    return 0


def _ask(base_url: str, request: dict[str, object]) -> tuple[int, bytes]:
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    sent = {"model": "m", **request}
    if not sent["stream"]:
        del sent["stream_options"]
    path = f"{parts.path}/chat/completions"
    connection.request("POST", path, json.dumps(sent), {"content-type": "application/json"})
    response = connection.getresponse()
    try:
        return response.status, response.read()
    finally:
        connection.close()


def _without_names(content: bytes) -> bytes:
    content = re.sub(rb'"id":"(chatcmpl-)?\w{32}"', rb'"id":"\1recorded"', content)
    content = re.sub(rb'"created":\d+', b'"created":1', content)
    return re.sub(rb'("\w+_(?:ms|second)"):[\d.]+', rb"\1:1.0", content)


if __name__ == "__main__":
    sys.exit(main())
