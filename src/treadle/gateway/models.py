"""Lists the models of all reachable providers, including the embedded model."""

import asyncio
import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from treadle.clock import Clock
from treadle.config.model import ProviderSettings, Settings
from treadle.config.quantities import age_us
from treadle.errors import TreadleError
from treadle.gateway.upstream import Upstream
from treadle.llm import saved_keys
from treadle.llm.embedded import MODEL_NAME, missing_parts, start_server
from treadle.llm.endpoint import Endpoint
from treadle.llm.profiles import (
    EMBEDDED,
    UNNAMED,
    endpoint_for,
    hosted_with_key,
    local_servers,
    unnamed_endpoint,
)

_LONGEST_REPLY = 512
"""The maximum number of tokens of a reply to a call without a limit.

The embedded model is small and rarely ends a reply by itself.
"""

_SETTINGS = ProviderSettings(idle_timeout=600.0, max_retries=0)
"""The embedded model reads a long prompt slowly, so the time limit is long.

The same call would fail again, so there are no retries.
"""


class EmbeddedServer:
    """Serves the embedded model on loopback, from its first call until `close`."""

    def __init__(self) -> None:
        self._server: Any = None
        self._lock = asyncio.Lock()

    @property
    def models(self) -> tuple[str, ...]:
        """The models of this server. The result is empty if the embedded model is not installed.

        This property does not start the server.
        """
        return () if missing_parts() else (MODEL_NAME,)

    async def endpoint(self) -> Endpoint:
        """The endpoint of the server.

        The first call starts the server, which takes seconds. Raises ProviderError if parts of the
        embedded model are missing.
        """
        async with self._lock:
            if self._server is None:
                self._server = await asyncio.to_thread(start_server, longest_reply=_LONGEST_REPLY)
            address = self._server.listening_address
        return Endpoint(EMBEDDED, MODEL_NAME, f"{address}/v1", settings=_SETTINGS)

    async def close(self) -> None:
        server, self._server = [self._server], None
        # The engine stops when its last reference is dropped. This takes a while, so a thread drops
        # it.
        await asyncio.to_thread(server.clear)


Entry = dict[str, object]

_SIMILAR = 3
_COMPARED = 2_000
"""The maximum number of models with which an unknown name is compared to find similar names.

One comparison takes about 10 µs.
"""

_ERROR_SECONDS = 10.0
"""If a provider fails to list its models, the list is requested again after this many seconds."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The models of one provider by their ids, or the reason why they are unknown."""

    provider: str
    entries: Mapping[str, Entry] = field(default_factory=dict)
    error: str | None = None


class Models:
    """Requests the model lists of providers and caches them for a while."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        upstream: Upstream,
        clock: Clock,
        embedded: EmbeddedServer,
    ) -> None:
        self._settings = settings
        self._env = env
        self._upstream = upstream
        self._clock = clock
        self._embedded = embedded
        self._max_age = age_us(settings.gateway.models_max_age) / 1e6
        self._kept: dict[str, tuple[float, Listed]] = {}
        self._local: tuple[float, list[Endpoint]] | None = None
        self._key_folder = settings.folder
        self._keys = saved_keys.stamp(self._key_folder)
        self._lock = asyncio.Lock()

    async def list_providers(self) -> list[Listed]:
        """The models of each reachable provider, requested concurrently.

        The embedded model is last if it is installed. The order is that of preference: a call that
        names only a model uses the first provider that lists the model.
        """
        async with self._lock:
            if (
                keys := saved_keys.stamp(self._key_folder)
            ) != self._keys:  # a saved key was changed
                self._keys = keys
                self._kept.clear()
                self._local = None
            endpoints, failed = await self._endpoints()
            listed = [*failed, *await asyncio.gather(*map(self._of, endpoints))]
            if models := self._embedded.models:
                listed.append(Listed(EMBEDDED, _configured(models)))
            return listed

    async def provider_of(self, model: str) -> str | None:
        """The first provider that lists a model with the id `model`.

        Providers whose settings name the model come first.
        """
        for name, own in self._settings.providers.items():
            if model in own.models:
                return name
        listed = await self.list_providers()
        return next((each.provider for each in listed if model in each.entries), None)

    async def lacks(self, provider: str, model: str) -> bool:
        """Whether the provider lists its models, and the id `model` is not in the list.

        The result is False for a provider with a single model, since such a server often serves its
        model under any name.
        """
        listed = next(
            (each for each in await self.list_providers() if each.provider == provider), None
        )
        return listed is not None and len(listed.entries) > 1 and model not in listed.entries

    async def similar(self, model: str) -> list[str]:
        """Up to three available models, as PROVIDER/MODEL, most similar first."""
        available = [
            f"{each.provider}/{name}"
            for each in await self.list_providers()
            if each.error is None
            for name in each.entries
        ]
        own = model.rpartition("/")[2].casefold()
        same = [name for name in available if name.rpartition("/")[2].casefold() == own]
        near = difflib.get_close_matches(model, available[:_COMPARED], n=_SIMILAR, cutoff=0.5)
        return list(dict.fromkeys([*same, *near, *available[:_SIMILAR]]))[:_SIMILAR]

    async def _endpoints(self) -> tuple[list[Endpoint], list[Listed]]:
        unnamed = unnamed_endpoint(self._settings, self._env, "")
        endpoints = [unnamed] if unnamed is not None else []
        failed = []
        hosted = [profile.name for profile in hosted_with_key(self._settings, self._env)]
        for name in dict.fromkeys([*hosted, *self._settings.providers]):
            if name in (UNNAMED, EMBEDDED):
                continue
            try:
                endpoints.append(await endpoint_for(self._settings, self._env, name, ""))
            except TreadleError as error:
                own = self._settings.providers.get(name)
                entries = _configured(own.models if own else ())
                failed.append(Listed(name, entries, str(error)))
        done = {endpoint.provider for endpoint in endpoints}
        local = await self._local_endpoints()
        return [*endpoints, *(each for each in local if each.provider not in done)], failed

    async def _local_endpoints(self) -> list[Endpoint]:
        now = self._clock.monotonic()
        if self._local is None or now - self._local[0] > self._max_age:
            servers = await local_servers(self._settings, self._env)
            self._local = now, [server.endpoint for server in servers]
        return self._local[1]

    async def _of(self, endpoint: Endpoint) -> Listed:
        if endpoint.settings.models:
            return Listed(endpoint.provider, _configured(endpoint.settings.models))
        now = self._clock.monotonic()
        kept = self._kept.get(endpoint.provider)
        if kept is not None:
            age = self._max_age if kept[1].error is None else min(_ERROR_SECONDS, self._max_age)
            if now - kept[0] <= age:
                return kept[1]
        listed = await self._ask(endpoint)
        self._kept[endpoint.provider] = now, listed
        return listed

    async def _ask(self, endpoint: Endpoint) -> Listed:
        seconds = self._settings.gateway.models_timeout
        try:
            content = await self._upstream.get(endpoint, "/models", seconds=seconds)
            entries = json.loads(content)["data"]
            models = {str(entry["id"]): dict(entry) for entry in entries}
        except TimeoutError:
            return Listed(endpoint.provider, error=f"It did not answer within {seconds:g} s.")
        except TreadleError as error:
            return Listed(endpoint.provider, error=str(error))
        except (ValueError, LookupError, TypeError, RecursionError):
            return Listed(endpoint.provider, error="Its list of models is invalid.")
        return Listed(endpoint.provider, models)


def _configured(models: tuple[str, ...]) -> dict[str, Entry]:
    return {model: {"id": model, "object": "model"} for model in models}


def as_list(listed: list[Listed], routes: Mapping[str, object]) -> dict[str, object]:
    """The answer to `GET /v1/models`: routes, all PROVIDER/MODEL names, and failed providers."""
    data: list[Entry] = [_entry(name, {}, "treadle") for name in routes]
    for each in listed:
        data += [_entry(f"{each.provider}/{m}", e, each.provider) for m, e in each.entries.items()]
    failed = [{"provider": each.provider, "error": each.error} for each in listed if each.error]
    return {"object": "list", "data": data, **({"unavailable": failed} if failed else {})}


def _entry(name: str, entry: Entry, owner: str) -> Entry:
    return {"object": "model", "created": 0, "owned_by": owner, **entry, "id": name}
