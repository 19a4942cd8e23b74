"""pydantic-ai with its own instrumentation."""

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

import openai
from opentelemetry import trace
from pydantic_ai import Agent, BinaryContent, Embedder
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from bench.clients import scenario

exported = scenario.setup("provider")
provider = OpenAIProvider(openai_client=openai.AsyncOpenAI(max_retries=0))


def agent(tools: Sequence[Any] = (), model: Any = OpenAIChatModel) -> Agent:
    return Agent(
        model(scenario.MODEL, provider=provider),
        instructions=scenario.SYSTEM,
        name="forecaster",
        tools=tools,
    )


async def chat() -> None:
    root = {
        "session.id": scenario.THREAD,
        "user.id": scenario.USER,
        "tag.tags": scenario.TAGS,
        "metadata": '{"tenant": "acme"}',
        "gen_ai.operation.name": "invoke_workflow",
        "input.value": scenario.QUESTION,
    }
    with trace.get_tracer("weather").start_as_current_span(scenario.ROOT, attributes=root) as span:
        result = await agent([scenario.get_weather]).run(scenario.QUESTION)
        span.set_attribute("output.value", result.output)


async def stream() -> None:
    async with agent().run_stream(scenario.QUESTION) as streamed:
        async for _text in streamed.stream_text():
            pass


async def embed() -> None:
    embedder = Embedder(OpenAIEmbeddingModel(scenario.EMBEDDER, provider=provider))
    await embedder.embed_query(scenario.EMBEDDED)


async def image() -> None:
    content = base64.b64decode(scenario.IMAGE.partition(",")[2])
    await Agent(OpenAIChatModel(scenario.MODEL, provider=provider)).run(
        [scenario.IMAGE_QUESTION, BinaryContent(content, media_type="image/png")]
    )


async def cancelled_tool() -> None:
    """One of two tools fails while the other one runs."""

    def call_both(_messages: Any, _info: AgentInfo) -> ModelResponse:
        calls = [(waiting_tool.__name__, {}), ("get_weather", {"city": scenario.FAILING_CITY})]
        return ModelResponse([ToolCallPart(name, given) for name, given in calls])

    async def waiting_tool() -> None:
        await asyncio.sleep(60)

    async def get_weather(city: str) -> dict[str, Any]:
        await asyncio.sleep(0.02)
        return scenario.get_weather(city)

    await Agent(FunctionModel(call_both), tools=[waiting_tool, get_weather]).run("Call both.")


async def second_turn() -> None:
    """A run that continues another one."""
    first = await agent([scenario.get_weather]).run(scenario.QUESTION)
    await agent().run("Thank you.", message_history=first.all_messages())


PARTS = {
    "chat": chat,
    "stream": stream,
    "embed": embed,
    "fail": lambda: Agent(OpenAIChatModel(scenario.MODEL, provider=provider)).run(
        scenario.REFUSED_QUESTION
    ),
    "responses": lambda: agent(model=OpenAIResponsesModel).run(scenario.QUESTION),
    "image": image,
    "failing tool": lambda: agent([scenario.get_weather]).run(scenario.FAILING_QUESTION),
    "cancelled tool": cancelled_tool,
    "second turn": second_turn,
}
LACKS = {
    "fail/call/input": "the messages of a call are sent with its reply",
}

if __name__ == "__main__":
    scenario.run(PARTS, ["pydantic-ai-slim", "openai"], LACKS, exported.force_flush)
