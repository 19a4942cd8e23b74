"""Shows and tests providers, and saves the API keys that a person enters.

No answer contains a key or a part of one.
"""

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from treadle import secrets
from treadle.config.layers import LayerKind, Origin
from treadle.config.loader import LoadedConfig
from treadle.errors import TreadleError
from treadle.llm import ModelTest, check_model, connect
from treadle.llm.profiles import EMBEDDED, UNNAMED
from treadle.llm.provider_states import (
    KeyState,
    ProviderState,
    forget_key,
    provider_states,
    save_key,
    state_of,
)
from treadle.llm.saved_keys import KeyLocation
from treadle.server.configuration import Configuration, Configured
from treadle.server.routes.effective_settings import ValueOrigin

router = APIRouter(prefix="/providers", tags=["settings"])

Name = Annotated[str, Path(min_length=1, max_length=100)]


class KeyInfo(BaseModel):
    """The location of the API key of a provider, without the key.

    `state` describes the key that is used. `name` is the environment variable or keyring entry that
    precedes a saved key. `kept` is the location of a saved key. `kept_for` is the address for which
    it was saved, if that is not the current address. `wanted` states whether the provider needs a
    key. `enterable` states whether a person can enter a key.
    """

    state: KeyState
    name: str | None
    kept: KeyLocation | None
    kept_for: str | None
    wanted: bool
    enterable: bool


class ProviderInfo(BaseModel):
    """A provider. Without `base_url` it runs within the server, or has no address yet.

    `origin` is the source of its address; `default` means a provider that Treadle knows. `models`
    are the models that the settings name; `/models` lists all models.
    """

    name: str
    base_url: str | None
    origin: ValueOrigin
    key: KeyInfo
    models: tuple[str, ...]
    default: bool


class ProviderList(BaseModel):
    """All providers. `default_model` answers if a request names no model.

    `error` states why there is none. Both are null while the server looks for it.
    """

    data: list[ProviderInfo]
    default_model: str | None
    error: str | None


class TestRequest(BaseModel):
    """The model to ask; default: the first model of the provider. `seconds` is the time limit."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, min_length=1, max_length=500)
    seconds: float = Field(60.0, gt=0, le=600)


class TestAnswer(BaseModel):
    """The outcome of a small question with a tool. `error` is a sentence; times are in seconds."""

    provider: str
    model: str | None
    reachable: bool
    latency: float | None
    tool_call: bool
    error: str | None


class EnteredKey(BaseModel):
    """An API key on one line."""

    model_config = ConfigDict(extra="forbid")

    key: SecretStr


@router.get("")
async def providers(configured: Configured) -> ProviderList:
    """All providers, and the location of their API keys."""
    chosen = await configured.default_model()
    states = await asyncio.to_thread(provider_states, configured.settings, configured.env)
    return ProviderList(
        data=[_info(configured.loaded, each, chosen.provider) for each in states],
        default_model=f"{chosen.provider}/{chosen.model}" if chosen.model else None,
        error=chosen.error,
    )


@router.post("/{name}/test")
async def check(configured: Configured, name: Name, test: TestRequest | None = None) -> TestAnswer:
    """Ask a model of the provider one small question. The answer reports a failure."""
    test = test or TestRequest()
    await asyncio.to_thread(state_of, configured.settings, configured.env, name)
    began = time.monotonic()
    try:
        async with asyncio.timeout(test.seconds):
            outcome = await _tested(configured, name, test.model)
    except TimeoutError:
        error = f"{name} did not answer within {test.seconds:g} s."
        outcome = ModelTest(name, test.model or "", False, error, None, False)
    except TreadleError as failure:
        outcome = ModelTest(name, test.model or "", False, str(failure), None, False)
    return TestAnswer(
        provider=name,
        model=outcome.model or None,
        reachable=outcome.reachable,
        latency=time.monotonic() - began if outcome.latency is None else outcome.latency,
        tool_call=outcome.tool_call,
        error=None if outcome.error is None else secrets.redact(outcome.error),
    )


@router.put("/{name}/key")
async def set_key(configured: Configured, name: Name, entered: EnteredKey) -> ProviderInfo:
    """Save a key for the current address of the provider. The next call uses it."""
    key = entered.key.get_secret_value()
    await asyncio.to_thread(save_key, configured.settings, configured.env, name, key)
    return await _one(configured, name)


@router.delete("/{name}/key", status_code=204)
async def delete_key(configured: Configured, name: Name) -> None:
    """Delete the saved key, if there is one. A key of the environment or the settings stays."""
    await asyncio.to_thread(forget_key, configured.settings, configured.env, name)


async def _one(configured: Configuration, name: str) -> ProviderInfo:
    chosen = await configured.default_model()
    state = await asyncio.to_thread(state_of, configured.settings, configured.env, name)
    return _info(configured.loaded, state, chosen.provider)


async def _tested(configured: Configuration, name: str, model: str | None) -> ModelTest:
    """Test this provider even if TREADLE_BASE_URL is set."""
    env = dict(configured.env)
    model_name = f"{name}/{model}" if model and name != EMBEDDED else name
    if name != UNNAMED:
        env.pop("TREADLE_BASE_URL", None)
    elif "TREADLE_BASE_URL" in env:
        model_name = model or configured.settings.model or ""
    connected = await connect(configured.settings, env, model=model_name)
    try:
        return await check_model(connected)
    finally:
        await connected.close()


def _info(loaded: LoadedConfig, state: ProviderState, default: str | None) -> ProviderInfo:
    if state.name == UNNAMED and not state.takes_key:
        origin = Origin(LayerKind.ENVIRONMENT, "TREADLE_BASE_URL")
    else:
        origin = loaded.origin_of(f"providers.{state.name}.base_url")
    return ProviderInfo(
        name=state.name,
        base_url=None if state.base_url is None else secrets.redact(state.base_url),
        origin=ValueOrigin.of(origin),
        key=KeyInfo(
            state=state.key,
            name=state.key_name,
            kept=state.kept,
            kept_for=state.kept_for,
            wanted=state.wants_key,
            enterable=state.takes_key,
        ),
        models=state.models,
        default=state.name == default,
    )
