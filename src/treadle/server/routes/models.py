"""The models in reach with their prices, and how the price of a model is found."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from treadle import secrets
from treadle.errors import ConfigError
from treadle.llm import ProviderModels, list_models
from treadle.llm.endpoint import is_loopback
from treadle.llm.prices import ListedPrice, list_version, listed_price
from treadle.llm.profiles import EMBEDDED, UNNAMED, address_of
from treadle.server.configuration import Configuration, Configured

router = APIRouter(tags=["settings"])


class TokenPrices(BaseModel):
    """US dollars for a million tokens; null is unknown, or has no price of its own.

    `request` is US dollars for each call beside them. `stepped`: long inputs cost more.
    """

    model_config = ConfigDict(from_attributes=True)

    input: float | None
    output: float | None
    cached: float | None
    cache_write: float | None
    reasoning: float | None
    request: float
    stepped: bool


class ToldModel(BaseModel):
    """A model; what is not known of it is null."""

    id: str
    context_window: int | None
    prices: TokenPrices | None


class ToldModels(BaseModel):
    """What one provider offers; `error` says why it could not be asked. `latency` in seconds."""

    provider: str
    base_url: str | None
    reachable: bool
    error: str | None
    latency: float | None
    models: list[ToldModel]


class ModelList(BaseModel):
    """All providers in reach, and the price list that the prices are from."""

    data: list[ToldModels]
    price_list: str


class PriceAsked(BaseModel):
    """A model as it is named in a call, and whose it is: one of ours, or as spans name it."""

    model_config = ConfigDict(extra="forbid")

    model: str
    provider: str | None = None
    token: str | None = None


class PriceAnswer(BaseModel):
    """How the price of a model is found, or why there is none.

    `found_by` says what told whose price holds: the address of the provider, its name, or the name
    of the model alone. `list_provider` and `list_model` are the entry of the list, `pages` are
    where its makers have it from, `comment` is what they say of it.
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


@router.get("/models")
async def models(configured: Configured) -> ModelList:
    """Ask every provider in reach for its models."""
    found = await list_models(configured.settings, configured.env)
    return await asyncio.to_thread(_listed, found)


@router.get("/prices")
async def prices(configured: Configured, asked: Annotated[PriceAsked, Query()]) -> PriceAnswer:
    """How the price of a model is found. Calls of spans are reckoned in the same way."""
    return await asyncio.to_thread(_price, configured, asked.model, asked.provider)


def _listed(found: list[ProviderModels]) -> ModelList:
    return ModelList(data=[_provider(each) for each in found], price_list=list_version())


def _provider(found: ProviderModels) -> ToldModels:
    told = []
    for model in found.models:
        price = None
        if found.provider != EMBEDDED:
            price = listed_price(model.id, found.provider, base_url=found.base_url)
        window = model.context_window or (price.context_window if price else None)
        told.append(ToldModel(id=model.id, context_window=window, prices=_prices(price)))
    return ToldModels(
        provider=found.provider,
        base_url=None if found.base_url is None else secrets.redact(found.base_url),
        reachable=found.reachable,
        error=None if found.error is None else secrets.redact(found.error),
        latency=found.latency,
        models=told,
    )


def _prices(price: ListedPrice | None) -> TokenPrices | None:
    if price is None or (price.input is None and price.output is None):
        return None
    return TokenPrices.model_validate(price)


def _price(configured: Configuration, model: str, provider: str | None) -> PriceAnswer:
    base_url = _address(configured, provider)
    price = None if provider == EMBEDDED else listed_price(model, provider, base_url=base_url)
    told = _prices(price)
    reason = None
    if provider == EMBEDDED or (base_url is not None and is_loopback(base_url)):
        reason = "It runs on this machine, where calls have no price."
    elif price is None:
        reason = "The price list does not have this model of this provider."
    elif told is None:
        reason = "The price list has the model, but no token price."
    return PriceAnswer(
        model=model,
        provider=provider,
        base_url=None if base_url is None else secrets.redact(base_url),
        prices=told,
        context_window=price.context_window if price else None,
        price_list=list_version(),
        found_by="address" if base_url is not None else "provider" if provider else "model",
        list_provider=price.provider if price else None,
        list_model=price.entry if price else None,
        pages=price.pages if price else (),
        comment=price.comment if price else None,
        reason=reason,
    )


def _address(configured: Configuration, provider: str | None) -> str | None:
    if provider is None or provider == EMBEDDED:
        return None
    unnamed = configured.env.get("TREADLE_BASE_URL", "").strip()
    if provider == UNNAMED and unnamed:
        return unnamed
    try:
        return address_of(configured.settings, provider)
    except ConfigError:  # none of ours: as spans of other programs name it
        return None
