"""Routes that show and test providers, and save the API keys that a person enters.

No response contains an API key or a part of one.
"""

import asyncio
from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from treadle import secrets
from treadle.app.model_checks import try_model
from treadle.config.layers import LayerKind, Origin
from treadle.config.loader import LoadedConfig
from treadle.llm.profiles import UNNAMED
from treadle.llm.provider_states import (
    KeyState,
    ProviderState,
    forget_key,
    provider_states,
    save_key,
    state_of,
)
from treadle.llm.saved_keys import KeyLocation
from treadle.server.configuration import Configuration
from treadle.server.current_project import Configured
from treadle.server.routers import api_router
from treadle.server.routes.effective_settings import ValueOrigin

router = api_router("/providers", "settings")

Name = Annotated[str, Path(min_length=1, max_length=100)]


class KeyInfo(BaseModel):
    """Where the API key of a provider comes from. The key itself is not included.

    `state` is the location of the key that requests use. `name` is the environment variable or
    keyring entry whose key has precedence over a saved key. `kept` is the location of the saved
    key, and null if no key is saved. `kept_for` is the provider's address at the time when the key
    was saved. It is null if the address has not changed. `wanted` states whether the provider needs
    a key. `enterable` states whether a person can save a key.
    """

    state: KeyState
    name: str | None
    kept: KeyLocation | None
    kept_for: str | None
    wanted: bool
    enterable: bool


class ProviderInfo(BaseModel):
    """A provider with its address, the location of its API key, and its configured models.

    `base_url` is null if the provider runs within the server, or has no address yet. `origin`
    states where the address comes from. `models` are the models that the settings name. `GET
    /models` returns all models. `default` states whether this provider has the default model.
    """

    name: str
    base_url: str | None
    origin: ValueOrigin
    key: KeyInfo
    models: tuple[str, ...]
    default: bool


class ProviderList(BaseModel):
    """All providers, and the default model.

    `default_model` answers requests that name no model. `error` states why no default model is
    available. Both are null while the server looks for a default model.
    """

    data: list[ProviderInfo]
    default_model: str | None
    error: str | None


class TestRequest(BaseModel):
    """The model to test, and the time limit in seconds.

    If `model` is null, the first model of the provider is tested.
    """

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, min_length=1, max_length=500)
    seconds: float = Field(60.0, gt=0, le=600)


class TestAnswer(BaseModel):
    """The result of a small test question, which the model should answer with a tool call.

    `tool_call` states whether the model called the tool. `latency` is in seconds. `error` is a
    sentence, and null if the model answered.
    """

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
    """Return all providers, with the locations of their API keys."""
    chosen = await configured.default_model()
    states = await asyncio.to_thread(provider_states, configured.settings, configured.env)
    return ProviderList(
        data=[_info(configured.loaded, each, chosen.provider) for each in states],
        default_model=f"{chosen.provider}/{chosen.model}" if chosen.model else None,
        error=chosen.error,
    )


@router.post("/{name}/test")
async def check(configured: Configured, name: Name, test: TestRequest | None = None) -> TestAnswer:
    """Ask a model of the provider one small question.

    If the provider fails, the status is still 200, and `error` contains the reason.
    """
    test = test or TestRequest()
    await asyncio.to_thread(state_of, configured.settings, configured.env, name)
    tested = await try_model(
        configured.settings, configured.env, name, test.model, seconds=test.seconds
    )
    return TestAnswer(
        provider=name,
        model=tested.model or None,
        reachable=tested.reachable,
        latency=tested.latency,
        tool_call=tested.tool_call,
        error=None if tested.error is None else secrets.redact(tested.error),
    )


@router.put("/{name}/key")
async def set_key(configured: Configured, name: Name, entered: EnteredKey) -> ProviderInfo:
    """Save an API key for the current address of the provider. The next call uses it."""
    key = entered.key.get_secret_value()
    await asyncio.to_thread(save_key, configured.settings, configured.env, name, key)
    return await _one(configured, name)


@router.delete("/{name}/key", status_code=204)
async def delete_key(configured: Configured, name: Name) -> None:
    """Delete the saved API key of the provider. Keys in the environment or the settings remain."""
    await asyncio.to_thread(forget_key, configured.settings, configured.env, name)


async def _one(configured: Configuration, name: str) -> ProviderInfo:
    chosen = await configured.default_model()
    state = await asyncio.to_thread(state_of, configured.settings, configured.env, name)
    return _info(configured.loaded, state, chosen.provider)


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
