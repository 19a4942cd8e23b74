"""Reports the state of the server and its services."""

import asyncio
from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from treadle import __version__
from treadle.server.configuration import Configured
from treadle.server.routes.gateway import OpenedGateway
from treadle.server.state import CurrentServer, ServerState

router = APIRouter(tags=["health"])


class IndexHealth(BaseModel):
    """The code index. `fresh`: no file has changed since the last refresh."""

    files: int
    items: int
    skipped: int
    fresh: bool
    size_bytes: int


class GatewayHealth(BaseModel):
    """The number of gateway calls since the start, and of calls that could not be recorded.

    `path` is the base path for OpenAI clients.
    """

    path: str = "/v1"
    calls: int
    unrecorded: int
    reason: str | None


class TraceHealth(BaseModel):
    """The store of spans: its losses, its size, and the bytes that wait.

    `redactions` counts the redacted secrets by kind. `otlp_path` is the path for exporters.
    """

    otlp_path: str = "/v1/traces"

    recorder: Literal["on", "off"]
    lost: int
    size_bytes: int
    pending_bytes: int
    redactions: dict[str, int]


class ModelHealth(BaseModel):
    """The default model; `embedded` marks the demonstration model.

    `error` states why there is none. All fields are null while the server looks for one.
    """

    model_config = ConfigDict(from_attributes=True)

    provider: str | None
    model: str | None
    embedded: bool
    error: str | None


class Health(BaseModel):
    """`recording` names the data that could not be recorded."""

    ok: bool
    version: str
    root: str
    index: IndexHealth
    recording: str | None
    traces: TraceHealth
    gateway: GatewayHealth
    model: ModelHealth


@router.get("/health")
async def health(server: CurrentServer, gateway: OpenedGateway, configured: Configured) -> Health:
    """The version, the repository, its index, and whether everything is recorded."""
    status = await asyncio.to_thread(server.app.index.status)
    return Health(
        ok=True,
        version=__version__,
        root=str(server.app.root),
        index=IndexHealth.model_validate(status._asdict()),
        recording=server.app.recording.missing,
        traces=await asyncio.to_thread(_traces, server),
        gateway=GatewayHealth.model_validate(asdict(gateway.health())),
        model=ModelHealth.model_validate(await configured.default_model()),
    )


def _traces(server: ServerState) -> TraceHealth:
    recording = server.app.recording
    if recording.store is None or recording.recorder is None:
        return TraceHealth(recorder="off", lost=0, size_bytes=0, pending_bytes=0, redactions={})
    loss = recording.recorder.loss
    path = recording.store.path
    files = [path, path.with_name(f"{path.name}-wal")]
    return TraceHealth(
        recorder="on",
        lost=loss.count if loss else 0,
        size_bytes=sum(file.stat().st_size for file in files if file.exists()),
        pending_bytes=server.ingest.held_bytes,
        redactions=dict(recording.store.redactions()),
    )
