"""OpenTelemetry's instrumentation of `openai`. The run and tools are spans of the application."""

import json
from typing import Any

from bench.clients import scenario

provider = scenario.setup("provider")

import openai  # noqa: E402  (the lines of the page instrument it first)

client = openai.OpenAI(max_retries=0)
tracer = provider.get_tracer("weather")


def ask(messages: list[Any], **more: Any) -> Any:
    return client.chat.completions.create(model=scenario.MODEL, messages=messages, **more)


def get_weather(city: str) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.arguments": json.dumps({"city": city}),
    }
    with tracer.start_as_current_span("execute_tool get_weather", attributes=attributes) as span:
        result = scenario.get_weather(city)
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
    return result


def chat() -> None:
    run = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": scenario.THREAD,
        "user.id": scenario.USER,
        "labels": scenario.TAGS,
        "metadata": json.dumps(scenario.METADATA),
        "input.value": scenario.QUESTION,
    }
    with tracer.start_as_current_span(scenario.ROOT, attributes=run) as span:
        reply = ask(scenario.MESSAGES, tools=[scenario.TOOL]).choices[0].message
        messages = scenario.with_tool_results(scenario.MESSAGES, reply, get_weather)
        answer = ask(messages, tools=[scenario.TOOL]).choices[0].message.content
        span.set_attribute("output.value", answer)


def stream() -> None:
    options = {"include_usage": True}
    for _chunk in ask(scenario.MESSAGES, stream=True, stream_options=options):
        pass


def embed() -> None:
    client.embeddings.create(model=scenario.EMBEDDER, input=scenario.EMBEDDED)


PARTS = {
    "chat": chat,
    "stream": stream,
    "embed": embed,
    "fail": lambda: ask(scenario.REFUSED_MESSAGES),
    "image": lambda: ask(scenario.IMAGE_MESSAGES),
    "failing tool": lambda: get_weather(scenario.FAILING_CITY),
}

LACKS = {
    "first token": "no attribute or event has it",
    "cached tokens": "the instrumentation leaves them out",
    "chat/call/cost": "the cost depends on the cached tokens",
    "stream/call/cost": "the cost depends on the cached tokens",
    "reasoning tokens": "the instrumentation leaves them out",
    "embed/embedding/input": "the instrumentation leaves it out",
    "responses": "the instrumentation does not cover the Responses API",
    "image/call/input": "the instrumentation leaves out content that is a list",
}

if __name__ == "__main__":
    packages = ["opentelemetry-instrumentation-openai-v2", "openai"]
    scenario.run(PARTS, packages, LACKS, provider.force_flush)
