"""The available models with their prices, and the explanation of the price of a model."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from treadle import secrets
from treadle.config.model import Settings
from treadle.errors import ConfigError
from treadle.llm import ProviderModels, list_models
from treadle.llm.endpoint import is_loopback
from treadle.llm.prices import ListedPrice, list_version, listed_price
from treadle.llm.profiles import EMBEDDED, UNNAMED, address_of


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """The prices of a model in US dollars per million tokens.

    A null price is unknown, or is the same as the price of the other input or output tokens.
    `request` is a price per call in US dollars, in addition to the prices of the tokens. `stepped`
    is true if calls with long inputs cost more than these prices.
    """

    input: float | None
    output: float | None
    cached: float | None
    cache_write: float | None
    reasoning: float | None
    request: float
    stepped: bool

    @classmethod
    def of(cls, price: ListedPrice | None) -> Self | None:
        """The prices of an entry of the price list, or None if it has no price of tokens."""
        if price is None or (price.input is None and price.output is None):
            return None
        return cls(
            input=price.input,
            output=price.output,
            cached=price.cached,
            cache_write=price.cache_write,
            reasoning=price.reasoning,
            request=float(price.request),
            stepped=price.stepped,
        )


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model. `context_window` is in tokens. Unknown values are null."""

    id: str
    context_window: int | None
    prices: TokenPrices | None
    takes_tools: bool | None
    takes_images: bool | None


@dataclass(frozen=True, slots=True)
class ListedModels:
    """The models of one provider.

    `reachable` states whether the provider answered. If not, `error` states why. `latency` is the
    duration of its answer in seconds.
    """

    provider: str
    base_url: str | None
    reachable: bool
    error: str | None
    latency: float | None
    models: Sequence[ListedModel]


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models of all available providers. `price_list` is the version of the price list."""

    data: Sequence[ListedModels]
    price_list: str


@dataclass(frozen=True, slots=True)
class PriceAnswer:
    """The price of a model, or the reason why it has no price.

    `found_by` states what identified the provider: its address, its name, or only the name of the
    model. `list_provider` and `list_model` are the names of the entry in the price list. `pages`
    are the web pages from which the authors of the price list took the price, and `comment` is a
    remark of these authors.
    """

    model: str
    provider: str | None
    base_url: str | None
    prices: TokenPrices | None
    context_window: int | None
    price_list: str
    found_by: Literal["address", "provider", "model"]
    list_provider: str | None
    list_model: str | None
    pages: tuple[str, ...]
    comment: str | None
    reason: str | None


async def model_catalog(settings: Settings, env: Mapping[str, str]) -> ModelList:
    """Ask every available provider for its models, and add their prices."""
    found = await list_models(settings, env)
    return await asyncio.to_thread(_model_list, found)


async def explain_price(
    settings: Settings, env: Mapping[str, str], model: str, provider: str | None
) -> PriceAnswer:
    """Return the price of a model. The costs of recorded spans are computed from the same price."""
    return await asyncio.to_thread(_price, settings, env, model, provider)


def _model_list(found: Sequence[ProviderModels]) -> ModelList:
    return ModelList([_provider_models(each) for each in found], list_version())


def _provider_models(found: ProviderModels) -> ListedModels:
    listed = []
    for model in found.models:
        price = None
        if found.provider != EMBEDDED:
            price = listed_price(model.id, found.provider, base_url=found.base_url)
        window = model.context_window or (price.context_window if price else None)
        own = found.provider == EMBEDDED  # the embedded model takes one tool and no images
        listed.append(
            ListedModel(
                id=model.id,
                context_window=window,
                prices=TokenPrices.of(price),
                takes_tools=True if own else model.takes_tools,
                takes_images=False if own else model.takes_images,
            )
        )
    return ListedModels(
        provider=found.provider,
        base_url=None if found.base_url is None else secrets.redact(found.base_url),
        reachable=found.reachable,
        error=None if found.error is None else secrets.redact(found.error),
        latency=found.latency,
        models=listed,
    )


def _price(
    settings: Settings, env: Mapping[str, str], model: str, provider: str | None
) -> PriceAnswer:
    base_url = _address(settings, env, provider)
    price = None if provider == EMBEDDED else listed_price(model, provider, base_url=base_url)
    listed = TokenPrices.of(price)
    reason = None
    if provider == EMBEDDED or (base_url is not None and is_loopback(base_url)):
        reason = "It runs on this machine, where calls have no price."
    elif price is None:
        reason = "The price list does not have this model of this provider."
    elif listed is None:
        reason = "The price list has the model, but no token price."
    return PriceAnswer(
        model=model,
        provider=provider,
        base_url=None if base_url is None else secrets.redact(base_url),
        prices=listed,
        context_window=price.context_window if price else None,
        price_list=list_version(),
        found_by="address" if base_url is not None else "provider" if provider else "model",
        list_provider=price.provider if price else None,
        list_model=price.entry if price else None,
        pages=price.pages if price else (),
        comment=price.comment if price else None,
        reason=reason,
    )


def _address(settings: Settings, env: Mapping[str, str], provider: str | None) -> str | None:
    if provider is None or provider == EMBEDDED:
        return None
    default_address = env.get("TREADLE_BASE_URL", "").strip()
    if provider == UNNAMED and default_address:
        return default_address
    try:
        return address_of(settings, provider)
    except ConfigError:  # recorded spans may name providers that are not configured here
        return None
