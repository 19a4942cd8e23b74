"""Routes that count, label and delete the selected rows of a list."""

import asyncio
import time
from typing import Annotated, Self

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from treadle.events.changes import SpansDeleted
from treadle.ids import NO_REQUEST
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import json_responses
from treadle.server.request_identity import describe_action, withdraw_action
from treadle.server.responses import json_response
from treadle.server.routers import api_router
from treadle.spans.label_edits import editable_labels
from treadle.traces.query import Rows, parse_query
from treadle.traces.selection import (
    Labelled,
    Selection,
    SelectionCount,
    count_selection,
    delete_selection,
    label_selection,
)
from treadle.traces.store.results import Deleted

router = api_router("/selections", "traces")

_Id = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
_Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class SelectedRows(BaseModel):
    """The selected rows of a list: either the rows with the given ids, or all that match a query.

    The id of a span is `TRACE/SPAN`, and both of its parts are percent-encoded.
    """

    model_config = ConfigDict(extra="forbid")

    rows: Rows
    ids: list[_Id] | None = Field(None, max_length=10_000)
    query: str | None = Field(None, max_length=10_000)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.ids is None) == (self.query is None):
            raise ValueError("Pass either `ids` or `query`.")
        return self

    def selection(self) -> Selection:
        """Return the selection. Raises UsageError for an invalid query."""
        if self.query is None:
            return Selection(self.rows, tuple(self.ids or ()))
        return Selection(self.rows, query=parse_query(self.query, now_us=_now_us()))


class LabelChange(SelectedRows):
    """The labels that the selected rows get and lose."""

    add: list[_Label] = Field(default_factory=list, max_length=100)
    remove: list[_Label] = Field(default_factory=list, max_length=100)

    @model_validator(mode="after")
    def _known_labels(self) -> Self:
        reserved = {*self.add, *self.remove} - {*editable_labels([*self.add, *self.remove])}
        if reserved:
            raise ValueError(f"Treadle sets the label {min(reserved)!r} itself.")
        return self


@router.post("/count", response_class=Response, responses=json_responses(SelectionCount))
async def count(server: CurrentServer, request: Request, selected: SelectedRows) -> Response:
    """Count the selected rows, and the spans that a deletion of these rows includes."""
    selection = selected.selection()
    return await json_response(request, lambda: count_selection(server.traces, selection))


@router.post("/label", response_class=Response, responses=json_responses(Labelled))
async def label(server: CurrentServer, request: Request, change: LabelChange) -> Response:
    """Add labels to the selected rows, and remove labels from them.

    A label of a thread or run is added to the root of each of its traces, whose spans inherit it.
    """
    selection = change.selection()
    return await json_response(
        request,
        lambda: label_selection(
            server.traces, selection, add=change.add, remove=change.remove, now_us=_now_us()
        ),
    )


@router.post("/delete")
async def delete(server: CurrentServer, request: Request, selected: SelectedRows) -> Deleted:
    """Permanently delete the selected threads or runs, or the traces of the selected spans."""
    chosen = selected.query if selected.ids is None else ", ".join(selected.ids)
    describe_action(request, f"{selected.rows}: {chosen}")
    selection = selected.selection()
    deleted = await asyncio.to_thread(delete_selection, server.traces, selection)
    if deleted.spans:
        event = SpansDeleted(request_id=NO_REQUEST, spans=deleted.spans, traces=deleted.traces)
        await server.app.bus.publish(event)
    else:
        withdraw_action(request)
    return deleted


def _now_us() -> int:
    return time.time_ns() // 1_000
