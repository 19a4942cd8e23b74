"""Routes that list the available models with their prices, and explain the price of a model."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.model_catalog import ModelList, PriceAnswer, explain_price, model_catalog
from treadle.app.model_checks import first_start_advice
from treadle.config.user_file import SavedSetting, save_setting
from treadle.llm.vendors import Vendor, model_vendors
from treadle.server.current_project import Configured, CurrentServer
from treadle.server.openapi import JsonOf
from treadle.server.routers import api_router

router = api_router("", "settings")


class PriceQuery(BaseModel):
    """The query parameters: the name of a model, and optionally the name of its provider.

    Both names may come from the configuration or from a recorded span.
    """

    model_config = ConfigDict(extra="forbid")

    model: str
    provider: str | None = None
    token: str | None = None


@router.get("/models")
async def models(configured: Configured) -> JsonOf[ModelList]:
    """Ask every available provider for its models, and return them with their prices."""
    return await model_catalog(configured.settings, configured.env)


@dataclass(frozen=True, slots=True)
class VendorList:
    """The companies that serve a model of a router, which is a provider that forwards requests."""

    data: Sequence[Vendor]


@dataclass(frozen=True, slots=True)
class Advice:
    """`advice` states how a person can get a model. It is null if a model is available."""

    advice: str | None


class DefaultModel(BaseModel):
    """The default model of new conversations."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=500, description="PROVIDER/MODEL")


@router.get("/models/vendors")
async def vendors(configured: Configured, provider: str, model: str) -> JsonOf[VendorList]:
    """Return the companies that serve a model of a router, with their prices."""
    found = await model_vendors(configured.settings, configured.env, provider, model)
    return VendorList(found)


@router.get("/models/advice")
async def advice(configured: Configured) -> JsonOf[Advice]:
    """Return what to do if no model is available."""
    return Advice(await first_start_advice(configured.settings, configured.env))


@router.put("/models/default")
async def save_default(
    server: CurrentServer, configured: Configured, model: DefaultModel
) -> JsonOf[SavedSetting]:
    """Save the default model of new conversations in the settings of the user or the project."""
    return await asyncio.to_thread(
        save_setting,
        server.app.root,
        configured.env,
        "model",
        model.name,
        project_folder=configured.settings.project_folder,
    )


@router.get("/prices")
async def prices(
    configured: Configured, query: Annotated[PriceQuery, Query()]
) -> JsonOf[PriceAnswer]:
    """Return the price of a model. Treadle computes the costs of recorded spans from this price."""
    return await explain_price(configured.settings, configured.env, query.model, query.provider)
