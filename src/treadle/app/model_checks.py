"""Tests a model of a provider, and advises a person who has no provider yet."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace

from treadle.config.model import Settings
from treadle.errors import TreadleError
from treadle.llm import ModelTest, check_model, connect
from treadle.llm.embedded import missing_parts
from treadle.llm.profiles import EMBEDDED, UNNAMED, hosted_with_key, local_servers


async def try_model(
    settings: Settings,
    env: Mapping[str, str],
    provider: str,
    model: str | None = None,
    *,
    seconds: float = 60.0,
) -> ModelTest:
    """Ask a model one small question, by default the first model of the provider.

    A failure does not raise an error, but is part of the result. No answer within `seconds` is also
    a failure.
    """
    began = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            tested = await _tested(settings, env, provider, model)
    except TimeoutError:
        error = f"{provider} did not answer within {seconds:g} s."
        tested = ModelTest(provider, model or "", False, error, None, False)
    except TreadleError as failure:
        tested = ModelTest(provider, model or "", False, str(failure), None, False)
    if tested.latency is None:
        tested = replace(tested, latency=time.monotonic() - began)
    return tested


async def _tested(
    settings: Settings, env: Mapping[str, str], provider: str, model: str | None
) -> ModelTest:
    """Test this provider even if TREADLE_BASE_URL is set."""
    env = dict(env)
    name = f"{provider}/{model}" if model and provider != EMBEDDED else provider
    if provider != UNNAMED:
        env.pop("TREADLE_BASE_URL", None)
    elif "TREADLE_BASE_URL" in env:
        name = model or settings.model or ""
    connected = await connect(settings, env, model=name)
    try:
        return await check_model(connected)
    finally:
        await connected.close()


async def first_start_advice(settings: Settings, env: Mapping[str, str]) -> str | None:
    """Return three lines of advice if the person chose no model and has no provider, else None."""
    chosen = settings.model or env.get("TREADLE_BASE_URL", "").strip()
    if chosen or hosted_with_key(settings, env) or await local_servers(settings, env):
        return None
    first = "The small embedded model answers now: on this machine, at no cost."
    if missing_parts():
        first = "No model can answer: `python -m pip install 'treadle[embedded]'` adds one."
    return (
        f"{first}\n"
        "`treadle models key set openai` adds a hosted model, which /model lists.\n"
        "/model lists running servers too: Ollama, llama.cpp, LM Studio, vLLM."
    )
