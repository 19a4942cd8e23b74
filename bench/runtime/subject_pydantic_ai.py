"""The same session with pydantic-ai; run by the Python of its own environment."""

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from bench.runtime.measuring import echoed, run


async def echo(text: str) -> dict[str, object]:
    """Say it."""
    return {"ok": True, "type": "echo", "v": 1, "text": echoed(text)}


async def session(url: str) -> str:
    provider = OpenAIProvider(base_url=url, api_key="none")
    agent = Agent(OpenAIChatModel("fake-model", provider=provider), tools=[echo])
    result = await agent.run("Go", usage_limits=UsageLimits(request_limit=None))
    return str(result.output)


if __name__ == "__main__":
    run(session)
