"""Routes that list the available models with their prices, and explain the price of a model."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from treadle.app.model_catalog import ModelList, PriceAnswer, explain_price, model_catalog
from treadle.server.configuration import Configured
from treadle.server.openapi import JsonOf

router = APIRouter(tags=["settings"])


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


@router.get("/prices")
async def prices(
    configured: Configured, query: Annotated[PriceQuery, Query()]
) -> JsonOf[PriceAnswer]:
    """Return the price of a model. Treadle computes the costs of recorded spans from this price."""
    return await explain_price(configured.settings, configured.env, query.model, query.provider)
