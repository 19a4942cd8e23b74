"""Langfuse with its drop-in client of OpenAI, and its observations for the run and the tool."""

import os
from collections.abc import Mapping
from typing import Any

from bench.clients import scenario

os.environ["LANGFUSE_RELEASE"] = scenario.RELEASE
scenario.setup("langfuse")

from langfuse import get_client, observe, propagate_attributes  # noqa: E402
from langfuse.openai import OpenAI  # noqa: E402

langfuse = get_client()
openai = OpenAI(max_retries=0)


@observe(as_type="tool")
def get_weather(city: str) -> dict[str, Any]:
    return scenario.get_weather(city)


def ask(messages: list[Any], **more: Any) -> Any:
    return openai.chat.completions.create(model=scenario.MODEL, messages=messages, **more)


def chat() -> None:
    run = langfuse.start_as_current_observation(
        name=scenario.ROOT, as_type="agent", input=scenario.QUESTION
    )
    context = propagate_attributes(
        session_id=scenario.THREAD, user_id=scenario.USER, tags=scenario.TAGS,
        metadata=scenario.METADATA,
    )  # fmt: skip
    with run as agent, context:
        reply = ask(scenario.MESSAGES, tools=[scenario.TOOL]).choices[0].message
        messages = scenario.with_tool_results(scenario.MESSAGES, reply, get_weather)
        agent.update(output=ask(messages, tools=[scenario.TOOL]).choices[0].message.content)


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
    langfuse.create_score(name="rating", value=1.0, trace_id="0" * 31 + "1")
    langfuse.shutdown()


def main(more_lacks: Mapping[str, str] | None = None) -> None:
    """Run the scenario with the installed version of the client.

    `more_lacks` are the figures that only this version does not send.
    """
    parts = {
        "chat": chat, "stream": stream, "embed": embed, "fail": fail, "responses": responses,
        "image": image, "failing tool": failing_tool,
    }  # fmt: skip
    lacks = {
        "provider": "the client does not name the provider",
        "error type": "the client sends only the message",
        **(more_lacks or {}),
    }
    scenario.run(parts, ["langfuse", "openai"], lacks=lacks, finish=finish)


if __name__ == "__main__":
    main()
