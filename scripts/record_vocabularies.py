"""Writes the exports of real instrumentations, as OTLP/JSON, for the tests of the vocabularies.

    python scripts/record_vocabularies.py [SUBJECT …]

Run it where the packages of `SUBJECTS` are installed, from the root of the repository. Each subject
makes the same calls to the fake provider of the tests, in a separate process: a streamed request
with tools, the tool, the answer; if it can, an embedding and a failing request.
"""

import asyncio
import base64
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, body, error, usage

_PROGRAM = ("service.name", "telemetry.sdk.language", "telemetry.sdk.name")
"""The recorded attributes of the program; the others describe the machine."""

_HERE = re.compile(r'(?<=File \\")/[^"\\]*/(?=site-packages/|scripts/)')
"""The installation folder of the packages, in the traces of exceptions."""

FOLDER = Path("tests/spans/vocabularies/recorded")

QUESTION = "What is the weather in Zürich? 🌦"
ANSWER = "It rains in Zürich."
RESULT = '{"celsius": 11, "sky": "rain"}'
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
SYSTEM = "Be brief."

_CACHED = {"prompt_tokens_details": {"cached_tokens": 64}}
_THOUGHT = {"completion_tokens_details": {"reasoning_tokens": 7}}


def replies() -> list[Any]:
    """The provider's replies to the calls that every subject makes."""
    call = Call("get_weather", '{"city": "Zürich"}', id="call_weather")
    return [
        Answer(calls=[call], usage=usage(100, 20, **_CACHED)),
        Answer(ANSWER, usage=usage(150, 12, **_THOUGHT)),
    ]


def extra_replies() -> list[Any]:
    """And to an embedding and a failing request."""
    embedding = {"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}
    counted = {"prompt_tokens": 4, "total_tokens": 4}
    made = {"object": "list", "model": "embedder", "data": [embedding], "usage": counted}
    return [body(made), error(400, "no such model")]


def load(name: str) -> Any:
    """A module that is not among the project's dependencies."""
    return importlib.import_module(name)


async def ask(client: Any, *, extras: bool = True) -> None:
    """The calls through the `openai` client."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": QUESTION},
    ]
    stream = await client.chat.completions.create(
        model="gpt-4o-mini",
        messages=messages,
        tools=[TOOL],
        stream=True,
        stream_options={"include_usage": True},
        temperature=0.5,
    )
    async for _chunk in stream:
        pass
    called = {"name": "get_weather", "arguments": '{"city": "Zürich"}'}
    call = {"id": "call_weather", "type": "function", "function": called}
    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    messages.append({"role": "tool", "tool_call_id": "call_weather", "content": RESULT})
    await client.chat.completions.create(model="gpt-4o-mini", messages=messages)
    if extras:
        await client.embeddings.create(model="embedder", input="Zürich", encoding_format="float")
        try:
            await client.chat.completions.create(
                model="gpt-nothing", messages=[{"role": "user", "content": "Hi"}]
            )
        except load("openai").BadRequestError:
            pass


def client(base_url: str) -> Any:
    """An `openai` client of the fake provider."""
    return load("openai").AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)


async def openinference(base_url: str, provider: Any) -> None:
    """openinference-instrumentation-openai, and a session with labels."""
    load("openinference.instrumentation.openai").OpenAIInstrumentor().instrument(
        tracer_provider=provider
    )
    using = load("openinference.instrumentation").using_attributes
    with using(
        session_id="session-7", user_id="user-1", metadata={"plan": "b"}, tags=["beta", "alpha"]
    ):
        await ask(client(base_url))


async def otel(base_url: str, provider: Any) -> None:
    """opentelemetry-instrumentation-openai-v2 with the current names, messages as attributes."""
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    load("opentelemetry.instrumentation.openai_v2").OpenAIInstrumentor().instrument(
        tracer_provider=provider
    )
    await ask(client(base_url))


async def traceloop(base_url: str, provider: Any) -> Any:
    """opentelemetry-instrumentation-openai of traceloop, with its decorators."""
    load("opentelemetry.instrumentation.openai").OpenAIInstrumentor().instrument(
        tracer_provider=provider
    )
    sdk = load("traceloop.sdk")
    exporter = load("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    sdk.Traceloop.init(
        app_name="weather", exporter=exporter, disable_batch=True, telemetry_enabled=False,
        instruments=set(),
    )  # fmt: skip
    decorators = load("traceloop.sdk.decorators")

    @decorators.tool(name="get_weather")  # type: ignore[untyped-decorator]
    def get_weather(city: str) -> str:
        assert city
        return RESULT

    @decorators.workflow(name="forecast")  # type: ignore[untyped-decorator]
    async def forecast() -> str:
        sdk.Traceloop.set_association_properties({"session_id": "session-7", "user_id": "user-1"})
        await ask(client(base_url))
        get_weather("Zürich")
        return ANSWER

    await forecast()
    return exporter.get_finished_spans()


async def langfuse(base_url: str, provider: Any) -> None:
    """The client of langfuse with its wrapper of `openai`, and a tool."""
    maker = load("langfuse")
    made = maker.Langfuse(
        public_key="pk",
        secret_key="none",  # noqa: S106  (nobody asks for it)
        base_url="http://127.0.0.1:9",
        tracer_provider=provider,
    )
    agents = made.start_as_current_observation(name="forecast", as_type="agent", input=QUESTION)
    said = {"session_id": "session-7", "user_id": "user-1", "tags": ["beta", "alpha"]}
    with agents as agent, maker.propagate_attributes(**said):
        wrapped = load("langfuse.openai").AsyncOpenAI(
            base_url=base_url, api_key="none", max_retries=0
        )
        await ask(wrapped)
        with made.start_as_current_observation(
            name="get_weather", as_type="tool", input={"city": "Zürich"}
        ) as tool:
            tool.update(output=json.loads(RESULT))
        with made.start_as_current_observation(
            name="priced", as_type="generation", model="gpt-4o-mini", input=QUESTION
        ) as generation:
            generation.update(
                output=ANSWER,
                usage_details={"input": 100, "output": 12, "input_cached_tokens": 64},
                cost_details={"input": 0.01, "output": 0.02},
            )
        agent.update(output=ANSWER)


async def pydantic_ai(base_url: str, provider: Any) -> None:
    """An agent of pydantic-ai with its own instrumentation, as logfire enables it."""
    agents, model = load("pydantic_ai"), load("pydantic_ai.models.openai")
    settings = load("pydantic_ai.models.instrumented").InstrumentationSettings(
        tracer_provider=provider
    )
    made = load("pydantic_ai.providers.openai").OpenAIProvider(openai_client=client(base_url))
    agent = agents.Agent(
        model.OpenAIChatModel("gpt-4o-mini", provider=made),
        instructions=SYSTEM,
        name="forecaster",
        capabilities=[load("pydantic_ai.capabilities").Instrumentation(settings)],
    )

    @agent.tool_plain  # type: ignore[untyped-decorator]
    def get_weather(city: str) -> str:
        """The weather of a city."""
        assert city
        return RESULT

    await agent.run(QUESTION)


async def logfire(base_url: str, _provider: Any) -> Any:
    """Logfire's instrumentation of the `openai` client, within a separate span."""
    sdk = load("logfire")
    exporter = load("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    processor = load("opentelemetry.sdk.trace.export").SimpleSpanProcessor(exporter)
    sdk.configure(
        send_to_logfire=False, console=False, additional_span_processors=[processor],
        service_name="weather",
    )  # fmt: skip
    made = client(base_url)
    sdk.instrument_openai(made)
    with sdk.span("forecast for {city}", city="Zürich", _tags=["beta", "alpha"]):
        await ask(made)
    return exporter.get_finished_spans()


Subject = Callable[[str, Any], Awaitable[Any]]
"""Makes the calls; returns the spans that it exported elsewhere."""

SUBJECTS: dict[str, tuple[Subject, tuple[str, ...]]] = {
    "openinference": (openinference, ("openinference-instrumentation-openai",)),
    "otel": (otel, ("opentelemetry-instrumentation-openai-v2", "opentelemetry-util-genai")),
    "traceloop": (traceloop, ("opentelemetry-instrumentation-openai", "traceloop-sdk")),
    "langfuse": (langfuse, ("langfuse",)),
    "pydantic_ai": (pydantic_ai, ("pydantic-ai-slim",)),
    "logfire": (logfire, ("logfire",)),
}


async def record(name: str) -> None:
    """Let one subject make its calls, and write its export."""
    trace = load("opentelemetry.sdk.trace")
    export = load("opentelemetry.sdk.trace.export")
    memory = load("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter, provider = memory.InMemorySpanExporter(), trace.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    subject, packages = SUBJECTS[name]
    async with FakeProvider([*replies(), *extra_replies()], strict=False) as fake:
        elsewhere = await subject(fake.base_url, provider)
    spans = [*exporter.get_finished_spans(), *(elsewhere or ())]
    encode = load("opentelemetry.exporter.otlp.proto.common.trace_encoder").encode_spans
    as_json = load("google.protobuf.json_format").MessageToDict(encode(spans))
    versions = {package: version(package) for package in (*packages, "openai")}
    recorded = {"versions": versions, "request": _with_hex_ids(as_json)}
    text = _HERE.sub("", json.dumps(recorded, ensure_ascii=False, indent=1)) + "\n"
    await asyncio.to_thread((FOLDER / f"{name}.json").write_text, text, encoding="utf-8")
    print(f"{name}: {len(spans)} spans, {versions}", file=sys.stderr)  # noqa: T201  (a script)


def _with_hex_ids(value: Any) -> Any:
    """OTLP/JSON has hexadecimal ids, unlike protobuf's own JSON."""
    if isinstance(value, list):
        return [_with_hex_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    if "resource" in value:
        said = value["resource"]["attributes"]
        value["resource"]["attributes"] = [each for each in said if each["key"] in _PROGRAM]
    return {
        key: base64.b64decode(each).hex() if key in ids else _with_hex_ids(each)
        for key, each in value.items()
    }


if __name__ == "__main__":
    if len(sys.argv) == 2:
        asyncio.run(record(sys.argv[1]))
    else:
        for each in sys.argv[1:] or SUBJECTS:
            subprocess.run([sys.executable, __file__, each], check=True)
