"""What pages show: the state that they mirror, and what they are asked."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from treadle.errors import UsageError
from treadle.server.responses import Taken
from treadle.server.state import CurrentServer, ServerState
from treadle.ui.addresses import own_address
from treadle.ui.messages import AnyAnswer, AnyRequest, Id, Labels, UiAnswer
from treadle.ui.state import MOST_COLLAPSED, Change, UiState, View

router = APIRouter(prefix="/ui", tags=["ui"])


def _own(url: str) -> str:
    try:
        return own_address(url)
    except UsageError as error:
        raise ValueError(str(error)) from error


Address = Annotated[str, AfterValidator(_own)]
PageId = Annotated[str, Field(min_length=1, max_length=200)]
Spans = Annotated[tuple[Id, ...], Field(max_length=MOST_COLLAPSED)]


class OpenPage(BaseModel):
    """A page that is open; `used_us` is when a person last did something there."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    location: str
    used_us: int


class Shown(BaseModel):
    """The state, and the pages that are open, the one that was used last first.

    `changed_by` is the page that made the last change, null where a tool or a program did.
    """

    revision: int
    changed_by: str | None
    location: str
    experiment_id: str | None
    label_filters: dict[View, list[str]]
    collapsed_span_ids: list[str]
    pages: list[OpenPage]


class UiChange(BaseModel):
    """What is different on the page that says so; what is absent stays.

    `label_filters` replaces the filters of the views that it names. Without anything but `page` a
    person has used that page.
    """

    model_config = ConfigDict(extra="forbid")

    page: PageId | None = None
    location: Address | None = None
    experiment_id: Id | None = Field(None, description="null: none is open")
    label_filters: dict[View, Labels] = Field(default_factory=dict)
    collapse: Spans = ()
    expand: Spans = ()


class Asking(BaseModel):
    """What a page is asked; the one that was used last, unless another is named."""

    model_config = ConfigDict(extra="forbid")

    page: PageId | None = None
    request: AnyRequest


class Asked(BaseModel):
    """What came of it: the page that was asked, null where none is open, and its answer."""

    page: str | None
    answer: AnyAnswer | None


@router.get("")
async def state(server: CurrentServer) -> Shown:
    """What is shown now, to be mirrored; `UiChanged` among the events says when it changes."""
    return await _told(server, await server.ui.state())


@router.patch("")
async def change(server: CurrentServer, wanted: UiChange) -> Shown:
    """Say what a person has changed on a page."""
    given = wanted.model_fields_set
    changed = Change(
        location=wanted.location,
        experiment_id=(wanted.experiment_id or "") if "experiment_id" in given else None,
        label_filters=wanted.label_filters,
        collapse=wanted.collapse,
        expand=wanted.expand,
    )
    return await _told(server, await server.ui.change(changed, by=wanted.page))


@router.post("/requests")
async def ask(server: CurrentServer, asking: Asking) -> Asked:
    """Ask a page for something, and wait a little for its answer."""
    reply = await server.ui.ask(asking.request, page=asking.page)
    return Asked(page=reply.page, answer=reply.answer)


@router.post("/requests/{ui_id}/answer")
async def take_answer(
    server: CurrentServer, ui_id: UUID, given: Annotated[UiAnswer, Body(discriminator="type")]
) -> Taken:
    """A page's answer to `UiRequested`; `taken` is false when there is one already."""
    return {"taken": await server.ui.answer(ui_id, given)}


async def _told(server: ServerState, shown: UiState) -> Shown:
    return Shown(
        revision=shown.revision,
        changed_by=shown.changed_by,
        location=shown.location,
        experiment_id=shown.experiment_id,
        label_filters={view: list(labels) for view, labels in shown.label_filters.items()},
        collapsed_span_ids=list(shown.collapsed_span_ids),
        pages=[OpenPage.model_validate(page) for page in await server.ui.pages()],
    )
