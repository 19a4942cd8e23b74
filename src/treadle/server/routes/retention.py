"""Routes that show the limits of stored traces, and the traces that other limits would delete."""

import asyncio
import time
from collections.abc import Callable
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from treadle.config.quantities import age_us, size_bytes
from treadle.errors import UsageError
from treadle.server.current_project import Configured, CurrentServer
from treadle.server.routers import api_router
from treadle.server.state import ServerState
from treadle.traces.store.results import HeldTraces

router = api_router("/retention", "settings")


class RetentionAnswer(BaseModel):
    """The limits in the settings, and the totals of the stored traces.

    A limit of null means that there is no limit. `held` contains the totals of all stored traces,
    such as their number and size. `due` contains the totals of the traces that exceed the limits
    and will be deleted next.
    """

    keep: str | None
    max_size: str | None
    held: HeldTraces
    due: HeldTraces


class RetentionPreview(BaseModel):
    """The effect of other limits on the stored traces.

    `held` contains the totals of all stored traces. `deleted` contains the totals of the traces
    that these limits would delete.
    """

    keep: str | None
    max_size: str | None
    held: HeldTraces
    deleted: HeldTraces


class Limits(BaseModel):
    """Limits in the format of the settings. An absent limit means that there is no limit."""

    model_config = ConfigDict(extra="forbid")

    keep: str | None = Field(None, description="maximum age of a trace, such as 12h or 30d")
    max_size: str | None = Field(
        None, description="maximum size of the store, such as 500MB or 2GB"
    )
    token: str | None = None


@router.get("")
async def retention(server: CurrentServer, configured: Configured) -> RetentionAnswer:
    """Return the limits, and the totals of the stored traces."""
    own = configured.settings.traces
    held, due = await asyncio.to_thread(_count_traces, server, own.keep, own.max_size)
    return RetentionAnswer(keep=own.keep, max_size=own.max_size, held=held, due=due)


@router.get("/preview")
async def preview(server: CurrentServer, limits: Annotated[Limits, Query()]) -> RetentionPreview:
    """Return the totals of the traces that other limits would delete, without deleting any."""
    held, deleted = await asyncio.to_thread(_count_traces, server, limits.keep, limits.max_size)
    return RetentionPreview(keep=limits.keep, max_size=limits.max_size, held=held, deleted=deleted)


def _count_traces(
    server: ServerState, keep: str | None, max_size: str | None
) -> tuple[HeldTraces, HeldTraces]:
    age = _read("keep", keep, age_us, "30d")
    before = None if age is None else time.time_ns() // 1_000 - age
    max_bytes = _read("max_size", max_size, size_bytes, "2GB")
    due = server.traces.preview_prune(before_us=before, max_bytes=max_bytes)
    return server.traces.held(), due


def _read(name: str, text: str | None, read: Callable[[str], int], example: str) -> int | None:
    try:
        return None if text is None else read(text)
    except ValueError as error:
        hint = f"Write it in a form such as {example}."
        raise UsageError(f"{name} {error}.", hint=hint) from error
