"""Logfire with its instrumentation of the `openai` client."""

import json
from typing import Any

import logfire
import openai

from bench.clients import scenario

scenario.setup("logfire")
client = openai.OpenAI(max_retries=0)


def get_weather(city: str) -> dict[str, Any]:
    """The tool, in a span with the names of OpenTelemetry. Logfire itself has no tools."""
    given = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.arguments": json.dumps({"city": city}),
    }
    with logfire.span("execute_tool get_weather", **given) as span:
        result = scenario.get_weather(city)
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
        return result


def ask(messages: list[Any], **more: Any) -> Any:
    return client.chat.completions.create(model=scenario.MODEL, messages=messages, **more)


def chat() -> None:
    context = {"gen_ai.conversation.id": scenario.THREAD, "user.id": scenario.USER}
    asked = [{"role": "user", "content": scenario.QUESTION}]
    run = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": asked,
        "metadata": scenario.METADATA,
    }
    with (
        logfire.set_baggage(**context),
        logfire.span(scenario.ROOT, _tags=scenario.TAGS, **run) as span,
    ):
        first = ask(scenario.MESSAGES, tools=[scenario.TOOL])
        message = first.choices[0].message
        again = scenario.with_tool_results(scenario.MESSAGES, message, get_weather)
        answer = ask(again, tools=[scenario.TOOL]).choices[0].message.content
        span.set_attribute("gen_ai.output.messages", [{"role": "assistant", "content": answer}])


def stream() -> None:
    options = {"stream": True, "stream_options": {"include_usage": True}}
    with ask(scenario.MESSAGES, **options) as chunks:
        for _chunk in chunks:
            pass


def embed() -> None:
    client.embeddings.create(model=scenario.EMBEDDER, input=scenario.EMBEDDED)


def responses() -> None:
    client.responses.create(
        model=scenario.MODEL, instructions=scenario.SYSTEM, input=scenario.QUESTION
    )


def redacted_thread() -> None:
    """Logfire replaces the value of an attribute whose name contains `session`."""
    with logfire.span("redacted thread", session_id=scenario.THREAD):
        pass


PARTS = {
    "chat": chat,
    "stream": stream,
    "embed": embed,
    "fail": lambda: ask(scenario.REFUSED_MESSAGES),
    "responses": responses,
    "image": lambda: ask(scenario.IMAGE_MESSAGES),
    "failing tool": lambda: get_weather(scenario.FAILING_CITY),
    "redacted thread": redacted_thread,
}
LACKS = {
    "first token": "no span or event has the time of the first chunk",
}

if __name__ == "__main__":
    scenario.run(PARTS, ["logfire", "openai"], LACKS, logfire.force_flush)
