"""The known providers, and functions that build the endpoint of a provider with its key."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from treadle import secrets
from treadle.config.model import NativeApi, ProviderSettings, Settings
from treadle.errors import ConfigError
from treadle.events.types import ErrorKind
from treadle.llm import saved_keys
from treadle.llm.endpoint import Endpoint
from treadle.llm.model_probe import ModelInfo, probe
from treadle.llm.provider_errors import FaultKind, ProviderError

EMBEDDED = "embedded"
UNNAMED = "custom"
"""The name of the provider at the address in TREADLE_BASE_URL."""

_LOCAL_IDLE_TIMEOUT = 600.0
"""The maximum time in seconds in which a local server may send no data.

A local server sends nothing while it loads its model and reads a long prompt, so the limit is long.
"""


class UnknownProviderError(ConfigError):
    """The name of a provider is neither known nor configured."""

    kind = ErrorKind.NOT_FOUND


@dataclass(frozen=True, slots=True)
class Profile:
    """A known provider. `key_env` is the variable for its API key, or None if it needs no key."""

    name: str
    base_url: str
    key_env: str | None = None
    default_model: str | None = None
    native_api: NativeApi | None = None

    @property
    def local(self) -> bool:
        """Whether the provider runs on this machine by default."""
        return self.key_env is None


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5.4-mini"),
        Profile(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            "openai/gpt-5.4-mini",
        ),
        Profile(
            "anthropic",
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            "claude-haiku-5-5",
            "anthropic",
        ),
        Profile(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
            "gemini-3.5-flash",
            "gemini",
        ),
        Profile("ollama", "http://127.0.0.1:11434/v1"),
        Profile("llamacpp", "http://127.0.0.1:8080/v1"),
        Profile("lmstudio", "http://127.0.0.1:1234/v1"),
        Profile("vllm", "http://127.0.0.1:8000/v1"),
    )
}
"""The known providers in the order of preference, with their documented addresses and ports."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A running server of a local provider, and the models that it lists."""

    endpoint: Endpoint
    models: tuple[ModelInfo, ...]


async def endpoint_for(
    settings: Settings, env: Mapping[str, str], provider: str, model: str
) -> Endpoint:
    """Return the endpoint of a known or configured provider, with its key.

    The key comes from the keyring entry in the settings, from the environment, or from the saved
    keys, in this order. Raises ConfigError for an unknown provider or an invalid key, and
    ProviderError for a missing key.
    """
    profile = PROFILES.get(provider)
    base_url = address_of(settings, provider)
    own = settings.providers.get(provider) or ProviderSettings()
    if profile and profile.local and "idle_timeout" not in own.model_fields_set:
        own = own.model_copy(update={"idle_timeout": _LOCAL_IDLE_TIMEOUT})
    key_name = variable_of(settings, provider)
    if own.api_key_keyring:
        key_name = f"the keyring entry {own.api_key_keyring!r}"
        key = await asyncio.to_thread(key_in_keyring, own.api_key_keyring)
    else:
        key = env.get(key_name, "").strip() if key_name else None
        if not key and saved_keys.find_for(settings.folder, provider, base_url) is not None:
            key = await asyncio.to_thread(saved_keys.read_key, settings.folder, provider, base_url)
            key_name = f"the stored key (`treadle models key set {provider}`)"
    if key_name and not (key or "").strip():
        raise _no_key(settings, provider, key_name)
    return Endpoint(provider, model, base_url, checked_key(key, key_name), key_name, own)


def address_of(settings: Settings, provider: str) -> str:
    """Return the address of a provider. Raises ConfigError if it is unknown or has no address."""
    profile = PROFILES.get(provider)
    own = settings.providers.get(provider)
    if profile is None and own is None:
        known = ", ".join(sorted({*PROFILES, EMBEDDED, *settings.providers}))
        raise UnknownProviderError(
            f"There is no provider named {provider!r}.",
            hint=f"Write PROVIDER/MODEL with one of {known}, or set providers.{provider}.base_url.",
        )
    base_url = (own.base_url if own else None) or (profile.base_url if profile else None)
    if base_url is None:
        raise ConfigError(
            f"The provider {provider!r} has no address.",
            hint=f"Set providers.{provider}.base_url.",
        )
    return base_url


def variable_of(settings: Settings, provider: str) -> str | None:
    """Return the name of the environment variable for a provider's key, or None."""
    profile = PROFILES.get(provider)
    own = settings.providers.get(provider)
    return (own.api_key_env if own else None) or (profile.key_env if profile else None)


def native_api_of(settings: Settings, provider: str) -> NativeApi | None:
    """Return the API that a provider offers in addition to OpenAI's, or None."""
    own = settings.providers.get(provider)
    profile = PROFILES.get(provider)
    return (own.native_api if own else None) or (profile.native_api if profile else None)


def unnamed_endpoint(settings: Settings, env: Mapping[str, str], model: str) -> Endpoint | None:
    """Return the endpoint of TREADLE_BASE_URL and TREADLE_API_KEY, or None if no URL is set."""
    base_url = env.get("TREADLE_BASE_URL", "").strip()
    if not base_url:
        return None
    try:
        ProviderSettings(base_url=base_url)
    except ValidationError as error:
        raise ConfigError(
            "TREADLE_BASE_URL is not a valid address.",
            hint="Use http:// or https://, include the version, and leave out any password.",
        ) from error
    key = checked_key(env.get("TREADLE_API_KEY"), "TREADLE_API_KEY")
    own = settings.providers.get(UNNAMED) or ProviderSettings()
    return Endpoint(UNNAMED, model, base_url, key, "TREADLE_API_KEY", own)


def register_keys(settings: Settings, env: Mapping[str, str]) -> None:
    """Register the keys of all providers and gateway budgets for redaction.

    Call this before any key is used. A key in a keyring is registered only when it is first used,
    since the keyring may be locked.
    """
    saved_keys.register_all(settings.folder)
    names = {
        "TREADLE_API_KEY",
        *(profile.key_env for profile in PROFILES.values()),
        *(own.api_key_env for own in settings.providers.values()),
        *(budget.key_env for budget in settings.gateway.budgets.values()),
    }
    for name in filter(None, names):
        secrets.register(env.get(name, ""))


def checked_key(key: str | None, name: str | None) -> str | None:
    """Strip the key and register it for redaction. Returns None for a blank key.

    Raises ConfigError for a key that an HTTP header cannot contain.
    """
    key = (key or "").strip()
    if not key:
        return None
    secrets.register(key)
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(
            f"The key in {name} has characters that no key can have.",
            hint=f"Set {name} again, without those characters.",
        )
    return key


def hosted_with_key(settings: Settings, env: Mapping[str, str]) -> list[Profile]:
    """Return the hosted providers whose key is set or saved, in the order of preference."""
    return [
        profile
        for profile in PROFILES.values()
        if not profile.local and has_key(settings, env, profile.name)
    ]


def has_key(settings: Settings, env: Mapping[str, str], provider: str) -> bool:
    """Whether the key of a provider is in the environment or saved. No keyring is read."""
    if env.get(variable_of(settings, provider) or "", "").strip():
        return True
    base_url = address_of(settings, provider)
    return saved_keys.find_for(settings.folder, provider, base_url) is not None


async def local_servers(settings: Settings, env: Mapping[str, str]) -> list[LocalServer]:
    """Return the local servers that answer at their default or configured address."""
    endpoints = [
        await endpoint_for(settings, env, profile.name, "")
        for profile in PROFILES.values()
        if profile.local and _needs_no_key(settings, profile.name)
    ]
    near = [e for e in endpoints if e.loopback and e.base_url.startswith("http://")]
    answers = await asyncio.gather(*(probe(endpoint.base_url) for endpoint in near))
    return [LocalServer(e, models) for e, models in zip(near, answers, strict=True) if models]


def _needs_no_key(settings: Settings, provider: str) -> bool:
    own = settings.providers.get(provider)
    if own is not None and (own.api_key_env or own.api_key_keyring):
        return False
    return not has_key(settings, {}, provider)


def _no_key(settings: Settings, provider: str, key_name: str) -> ProviderError:
    kept = saved_keys.find(settings.folder, provider)
    elsewhere = f" The stored key is valid only for {kept.base_url}." if kept is not None else ""
    return ProviderError(
        f"{provider} needs a key, and {key_name} is not set.{elsewhere}",
        kind=FaultKind.AUTHENTICATION,
        hint=f"Set {key_name}, run `treadle models key set {provider}`, or choose another model: "
        "`treadle models list` shows the available ones.",
    )


def key_in_keyring(entry: str) -> str | None:
    """Return the value of an entry of the system keyring, or None. Raises ConfigError."""
    try:
        import keyring
    except ImportError as error:
        raise ConfigError(
            "Keys from the system keyring need the package keyring.",
            hint="python -m pip install 'treadle[keyring]'",
        ) from error
    try:
        return keyring.get_password("treadle", entry)
    except keyring.errors.KeyringError as error:
        raise ConfigError(
            f"The system keyring cannot be read ({error}).",
            hint="Unlock it, or use api_key_env instead.",
        ) from error
