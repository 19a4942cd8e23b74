"""Traceloop's SDK with its decorators and its instrumentation of the client of OpenAI."""

import os
from typing import Any

from bench.clients import scenario

os.environ["OTEL_RESOURCE_ATTRIBUTES"] = f"service.version={scenario.RELEASE}"
Traceloop = scenario.setup("Traceloop")

from openai import OpenAI  # noqa: E402
from opentelemetry import trace  # noqa: E402
from traceloop.sdk.decorators import tool, workflow  # noqa: E402

openai = OpenAI(max_retries=0)


@tool(name="get_weather")
def get_weather(city: str) -> dict[str, Any]:
    return scenario.get_weather(city)


def ask(messages: list[Any], **more: Any) -> Any:
    return openai.chat.completions.create(model=scenario.MODEL, messages=messages, **more)


@workflow(name=scenario.ROOT)
def weather_run(_question: str) -> str:
    reply = ask(scenario.MESSAGES, tools=[scenario.TOOL]).choices[0].message
    messages = scenario.with_tool_results(scenario.MESSAGES, reply, get_weather)
    return str(ask(messages, tools=[scenario.TOOL]).choices[0].message.content)


def chat() -> None:
    Traceloop.set_association_properties(
        {
            "session_id": scenario.THREAD,
            "user_id": scenario.USER,
            "tags": scenario.TAGS,
            **scenario.METADATA,
        }
    )
    weather_run(scenario.QUESTION)
    Traceloop.set_association_properties({})


def stream() -> None:
    for _chunk in ask(scenario.MESSAGES, stream=True, stream_options={"include_usage": True}):
        pass


def embed() -> None:
    openai.embeddings.create(model=scenario.EMBEDDER, input=scenario.EMBEDDED)


def fail() -> None:
    ask(scenario.REFUSED_MESSAGES)


def responses() -> None:
    openai.responses.create(
        model=scenario.MODEL, instructions=scenario.SYSTEM, input=scenario.QUESTION
    )


def image() -> None:
    ask(scenario.IMAGE_MESSAGES)


def failing_tool() -> None:
    reply = ask(scenario.FAILING_MESSAGES, tools=[scenario.TOOL]).choices[0].message
    scenario.with_tool_results(scenario.FAILING_MESSAGES, reply, get_weather)


def finish() -> None:
    trace.get_tracer_provider().shutdown()  # type: ignore[attr-defined]


if __name__ == "__main__":
    parts = {
        "chat": chat, "stream": stream, "embed": embed, "fail": fail, "responses": responses,
        "image": image, "failing tool": failing_tool,
    }  # fmt: skip
    packages = ["traceloop-sdk", "opentelemetry-instrumentation-openai", "openai"]
    scenario.run(parts, packages, finish=finish)
