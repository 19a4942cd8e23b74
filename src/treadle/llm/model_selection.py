"""Selects the model that answers and connects to it. If the model fails, another one answers.

The first available model in this order is selected:

1. a model of the unnamed provider at TREADLE_BASE_URL,
2. the requested model (--model, TREADLE_MODEL or the configuration),
3. a model of a hosted provider whose key is in the environment or saved,
4. a model of a local server that answers at its default or configured address,
5. the embedded model.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from treadle.clock import Clock
from treadle.config.model import Settings
from treadle.errors import TreadleError
from treadle.ids import IdSource, new_id
from treadle.llm import prices
from treadle.llm.catalog import fetch_models
from treadle.llm.chat_model import (
    ChatModel,
    ModelObserver,
    ModelReplacedError,
    ModelWrapper,
    WatchedObserver,
)
from treadle.llm.client import DEFAULT_CONTEXT_WINDOW, HttpChatModel
from treadle.llm.embedded import MODEL_NAME, EmbeddedModel
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import ChatRequest, ModelReply
from treadle.llm.model_probe import ModelInfo, probe, probe_images
from treadle.llm.profiles import (
    EMBEDDED,
    PROFILES,
    UNNAMED,
    UnknownProviderError,
    endpoint_for,
    hosted_with_key,
    local_servers,
    unnamed_endpoint,
)
from treadle.llm.provider_errors import ProviderError
from treadle.llm.quirks import LearnedQuirks

_ANY_MODEL = "default"
"""The model name for a server that lists no models. Such a server accepts any name."""


_LEARNED = LearnedQuirks()
"""The quirks (deviations from the protocol) of all endpoints.

They are kept until the process ends. Each question connects again and would otherwise have to learn
them again.
"""


async def connect(
    settings: Settings,
    env: Mapping[str, str],
    *,
    model: str | None = None,
    clock: Clock | None = None,
    ids: IdSource = new_id,
) -> ChatModel:
    """Connect to the selected model. `model` is PROVIDER/MODEL and overrides the settings.

    No prompt is sent. Raises ConfigError for an invalid name, and ProviderError for a missing key
    or missing parts of the embedded model.
    """
    endpoint, info = await _choose(settings, env, (model or settings.model or "").strip())
    if endpoint is None:
        return await EmbeddedModel.load(clock=clock, ids=ids)
    window = endpoint.settings.context_window or (info.context_window if info else None)
    if window is None:
        window = await asyncio.to_thread(prices.context_window, endpoint)
    chosen = HttpChatModel(
        endpoint,
        context_window=window or DEFAULT_CONTEXT_WINDOW,
        clock=clock,
        ids=ids,
        kept=_LEARNED,
        find_image_support=partial(_image_support, endpoint),
    )
    await chosen.prepare()
    return chosen


async def _image_support(endpoint: Endpoint) -> bool | None:
    """Ask the provider whether the model takes images. Returns None if it does not report it."""
    if _is_local(endpoint) and (found := await probe_images(endpoint.base_url)) is not None:
        return found
    try:
        models = await fetch_models(endpoint)
    except ProviderError:
        return None
    return next((info.takes_images for info in models if info.id == endpoint.model), None)


async def connect_with_fallbacks(
    settings: Settings,
    env: Mapping[str, str],
    *,
    model: str | None = None,
) -> ChatModel:
    """Like `connect`, with the models of `fallback_models` as fallbacks.

    A fallback answers when a provider fails. If the name of the first model is invalid or its key
    is missing, an error is raised instead. The unnamed provider of TREADLE_BASE_URL can only be the
    first model.
    """
    named = {name: value for name, value in env.items() if name != "TREADLE_BASE_URL"}

    async def fallback(name: str) -> ChatModel:
        return await connect(settings, named, model=name)

    first = await connect(settings, env, model=model)
    names = settings.fallback_models
    return FallbackModel(first, names, fallback) if names else first


async def default_model(settings: Settings, env: Mapping[str, str]) -> tuple[str, str]:
    """Return the provider and the model that `connect` selects by default, without loading it.

    Raises ConfigError and ProviderError as `connect` does.
    """
    endpoint, _ = await _choose(settings, env, (settings.model or "").strip())
    return (endpoint.provider, endpoint.model) if endpoint else (EMBEDDED, MODEL_NAME)


async def default_model_of(settings: Settings, env: Mapping[str, str], provider: str) -> str:
    """Return the model that `connect` selects for the name of a provider, without loading it.

    Raises ConfigError and ProviderError as `connect` does.
    """
    endpoint, _ = await _find_requested(settings, env, provider)
    return endpoint.model if endpoint else MODEL_NAME


async def is_embedded(
    settings: Settings, env: Mapping[str, str], *, model: str | None = None
) -> bool:
    """Whether `connect` selects the embedded model. Nothing is loaded.

    Raises ConfigError and ProviderError as `connect` does.
    """
    endpoint, _ = await _choose(settings, env, (model or settings.model or "").strip())
    return endpoint is None


async def _choose(
    settings: Settings, env: Mapping[str, str], requested: str
) -> tuple[Endpoint | None, ModelInfo | None]:
    """Return the endpoint, and the entry of the model in the provider's list.

    The endpoint is None for the embedded model. The entry is None if the list was not read or does
    not contain the model.
    """
    if (endpoint := unnamed_endpoint(settings, env, requested)) is not None:
        return await _unnamed(endpoint, requested)
    if requested:
        return await _find_requested(settings, env, requested)
    for profile in hosted_with_key(settings, env):
        model = _configured(settings, profile.name) or profile.default_model or ""
        return await endpoint_for(settings, env, profile.name, model), None
    for server in await local_servers(settings, env):
        info = _first_chat_model(server.models, _configured(settings, server.endpoint.provider))
        return replace(server.endpoint, model=info.id), info
    return None, None


async def _unnamed(endpoint: Endpoint, requested: str) -> tuple[Endpoint, ModelInfo | None]:
    if requested:
        endpoint = replace(endpoint, model=requested.removeprefix(f"{UNNAMED}/"))
        offered = await probe(endpoint.base_url) if _is_local(endpoint) else None
        return endpoint, next((m for m in offered or () if m.id == endpoint.model), None)
    try:
        models = await fetch_models(endpoint)
    except ProviderError:
        models = ()
    info = _first_chat_model(models, None) if models else ModelInfo(_ANY_MODEL)
    return replace(endpoint, model=info.id), info


async def _find_requested(
    settings: Settings, env: Mapping[str, str], requested: str
) -> tuple[Endpoint | None, ModelInfo | None]:
    provider, slash, model = requested.partition("/")
    if provider == EMBEDDED:
        return None, None
    if not slash and provider not in PROFILES and provider not in settings.providers:
        raise UnknownProviderError(
            f"{requested!r} does not name a provider.",
            hint=(
                "Write PROVIDER/MODEL, such as ollama/qwen3; list the models with `treadle "
                "models list`."
            ),
        )
    endpoint = await endpoint_for(settings, env, provider, model)
    profile = PROFILES.get(provider)
    model = model or _configured(settings, provider) or (profile and profile.default_model) or ""
    near = _is_local(endpoint)
    if model and not near:
        return replace(endpoint, model=model), None
    offered = await (probe(endpoint.base_url) if near else fetch_models(endpoint)) or ()
    info = next((info for info in offered if info.id == model), None)
    if not model:
        info = _first_chat_model(offered, None) if offered else ModelInfo(_ANY_MODEL)
    return replace(endpoint, model=info.id if info else model), info


def _is_local(endpoint: Endpoint) -> bool:
    """Whether a server runs on this machine and uses plain HTTP.

    The function `probe` can list the models of such a server.
    """
    return endpoint.loopback and endpoint.base_url.startswith("http://")


def _configured(settings: Settings, provider: str) -> str | None:
    own = settings.providers.get(provider)
    return own.models[0] if own and own.models else None


def _first_chat_model(models: tuple[ModelInfo, ...], preferred: str | None) -> ModelInfo:
    """Return the preferred model, or the first model that is not for embeddings."""
    chat = [info for info in models if "embed" not in info.id.lower()] or list(models)
    return next((info for info in chat if info.id == preferred), chat[0])


class FallbackModel(ModelWrapper):
    """A `ChatModel` with fallbacks, which are connected when they are needed.

    A fallback that has replaced a model stays in use for the life of this object, so a session does
    not alternate between models.
    """

    def __init__(
        self,
        first: ChatModel,
        names: Sequence[str],
        connect: Callable[[str], Awaitable[ChatModel]],
    ) -> None:
        """Create the model.

        `connect` returns a model by name, or raises TreadleError if it is unavailable.
        """
        super().__init__(first)
        self._names = deque(names)
        self._connect = connect
        self._used = [first]

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:
        """See `ChatModel.complete`. Raises ModelReplacedError when a fallback takes over.

        A failure after a part of the reply was shown is final, since another model cannot continue
        the reply.
        """
        watched = WatchedObserver(observer)
        try:
            return await self._model.complete(request, watched)
        except ProviderError as error:
            if watched.shown or not await self._replace(error, observer):
                raise
        raise ModelReplacedError

    async def close(self) -> None:
        for model in self._used:
            await model.close()

    async def _replace(self, error: ProviderError, observer: ModelObserver) -> bool:
        """Replace the failed model by the next available one. Returns False if there is none."""
        while self._names:
            name = self._names.popleft()
            try:
                self._model = await self._connect(name)
            except TreadleError as missing:
                await observer.notice("warning", f"The fallback {name} is skipped: {missing}")
                continue
            self._used.append(self._model)
            await observer.fallback_applied(error.message, f"asking {name} instead")
            return True
        return False
