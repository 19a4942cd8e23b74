"""The tracing SDK of MLflow with its automatic traces of the `openai` client."""

import os
from typing import Any

import mlflow
import openai

from bench.clients import scenario

scenario.setup("mlflow")
SESSION, USER = "mlflow.trace.session", "mlflow.trace.user"
if os.environ.get("MLFLOW_ENABLE_OTEL_GENAI_SEMCONV"):  # it drops the attributes `mlflow.…`
    SESSION, USER = "session.id", "user.id"
client = openai.OpenAI(max_retries=0)


def ask(messages: list[Any], **more: Any) -> Any:
    return client.chat.completions.create(model=scenario.MODEL, messages=messages, **more)


@mlflow.trace(name="get_weather", span_type="TOOL")
def get_weather(city: str) -> dict[str, Any]:
    return scenario.get_weather(city)


@mlflow.trace(name=scenario.ROOT, span_type="AGENT")
def weather_run(question: str) -> str:
    mlflow.update_current_trace(tags=dict.fromkeys(scenario.TAGS, "true"))
    context = {
        SESSION: scenario.THREAD, USER: scenario.USER,
        "metadata": scenario.METADATA, "release": scenario.RELEASE,
    }  # fmt: skip
    mlflow.get_current_active_span().set_attributes(context)
    messages = [scenario.MESSAGES[0], {"role": "user", "content": question}]
    reply = ask(messages, tools=[scenario.TOOL]).choices[0].message
    messages = scenario.with_tool_results(messages, reply, get_weather)
    return str(ask(messages, tools=[scenario.TOOL]).choices[0].message.content)


def stream() -> None:
    options = {"include_usage": True}
    for _chunk in ask(scenario.MESSAGES, stream=True, stream_options=options):
        pass


def embed() -> None:
    client.embeddings.create(model=scenario.EMBEDDER, input=scenario.EMBEDDED)


def responses() -> None:
    client.responses.create(
        model=scenario.MODEL, instructions=scenario.SYSTEM, input=scenario.QUESTION
    )


def failing_tool() -> None:
    reply = ask(scenario.FAILING_MESSAGES, tools=[scenario.TOOL]).choices[0].message
    scenario.with_tool_results(scenario.FAILING_MESSAGES, reply, get_weather)


def main(lacks: dict[str, str]) -> None:
    parts = {
        "chat": lambda: weather_run(scenario.QUESTION), "stream": stream, "embed": embed,
        "fail": lambda: ask(scenario.REFUSED_MESSAGES), "responses": responses,
        "image": lambda: ask(scenario.IMAGE_MESSAGES), "failing tool": failing_tool,
    }  # fmt: skip
    packages = ["mlflow", "openai"]
    scenario.run(parts, packages, lacks, mlflow.flush_trace_async_logging)


if __name__ == "__main__":
    main({"embed/provider": "MLflow does not send it"})
