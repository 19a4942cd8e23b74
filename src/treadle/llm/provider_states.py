"""The state of each provider: its address, its key and its models. No request is sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from treadle.config.model import ProviderSettings, Settings
from treadle.errors import ConfigError, NotFoundError, UsageError
from treadle.llm import saved_keys
from treadle.llm.profiles import (
    EMBEDDED,
    PROFILES,
    UNNAMED,
    address_of,
    checked_key,
    unnamed_endpoint,
    variable_of,
)

_KEY_LIMIT = 10_000


class KeyState(StrEnum):
    """The place from which requests get the key."""

    NONE = "none"
    ENVIRONMENT = "environment"
    KEYRING = "keyring"
    STORED = "stored"


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider, and the locations of its key.

    `key_name` is the environment variable or the keyring entry of the key. It is None if the key
    can only be saved with Treadle. `wants_key` states whether requests need a key, and `takes_key`
    whether a key can be saved. `kept` is the location of the saved key, or None if no key is saved.
    It is set even if requests use another key. `kept_for` is the provider address that the key was
    saved for, if it differs from `base_url`.
    """

    name: str
    base_url: str | None
    key: KeyState
    key_name: str | None
    wants_key: bool
    takes_key: bool
    kept: saved_keys.KeyLocation | None
    kept_for: str | None
    models: tuple[str, ...]


def provider_states(settings: Settings, env: Mapping[str, str]) -> list[ProviderState]:
    """Return all providers: the unnamed provider first (if set), the embedded provider last.

    The unnamed provider is the endpoint of TREADLE_BASE_URL.

    Reads neither a keyring nor a server. Raises ConfigError.
    """
    unnamed = unnamed_endpoint(settings, env, "")
    states = []
    if unnamed is not None:
        key = KeyState.ENVIRONMENT if unnamed.api_key else KeyState.NONE
        own = unnamed.settings.models
        states.append(
            ProviderState(
                UNNAMED, unnamed.base_url, key, unnamed.key_name, False, False, None, None, own
            )
        )
    names = dict.fromkeys([*settings.providers, *PROFILES])
    passed = {EMBEDDED} if unnamed is None else {EMBEDDED, UNNAMED}
    states += [_state(settings, env, name) for name in names if name not in passed]
    states.append(ProviderState(EMBEDDED, None, KeyState.NONE, None, False, False, None, None, ()))
    return states


def state_of(settings: Settings, env: Mapping[str, str], provider: str) -> ProviderState:
    """Return the state of one provider. Raises NotFoundError and ConfigError."""
    found = next((s for s in provider_states(settings, env) if s.name == provider), None)
    if found is None:
        raise _unknown(provider)
    return found


def save_key(
    settings: Settings, env: Mapping[str, str], provider: str, key: str
) -> saved_keys.KeyLocation:
    """Save the key of a provider for its current address.

    Call this in a thread, since a keyring may be slow. Raises UsageError for an invalid key or a
    provider that takes no saved key. Raises NotFoundError for an unknown provider, and ConfigError
    if the key cannot be saved.
    """
    base_url = _key_address(settings, env, provider)
    try:
        checked = None if len(key) > _KEY_LIMIT else checked_key(key, provider)
    except ConfigError:
        checked = None
    if checked is None:
        raise UsageError(
            "The input is not a valid key.", hint="Enter only the key, on one line, without spaces."
        )
    return saved_keys.save(settings.folder, provider, base_url, checked)


def forget_key(settings: Settings, env: Mapping[str, str], provider: str) -> bool:
    """Delete the saved key of a provider, and return whether there was one.

    The provider need not be configured if it has a saved key.
    """
    if saved_keys.find(settings.folder, provider) is None:
        _key_address(settings, env, provider)
    return saved_keys.forget(settings.folder, provider)


def _key_address(settings: Settings, env: Mapping[str, str], provider: str) -> str:
    """Return the provider address for which a key is saved.

    Raises UsageError if none can be saved.
    """
    if provider == EMBEDDED:
        raise UsageError("The embedded model needs no key.", hint="No action is needed.")
    if provider == UNNAMED and unnamed_endpoint(settings, env, "") is not None:
        raise UsageError(
            "The key for TREADLE_BASE_URL comes from TREADLE_API_KEY.",
            hint="Set that variable, or name the provider: providers.NAME.base_url.",
        )
    if provider not in PROFILES and provider not in settings.providers:
        raise _unknown(provider)
    own = settings.providers.get(provider)
    if own is not None and own.api_key_keyring:
        raise UsageError(
            f"The setting api_key_keyring selects the key of {provider}.",
            hint="Change the key in the keyring, or remove api_key_keyring from the settings.",
        )
    return address_of(settings, provider)


def _unknown(provider: str) -> NotFoundError:
    return NotFoundError(
        f"There is no provider named {provider[:100]!r}.",
        hint="List the providers with `treadle models list`; add one as providers.NAME.base_url.",
    )


def _state(settings: Settings, env: Mapping[str, str], name: str) -> ProviderState:
    own = settings.providers.get(name) or ProviderSettings()
    profile = PROFILES.get(name)
    base_url = own.base_url or (profile.base_url if profile else None)
    variable = variable_of(settings, name)
    kept = saved_keys.find(settings.folder, name)
    usable = saved_keys.find_for(settings.folder, name, base_url) if base_url else None
    key = KeyState(usable.location) if usable else KeyState.NONE
    if own.api_key_keyring:
        key = KeyState.KEYRING
    elif variable and env.get(variable, "").strip():
        key = KeyState.ENVIRONMENT
    return ProviderState(
        name=name,
        base_url=base_url,
        key=key,
        key_name=own.api_key_keyring or variable,
        wants_key=bool(variable or own.api_key_keyring),
        takes_key=base_url is not None and not own.api_key_keyring,
        kept=kept.location if kept else None,
        kept_for=kept.base_url if kept and not usable else None,
        models=own.models,
    )
