"""What happens, as server-sent events."""

from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from treadle.app.event_log import Gap
from treadle.server.house import Opened

router = APIRouter(tags=["events"])


@router.get("/events", response_class=EventSourceResponse)
async def events(
    house: Opened,
    request_id: UUID | None = None,
    after: Annotated[int | None, Query(ge=0)] = None,
    approve: bool = False,
    last_event_id: Annotated[int | None, Header(ge=0)] = None,
) -> AsyncIterator[ServerSentEvent]:
    """Every event as JSON (as `ask --json` prints it), its number as the id, without end.

    Those after number `after`, or after the `Last-Event-ID` of a client that comes back; from now
    on without either. An event `gap` with `{"after", "next"}` tells of some that are kept no more.
    With `approve` a person follows who can be asked, and answers at `/approvals`.
    """
    with house.calls.approvals.attend() if approve else nullcontext():
        start = last_event_id if last_event_id is not None else after
        async for event in house.log.follow(after=start, request_id=request_id):
            if isinstance(event, Gap):
                yield ServerSentEvent(event="gap", data=event._asdict())
            else:
                yield ServerSentEvent(event=event.type, id=str(event.seq), raw_data=event.text)
