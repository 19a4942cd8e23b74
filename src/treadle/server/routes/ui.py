"""The state that pages mirror, and requests to pages."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from treadle.errors import UsageError
from treadle.server.responses import Taken
from treadle.server.state import CurrentServer, ServerState
from treadle.ui.addresses import own_address
from treadle.ui.messages import AnyAnswer, AnyRequest, Id, Labels, UiAnswer
from treadle.ui.state import MAX_COLLAPSED, Change, OpenPage, UiState, View

router = APIRouter(prefix="/ui", tags=["ui"])


def _own(url: str) -> str:
    try:
        return own_address(url)
    except UsageError as error:
        raise ValueError(str(error)) from error


Address = Annotated[str, AfterValidator(_own)]
PageId = Annotated[str, Field(min_length=1, max_length=200)]
Spans = Annotated[tuple[Id, ...], Field(max_length=MAX_COLLAPSED)]


class Shown(BaseModel):
    """The state, and the open pages, last used first.

    `changed_by` is the page that made the last change, null for a tool or a program.
    """

    revision: int
    changed_by: str | None
    location: str
    experiment_id: str | None
    label_filters: dict[View, list[str]]
    collapsed_span_ids: list[str]
    pages: list[OpenPage]


class UiChange(BaseModel):
    """A change of a page; fields that are absent stay.

    `label_filters` replaces the filters of the views that it names. With `page` alone, it reports
    that a person used the page.
    """

    model_config = ConfigDict(extra="forbid")

    page: PageId | None = None
    location: Address | None = None
    experiment_id: Id | None = Field(None, description="null: none is open")
    label_filters: dict[View, Labels] = Field(default_factory=dict)
    collapse: Spans = ()
    expand: Spans = ()


class PageQuestion(BaseModel):
    """A request to a page; default: the page that was used last."""

    model_config = ConfigDict(extra="forbid")

    page: PageId | None = None
    request: AnyRequest


class PageAnswer(BaseModel):
    """The page that received the request, null if none is open, and its answer."""

    page: str | None
    answer: AnyAnswer | None


@router.get("")
async def state(server: CurrentServer) -> Shown:
    """The current state. `UiChanged` among the events reports each change."""
    return await _shown(server, await server.ui.state())


@router.patch("")
async def change(server: CurrentServer, changes: UiChange) -> Shown:
    """Report the change of a person on a page."""
    given = changes.model_fields_set
    changed = Change(
        location=changes.location,
        experiment_id=(changes.experiment_id or "") if "experiment_id" in given else None,
        label_filters=changes.label_filters,
        collapse=changes.collapse,
        expand=changes.expand,
    )
    return await _shown(server, await server.ui.change(changed, by=changes.page))


@router.post("/requests")
async def ask(server: CurrentServer, question: PageQuestion) -> PageAnswer:
    """Send a request to a page, and wait briefly for its answer."""
    reply = await server.ui.ask(question.request, page=question.page)
    return PageAnswer(page=reply.page, answer=reply.answer)


@router.post("/requests/{ui_id}/answer")
async def take_answer(
    server: CurrentServer, ui_id: UUID, body: Annotated[UiAnswer, Body(discriminator="type")]
) -> Taken:
    """The answer of a page to `UiRequested`. `taken` is false if there is one already."""
    return Taken(taken=await server.ui.answer(ui_id, body))


async def _shown(server: ServerState, shown: UiState) -> Shown:
    return Shown(
        revision=shown.revision,
        changed_by=shown.changed_by,
        location=shown.location,
        experiment_id=shown.experiment_id,
        label_filters={view: list(labels) for view, labels in shown.label_filters.items()},
        collapsed_span_ids=list(shown.collapsed_span_ids),
        pages=list(await server.ui.pages()),
    )
