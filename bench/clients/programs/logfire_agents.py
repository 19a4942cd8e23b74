"""Logfire with its instrumentation of openai-agents."""

import json

import agents
import logfire

from bench.clients import scenario

scenario.setup("logfire")


@agents.function_tool(failure_error_function=lambda _context, error: str(error))
def get_weather(city: str) -> str:
    """The weather of a city."""
    return json.dumps(scenario.get_weather(city))


def agent(model: agents.Model, instructions: str | None = None, **more: object) -> agents.Agent:
    return agents.Agent(name="forecaster", instructions=instructions, model=model, **more)


def chat_model() -> agents.Model:
    return agents.OpenAIChatCompletionsModel(scenario.MODEL, agents.AsyncOpenAI(max_retries=0))


def response_model() -> agents.Model:
    return agents.OpenAIResponsesModel(scenario.MODEL, agents.AsyncOpenAI(max_retries=0))


async def chat() -> None:
    config = agents.RunConfig(
        workflow_name=scenario.ROOT,
        group_id=scenario.THREAD,
        trace_metadata={**scenario.METADATA, "user_id": scenario.USER, "tags": scenario.TAGS},
    )
    await agents.Runner.run(
        agent(chat_model(), scenario.SYSTEM, tools=[get_weather]),
        scenario.QUESTION,
        run_config=config,
    )


async def stream() -> None:
    counted = agents.ModelSettings(include_usage=True)
    asked = agent(chat_model(), scenario.SYSTEM, model_settings=counted)
    streamed = agents.Runner.run_streamed(asked, scenario.QUESTION)
    async for _event in streamed.stream_events():
        pass


async def fail() -> None:
    await agents.Runner.run(agent(chat_model()), scenario.REFUSED_QUESTION)


async def responses() -> None:
    await agents.Runner.run(agent(response_model(), scenario.SYSTEM), scenario.QUESTION)


async def image() -> None:
    content = [
        {"type": "input_text", "text": scenario.IMAGE_QUESTION},
        {"type": "input_image", "image_url": scenario.IMAGE},
    ]
    await agents.Runner.run(agent(response_model()), [{"role": "user", "content": content}])


async def failing_tool() -> None:
    await agents.Runner.run(agent(response_model(), tools=[get_weather]), scenario.FAILING_QUESTION)


PARTS = {
    "chat": chat,
    "stream": stream,
    "fail": fail,
    "responses": responses,
    "image": image,
    "failing tool": failing_tool,
}
LACKS = {
    "embed": "openai-agents makes no embeddings",
    "root input": "the span of a trace has no question",
    "root output": "the span of a trace has no answer",
    "first token": "no span or event has the time of the first chunk",
}

if __name__ == "__main__":
    scenario.run(PARTS, ["logfire", "openai-agents", "openai"], LACKS, logfire.force_flush)
