"""The calls that every client makes, and how its program reports them.

A program of `bench/clients/programs` imports this module in the client's own environment, so it
uses the standard library only, and nothing of Treadle.
"""

import asyncio
import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

MODEL, EMBEDDER = "gpt-4o-mini", "text-embedding-3-small"
SYSTEM = "Be brief."
QUESTION = "What is the weather in Zürich? 🌦"
FAILING_QUESTION = "What is the weather in Atlantis?"
REFUSED_QUESTION = "Please fail."
IMAGE_QUESTION = "What is in the image?"
ANSWER = "It rains in Zürich."
EMBEDDED = "a text"
CITY, FAILING_CITY = "Zürich", "Atlantis"
RESULT = {"celsius": 11, "sky": "rain"}
TOOL_ERROR = "no such city"
IMAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGA"
    "hKmMIQAAAABJRU5ErkJggg=="
)
ROOT, THREAD, USER, RELEASE = "weather run", "thread-1", "alice", "1.4"
TAGS = ["beta"]
METADATA = {"tenant": "acme"}

FUNCTION = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
TOOL = {"type": "function", "function": FUNCTION}
MESSAGES = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
FAILING_MESSAGES = [{"role": "user", "content": FAILING_QUESTION}]
REFUSED_MESSAGES = [{"role": "user", "content": REFUSED_QUESTION}]
IMAGE_MESSAGES = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": IMAGE_QUESTION},
            {"type": "image_url", "image_url": {"url": IMAGE}},
        ],
    }
]


def get_weather(city: str) -> dict[str, Any]:
    """The weather of a city."""
    if city == FAILING_CITY:
        raise ValueError(TOOL_ERROR)
    return RESULT


def with_tool_results(messages: list[Any], reply: Any, run: Callable[..., Any]) -> list[Any]:
    """The next messages after `reply`, a message of the `openai` client with tool calls."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in reply.tool_calls
    ]
    results = [
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": json.dumps(run(**json.loads(call["function"]["arguments"]))),
        }
        for call in calls
    ]
    return [*messages, {"role": "assistant", "content": None, "tool_calls": calls}, *results]


def setup(name: str) -> Any:
    """Run the lines of the client's page in `docs/clients`, and return their variable `name`."""
    variables: dict[str, Any] = {}
    exec(compile(os.environ["SETUP"], "the client's page", "exec"), variables)
    return variables.get(name)


def run(
    parts: Mapping[str, Callable[[], Any]],
    packages: list[str],
    lacks: Mapping[str, str] | None = None,
    finish: Callable[[], Any] | None = None,
) -> None:
    """Run the parts of the scenario, and print the time of each as a line of JSON.

    `lacks` states the figures that the client does not send, each with the reason. A key is a
    figure (`provider`), a part (`responses`), a call of a part (`fail/tool`), or a figure of one
    (`stream/call/first token`, `root input`). `finish` sends the spans that are still queued.
    """
    versions = {package: version(package) for package in packages}
    _say({"versions": versions, "lacks": dict(lacks or {})})
    loop = asyncio.new_event_loop()
    for name, part in parts.items():
        began, raised = time.time_ns(), None
        try:
            result = part()
            if inspect.isawaitable(result):
                loop.run_until_complete(_value(result))
        except Exception as error:  # noqa: BLE001  (two of the parts raise)
            raised = f"{type(error).__name__}: {error}"[:300]
        _say({"part": name, "began_ns": began, "ended_ns": time.time_ns(), "raised": raised})
        time.sleep(0.02)  # separates the parts, since spans have microseconds
    if finish is not None:
        finish()


async def _value(result: Any) -> Any:
    return await result


def _say(value: Any) -> None:
    sys.stdout.write(f"@@ {json.dumps(value)}\n")
    sys.stdout.flush()
