"""Whether the server is well, and what it serves."""

import asyncio
from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel

from treadle import __version__
from treadle.server.house import Opened
from treadle.server.routes.gateway import OpenedGateway

router = APIRouter(tags=["health"])


class IndexHealth(BaseModel):
    """The code index as it is; `fresh`: no file has changed since it was brought up to date."""

    files: int
    items: int
    skipped: int
    fresh: bool
    size_bytes: int


class GatewayHealth(BaseModel):
    """Calls since the start, and how many of them could not be recorded, for which reason."""

    calls: int
    unrecorded: int
    reason: str | None


class Health(BaseModel):
    """`recording` says what is missing from the record, if anything is."""

    ok: bool
    version: str
    root: str
    index: IndexHealth
    recording: str | None
    gateway: GatewayHealth


@router.get("/health")
async def health(house: Opened, gateway: OpenedGateway) -> Health:
    """The version, the repository, its index, and whether all is recorded."""
    status = await asyncio.to_thread(house.calls.index.status)
    return Health(
        ok=True,
        version=__version__,
        root=str(house.calls.root),
        index=IndexHealth.model_validate(status._asdict()),
        recording=house.calls.recording.missing,
        gateway=GatewayHealth.model_validate(asdict(gateway.health())),
    )
