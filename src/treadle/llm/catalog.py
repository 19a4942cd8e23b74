"""Lists the models of providers and tests one model, for `treadle models`."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from treadle.clock import SystemClock
from treadle.config.model import Settings
from treadle.errors import TreadleError
from treadle.llm import provider_errors
from treadle.llm.chat_model import AttemptFinished, AttemptStarted, ChatModel
from treadle.llm.client import calling, new_client
from treadle.llm.embedded import MODEL_NAME, missing_parts
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import ChatRequest, SystemMessage, ToolSpec, UserMessage
from treadle.llm.model_probe import ModelInfo, parse_models
from treadle.llm.profiles import (
    EMBEDDED,
    UNNAMED,
    endpoint_for,
    hosted_with_key,
    local_servers,
    unnamed_endpoint,
)
from treadle.llm.provider_errors import ProviderError

_PING = ChatRequest(
    messages=(
        SystemMessage("You test a connection. Call the tool request_code_context once."),
        UserMessage("Call request_code_context with a token_budget of 800."),
    ),
    tools=(
        ToolSpec(
            "request_code_context",
            "Gets the code that matters for a question.",
            {
                "type": "object",
                "properties": {"token_budget": {"type": "integer", "minimum": 1}},
                "required": ["token_budget"],
                "additionalProperties": False,
            },
        ),
    ),
)
"""The request of the connection test.

It asks for a call of the only tool that the embedded model can call. Therefore every model can be
tested with it.
"""


_LIST_SECONDS = 30.0
"""The time limit in seconds for a list of models, even if its bytes arrive steadily."""


@dataclass(frozen=True, slots=True)
class ProviderModels:
    """The models of one provider.

    If the provider is unreachable, `error` is the reason and `latency` is None. Otherwise `latency`
    is the time of the request in seconds.
    """

    provider: str
    base_url: str | None
    reachable: bool
    error: str | None
    latency: float | None
    models: tuple[ModelInfo, ...]


@dataclass(frozen=True, slots=True)
class ModelTest:
    """The result of a connection test. `tool_call` states whether the model called the tool.

    `error` is None if the model answered. `latency` is in seconds, or None after an error.
    """

    provider: str
    model: str
    reachable: bool
    error: str | None
    latency: float | None
    tool_call: bool


async def fetch_models(endpoint: Endpoint) -> tuple[ModelInfo, ...]:
    """Return the models that the endpoint lists. Raises ProviderError."""
    client = await asyncio.to_thread(new_client, endpoint)
    try:
        async with asyncio.timeout(_LIST_SECONDS), calling(endpoint, SystemClock()):
            response = await client.models.with_raw_response.list(timeout=_LIST_SECONDS)
        return parse_models(json.loads(response.content))
    except TimeoutError as error:
        why = f"its list of models did not arrive within {_LIST_SECONDS:g} s"
        raise provider_errors.broken_off(endpoint, why) from error
    except (ValueError, RecursionError) as error:
        raise provider_errors.protocol(
            endpoint, f"its list of models is invalid ({error})"
        ) from error
    finally:
        await client.close()


async def list_models(settings: Settings, env: Mapping[str, str]) -> list[ProviderModels]:
    """List the models of all usable providers concurrently.

    A provider is usable if it has a key, is configured, or runs on this machine.
    """
    endpoints = []
    if (unnamed := unnamed_endpoint(settings, env, "")) is not None:
        endpoints.append(unnamed)
    listed = []
    hosted = [profile.name for profile in hosted_with_key(settings, env)]
    for name in dict.fromkeys([*hosted, *settings.providers]):
        if name in (UNNAMED, EMBEDDED):
            continue
        try:
            endpoints.append(await endpoint_for(settings, env, name, ""))
        except TreadleError as error:
            listed.append(ProviderModels(name, None, False, str(error), None, ()))
    done = {endpoint.provider for endpoint in endpoints}
    endpoints += [
        server.endpoint
        for server in await local_servers(settings, env)
        if server.endpoint.provider not in done
    ]
    listed += await asyncio.gather(*(_list_models(endpoint) for endpoint in endpoints))
    if not missing_parts():
        own = (ModelInfo(MODEL_NAME),)
        listed.append(ProviderModels(EMBEDDED, None, True, None, None, own))
    return listed


async def check_model(model: ChatModel) -> ModelTest:
    """Ask `model` to call a tool, once, and return the result. The caller closes the model."""
    started = time.monotonic()
    try:
        reply = await model.complete(_PING, _Silent())
    except ProviderError as error:
        return ModelTest(model.provider, model.model, False, str(error), None, False)
    latency = time.monotonic() - started
    called = any(call.name == _PING.tools[0].name for call in reply.message.calls)
    return ModelTest(model.provider, model.model, True, None, latency, called)


async def _list_models(endpoint: Endpoint) -> ProviderModels:
    name, url, own = endpoint.provider, endpoint.base_url, endpoint.settings.models
    started = time.monotonic()
    try:
        models = await fetch_models(endpoint)
    except ProviderError as error:
        return ProviderModels(name, url, False, str(error), None, tuple(map(ModelInfo, own)))
    latency = time.monotonic() - started
    if own:
        known = {info.id: info for info in models}
        models = tuple(known.get(model, ModelInfo(model)) for model in own)
    return ProviderModels(name, url, True, None, latency, models)


class _Silent:
    """An observer that ignores everything."""

    async def attempt_started(self, attempt: AttemptStarted) -> None: ...

    async def attempt_finished(self, attempt: AttemptFinished) -> None: ...

    async def delta(self, text: str, *, reasoning: bool = False) -> None: ...

    async def retry_scheduled(self, attempt: int, delay: float, reason: str) -> None: ...

    async def fallback_applied(self, reason: str, change: str) -> None: ...

    async def waiting(self, seconds: float, text: str) -> None: ...

    async def notice(self, level: str, text: str) -> None: ...
