"""Selects the provider and model of a call, and their fallbacks."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from treadle.config.gateway import GatewayRoute
from treadle.config.model import Settings
from treadle.config.quantities import size_bytes
from treadle.errors import ConfigError, TreadleError
from treadle.gateway.apis import Api, Operation
from treadle.gateway.models import EmbeddedServer, Listed, Models
from treadle.gateway.refusals import RefusalError
from treadle.gateway.request import CallRequest
from treadle.llm import default_model_of, saved_keys
from treadle.llm.embedded import MODEL_NAME
from treadle.llm.endpoint import Endpoint
from treadle.llm.profiles import (
    EMBEDDED,
    PROFILES,
    UNNAMED,
    endpoint_for,
    has_key,
    hosted_with_key,
    native_api_of,
    unnamed_endpoint,
    variable_of,
)
from treadle.llm.provider_errors import FaultKind, ProviderError

_NAMED = 20
"""The number of models that a refusal suggests after an unknown model name."""

_GEMINI_COMPATIBLE = "/openai"
"""The end of the address at which Gemini serves OpenAI's API.

Without this end, it is the address of Gemini's own API.
"""

_CLIENT_KEY = "the-key-of-the-client"
"""The placeholder for a provider's API key when the client sends its own API key."""

_STORED_ANSWERS = ("previous_response_id", "conversation")
"""Fields of a call that refer to answers which the provider keeps."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The endpoints of a call.

    They are tried in this order until one succeeds. `route` is the name of the route that selected
    them, or None.
    """

    targets: tuple[Endpoint, ...]
    route: str | None = None


class Router:
    """Finds the targets of calls.

    `draw` is the source of random numbers for targets with weights.
    """

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        models: Models,
        draw: random.Random | None = None,
        embedded: EmbeddedServer | None = None,
    ) -> None:
        self._settings = settings
        self._env = env
        self._models = models
        self._draw = draw or random.Random()  # noqa: S311  (it only distributes calls)
        self._embedded = embedded
        self._endpoints: dict[tuple[str, bool], Endpoint] = {}
        self._key_folder = settings.folder
        self._keys = saved_keys.stamp(self._key_folder)

    async def plan(self, request: CallRequest) -> Plan:
        """Find the targets of a call.

        If there are none, raises RefusalError, which names available models.
        """
        if request.operation.passes_through and request.named_model is None:
            provider = self._unspecified_provider(request)
            return Plan((await self._endpoint(provider, "", request),))
        name = request.model
        for route_name, route in self._settings.gateway.routes.items():
            if _fits(route_name, route, request):
                return Plan(await self._targets(route, request), route_name)
        provider, _, model = name.partition("/")
        if model and self._is_provider(provider):
            return Plan((await self._endpoint(provider, model, request),))
        if request.target.api is not Api.OPENAI:
            native = self._native_provider(name, request.target.api)
            return Plan((await self._endpoint(native, name, request),))
        owner = await self._models.provider_of(name)
        if owner is None and name != UNNAMED and self._is_provider(name):
            return Plan((await self._endpoint(name, await self._default(name, request), request),))
        owner = owner or self._fallback()
        if owner is None:
            raise _unknown(name, await self._models.list_providers(), self._settings.gateway.routes)
        return Plan((await self._endpoint(owner, name, request),))

    async def _targets(self, route: GatewayRoute, request: CallRequest) -> tuple[Endpoint, ...]:
        targets, problem = [], None
        for target in self._order(route):
            provider, _, model = target.partition("/")
            model_name = request.model.removeprefix(f"{provider}/") if model == "*" else model
            try:
                targets.append(await self._endpoint(provider, model_name, request))
            except RefusalError as error:  # the other targets may still work
                problem = problem or error
        if not targets:
            assert problem is not None  # a route has at least one target
            raise problem
        return tuple(targets)

    def _order(self, route: GatewayRoute) -> Sequence[str]:
        """The targets of a route.

        Without weights they are in the configured order. With weights the order is random, and a
        target with a larger weight is more likely to come early. Targets of weight 0 are last.
        """
        if not route.weights:
            return route.to
        weighed = list(zip(route.to, route.weights, strict=True))
        ordered = []
        while any(weight for _, weight in weighed):
            weights = [weight for _, weight in weighed]
            (key,) = self._draw.choices(range(len(weighed)), weights)
            ordered.append(weighed.pop(key)[0])
        return [*ordered, *(target for target, _ in weighed)]

    def _unspecified_provider(self, request: CallRequest) -> str:
        """The provider of a call without a model, such as a call about a file."""
        named = dict(request.headers).get("x-treadle-provider", "").strip() or self._fallback()
        hosted = (profile.name for profile in hosted_with_key(self._settings, self._env))
        found = named or next((*self._settings.providers, *hosted).__iter__(), None)
        if found is None or not self._is_provider(found):
            raise RefusalError(
                f"There is no provider {found[:100]!r}." if found else "No provider is configured.",
                hint="Name a provider in the header x-treadle-provider, or set gateway.provider.",
                status=404,
                code="provider_not_found",
            )
        return found

    def _native_provider(self, model: str, api: Api) -> str:
        """The provider of a call through Anthropic's or Gemini's API whose model names no provider.

        Only providers that offer this API are candidates. The result is the provider whose settings
        list the model, or else the first provider in the settings, or else the built-in provider.
        """
        names = [
            name
            for name in (*self._settings.providers, *PROFILES)
            if native_api_of(self._settings, name) == api.value
        ]
        listed = (
            name
            for name, own in self._settings.providers.items()
            if name in names and model in own.models
        )
        return next(listed, names[0])

    def _is_provider(self, name: str) -> bool:
        """Whether `name` is the name of a provider.

        If TREADLE_BASE_URL is set, the name of a built-in provider counts only if the provider has
        an API key.
        """
        if name in self._settings.providers or name == EMBEDDED:
            return True
        if self._unnamed():
            return name == UNNAMED or (
                name in PROFILES and has_key(self._settings, self._env, name)
            )
        return name in PROFILES

    def _unnamed(self) -> bool:
        return bool(self._env.get("TREADLE_BASE_URL", "").strip())

    def _fallback(self) -> str | None:
        """The provider for a model name that no provider lists, or None."""
        return self._settings.gateway.provider or (UNNAMED if self._unnamed() else None)

    async def _default(self, provider: str, request: CallRequest) -> str:
        """Return the default model of a provider, for a request that names only the provider."""
        env = self._env_with(provider, self._own_key(request))
        try:
            return await default_model_of(self._settings, env, provider)
        except TreadleError as error:
            raise _unusable(error, provider) from error

    def _own_key(self, request: CallRequest) -> str | None:
        """The client's own API key, if such keys are forwarded to providers, or None."""
        return request.key if self._settings.gateway.pass_client_keys else None

    def _env_with(self, provider: str, key: str | None) -> Mapping[str, str]:
        """The environment variables, in which the API key of the provider is `key`."""
        name = variable_of(self._settings, provider) if key is not None else None
        return {**self._env, name: key} if name and key is not None else self._env

    async def _endpoint(self, provider: str, model: str, request: CallRequest) -> Endpoint:
        api = request.target.api
        if api is not Api.OPENAI and native_api_of(self._settings, provider) != api.value:
            raise RefusalError(
                f"The provider {provider!r} does not offer the API of this call ({api.value}).",
                hint=f"If it does, set providers.{provider}.native_api. Otherwise name another "
                "provider as PROVIDER/MODEL.",
                status=400,
                code="other_api",
                param="model",
            )
        own_key = self._own_key(request)
        if (keys := saved_keys.stamp(self._key_folder)) != self._keys:  # a saved key was changed
            self._keys = keys
            self._endpoints.clear()
        key = provider, own_key is not None
        endpoint = self._endpoints.get(key)
        if endpoint is None:
            try:
                endpoint = await self._connected(provider, model, with_key=own_key is not None)
            except TreadleError as error:
                raise _unusable(error, provider) from error
            if provider != EMBEDDED:  # only `_connected` checks the name of the embedded model
                self._endpoints[key] = endpoint
        if own_key is None and _uses_stored_data(request):
            self._refuse_shared_account(endpoint)
        if api is Api.GEMINI:
            native = endpoint.base_url.rstrip("/").removesuffix(_GEMINI_COMPATIBLE)
            endpoint = replace(endpoint, base_url=native)
        if own_key is not None:
            return replace(endpoint, model=model, api_key=own_key)
        return replace(endpoint, model=model)

    def _refuse_shared_account(self, endpoint: Endpoint) -> None:
        """Raise RefusalError if other projects may use the same account at the provider."""
        provider = endpoint.provider
        if self._settings.shares_account(provider) and not saved_keys.find_for(
            self._key_folder, provider, endpoint.base_url
        ):
            raise RefusalError(
                f"Other projects may use the same account at {provider!r}, so this project cannot "
                "use files, batches and answers that the provider keeps.",
                hint=f"Save a key of {provider} in this project, or set api_key_env in its "
                "config.toml.",
                status=403,
                code="shared_account",
            )

    async def _connected(self, provider: str, model: str, *, with_key: bool) -> Endpoint:
        if provider == EMBEDDED:
            if self._embedded is None or model != MODEL_NAME:
                raise ConfigError(
                    f"{EMBEDDED} has no model {model[:100]!r}.",
                    hint=f"Ask for {EMBEDDED}/{MODEL_NAME}.",
                )
            return await self._embedded.endpoint()
        if provider == UNNAMED and provider not in self._settings.providers:
            unnamed = unnamed_endpoint(self._settings, self._env, "")
            if unnamed is not None:
                return unnamed
        env = self._env_with(provider, _CLIENT_KEY if with_key else None)
        return await endpoint_for(self._settings, env, provider, "")


def _uses_stored_data(request: CallRequest) -> bool:
    """Whether the call may read what an earlier call stored at the provider."""
    stores = request.operation in {Operation.FILES, Operation.BATCHES}
    return stores or any(request.body.values.get(name) for name in _STORED_ANSWERS)


def _fits(name: str, route: GatewayRoute, request: CallRequest) -> bool:
    headers = dict(request.headers)
    size = len(request.content)
    return (
        matches(route.models or (name,), (request.model,))
        and (not route.labels or matches(route.labels, request.context.labels))
        and all(
            fnmatchcase(headers.get(header.lower(), ""), pattern) and header.lower() in headers
            for header, pattern in route.headers.items()
        )
        and route.tools in (None, bool(request.tools))
        and route.images in (None, request.images)
        and (route.min_size is None or size >= size_bytes(route.min_size))
        and (route.max_size is None or size <= size_bytes(route.max_size))
    )


def matches(patterns: Sequence[str], names: Sequence[str]) -> bool:
    """Whether any of the names matches any of the patterns, which may contain `*` and `?`."""
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _unusable(error: TreadleError, provider: str) -> RefusalError:
    """Convert the error of a provider that cannot be called to a refusal."""
    status, code = 404, "model_not_found"
    if isinstance(error, ProviderError):
        missing_key = error.kind is FaultKind.AUTHENTICATION
        status, code = (401, "missing_key") if missing_key else (502, error.kind.value)
    return RefusalError(
        error.message,
        hint=error.hint or f"Check the settings of providers.{provider}.",
        status=status,
        code=code,
        param="model",
    )


def _unknown(name: str, listed: Sequence[Listed], routes: Mapping[str, object]) -> RefusalError:
    there = [*routes, *(f"{each.provider}/{model}" for each in listed for model in each.entries)]
    shown = ", ".join(there[:_NAMED]) or "none: no provider is configured"
    more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
    return RefusalError(
        f"There is no model {name[:100]!r}.",
        hint=f"Request PROVIDER/MODEL. Available: {shown}{more}; GET /v1/models lists all.",
        status=404,
        code="model_not_found",
        param="model",
    )
