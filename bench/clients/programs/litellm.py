"""litellm with its callback `otel`. Tools and the run are spans of the application itself."""

import json
import time
from typing import Any

import litellm
from opentelemetry import trace

from bench.clients import scenario

scenario.setup("litellm")
MODEL = f"openai/{scenario.MODEL}"
tracer = trace.get_tracer("weather")


def ask(messages: list[Any], **more: Any) -> Any:
    return litellm.completion(model=MODEL, messages=messages, num_retries=0, **more)


def get_weather(city: str) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.arguments": json.dumps({"city": city}),
    }
    with tracer.start_as_current_span("execute_tool", attributes=attributes) as span:
        result = scenario.get_weather(city)
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
    return result


def chat() -> None:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "session.id": scenario.THREAD,
        "user.id": scenario.USER,
        "service.version": scenario.RELEASE,
        "labels": scenario.TAGS,
        "metadata": json.dumps(scenario.METADATA),
        "input.value": scenario.QUESTION,
    }
    with tracer.start_as_current_span(scenario.ROOT, attributes=attributes) as root:
        reply = ask(scenario.MESSAGES, tools=[scenario.TOOL]).choices[0].message
        messages = scenario.with_tool_results(scenario.MESSAGES, reply, get_weather)
        answer = ask(messages, tools=[scenario.TOOL]).choices[0].message.content
        root.set_attribute("output.value", answer)


def stream() -> None:
    options = {"include_usage": True}
    for _chunk in ask(scenario.MESSAGES, stream=True, stream_options=options):
        pass


def embed() -> None:
    litellm.embedding(model=f"openai/{scenario.EMBEDDER}", input=[scenario.EMBEDDED])


def fail() -> None:
    ask(scenario.REFUSED_MESSAGES)


def responses() -> None:
    litellm.responses(
        model=MODEL, instructions=scenario.SYSTEM, input=scenario.QUESTION, num_retries=0
    )


def image() -> None:
    ask(scenario.IMAGE_MESSAGES)


def failing_tool() -> None:
    reply = ask(scenario.FAILING_MESSAGES, tools=[scenario.TOOL]).choices[0].message
    scenario.with_tool_results(scenario.FAILING_MESSAGES, reply, get_weather)


def finish() -> None:
    time.sleep(1)  # litellm calls its callbacks in a thread
    provider: Any = trace.get_tracer_provider()
    provider.force_flush()


if __name__ == "__main__":
    ask(scenario.MESSAGES)  # litellm creates the exporter of all spans in its first call
    parts = {
        "chat": chat, "stream": stream, "embed": embed, "fail": fail, "responses": responses,
        "image": image, "failing tool": failing_tool,
    }  # fmt: skip
    lacks = {
        "stream/first token": "the callback sends it as a metric only",
        "tool call id": "the callback leaves it out",
        "responses/output": "the callback leaves out the reasoning",
    }
    scenario.run(parts, ["litellm", "openai", "opentelemetry-sdk"], lacks, finish)
