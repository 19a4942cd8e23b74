"""The route that reports the state of the server and its services."""

import asyncio
from dataclasses import asdict
from typing import Literal

from pydantic import BaseModel, ConfigDict

from treadle import __version__
from treadle.server.current_project import Configured, CurrentServer, OpenedGateway
from treadle.server.routers import api_router
from treadle.server.state import ServerState

router = api_router("", "health")


class IndexHealth(BaseModel):
    """The state of the code index.

    `fresh` is true if no file has changed since the index was last updated.
    """

    files: int
    items: int
    skipped: int
    fresh: bool
    size_bytes: int


class GatewayHealth(BaseModel):
    """The state of the gateway.

    `path` is the base path for OpenAI clients. `calls` is the number of calls since the start of
    the server. `unrecorded` is the number of calls that could not be recorded, and `reason` states
    why.
    """

    path: str = "/v1"
    calls: int
    unrecorded: int
    reason: str | None


class TraceHealth(BaseModel):
    """The state of the store of spans.

    `otlp_path` is the path for OpenTelemetry exporters. `lost` is the number of spans that could
    not be recorded. `size_bytes` is the size of the store on disk. `pending_bytes` is the size of
    received spans that are not yet stored. `redactions` contains the number of redacted secrets of
    each kind.
    """

    otlp_path: str = "/v1/traces"

    recorder: Literal["on", "off"]
    lost: int
    size_bytes: int
    pending_bytes: int
    redactions: dict[str, int]


class ModelHealth(BaseModel):
    """The model that answers requests without a model name.

    `embedded` is true if it is the model that Treadle contains for demonstrations. `error` states
    why no model is available. `provider`, `model` and `error` are null while the server looks for a
    model.
    """

    model_config = ConfigDict(from_attributes=True)

    provider: str | None
    model: str | None
    embedded: bool
    error: str | None


class Health(BaseModel):
    """The state of the server.

    `root` is the path of the served repository. `recording` states that spans could not be
    recorded, and why. It is null if all spans were recorded.
    """

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
    """Return the version, the repository, and the state of its index, traces, gateway and model."""
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
    return TraceHealth(
        recorder="on",
        lost=loss.count if loss else 0,
        size_bytes=recording.store.size(),
        pending_bytes=server.ingest.held_bytes,
        redactions=dict(recording.store.redactions()),
    )
