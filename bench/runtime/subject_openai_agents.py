"""The same session with openai-agents; run by the Python of its own environment."""

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from bench.runtime.measuring import TURNS, echoed, run


async def echo(text: str) -> str:
    """Say it."""
    return f'{{"ok":true,"type":"echo","v":1,"text":"{echoed(text)}"}}'


async def session(url: str) -> str:
    set_tracing_disabled(disabled=True)  # it would be sent away
    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        model = OpenAIChatCompletionsModel("fake-model", client)
        agent = Agent("bench", model=model, tools=[function_tool(echo)])
        result = await Runner.run(agent, "Go", max_turns=TURNS + 1)
    return str(result.final_output)


if __name__ == "__main__":
    run(session)
