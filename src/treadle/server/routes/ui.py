"""Routes for the state that all open pages share, and for requests to pages."""

from typing import Annotated
from uuid import UUID

from fastapi import Body
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from treadle.errors import UsageError
from treadle.server.current_project import CurrentServer
from treadle.server.responses import Taken
from treadle.server.routers import api_router
from treadle.server.state import ServerState
from treadle.ui.addresses import own_address
from treadle.ui.messages import AnyAnswer, AnyRequest, Id, Labels, PageId, UiAnswer
from treadle.ui.state import MAX_COLLAPSED, Change, OpenPage, UiState, View

router = api_router("/ui", "ui")


def _own(url: str) -> str:
    try:
        return own_address(url)
    except UsageError as error:
        raise ValueError(str(error)) from error


Address = Annotated[str, AfterValidator(_own)]
Spans = Annotated[tuple[Id, ...], Field(max_length=MAX_COLLAPSED)]


class Shown(BaseModel):
    """The state that all pages share, and the open pages, last used first.

    `revision` is the number of changes so far. `changed_by` is the id of the page that made the
    last change. It is null if a tool or another program made that change.
    """

    revision: int
    changed_by: str | None
    location: str
    experiment_id: str | None
    label_filters: dict[View, list[str]]
    collapsed_span_ids: list[str]
    pages: list[OpenPage]


class UiChange(BaseModel):
    """A change of the shared state by a page. Absent fields do not change.

    `page` is the id of the page. `label_filters` replaces the filters of the views that it names. A
    request with only `page` reports that a person used that page.
    """

    model_config = ConfigDict(extra="forbid")

    page: PageId | None = None
    location: Address | None = None
    experiment_id: Id | None = Field(None, description="null: none is open")
    label_filters: dict[View, Labels] = Field(default_factory=dict)
    collapse: Spans = ()
    expand: Spans = ()


class PageQuestion(BaseModel):
    """A request to an open page. If `page` is null, the page that was used last receives it."""

    model_config = ConfigDict(extra="forbid")

    page: PageId | None = None
    request: AnyRequest


class PageAnswer(BaseModel):
    """The answer of a page to a request.

    `page` is the id of the page that received the request, and null if no page is open. `answer` is
    null if the page did not answer in time.
    """

    page: str | None
    answer: AnyAnswer | None


@router.get("")
async def state(server: CurrentServer) -> Shown:
    """Return the shared state. The event `UiChanged` reports each later change."""
    return await _shown(server, await server.ui.state())


@router.patch("")
async def change(server: CurrentServer, changes: UiChange) -> Shown:
    """Change the shared state, because a person did something on a page."""
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
    """Receive the answer of a page to the event `UiRequested`.

    `taken` is false if an answer arrived earlier.
    """
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
