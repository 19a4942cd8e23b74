"""Routes that list, save, change and delete saved views.

A view is a named filter of a list, with the columns to show. The event `UiChanged` reports each
change to the open pages.
"""

from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from treadle.server.current_project import CurrentServer
from treadle.server.routers import api_router
from treadle.ui.state import SavedView

router = api_router("/views", "ui")

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Screen = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_/-]{0,99}$")]
Text = Annotated[str, StringConstraints(max_length=20_000)]
Columns = Annotated[tuple[Name, ...], Field(max_length=200)]


class View(BaseModel):
    """A saved view. Its name is unique within its screen.

    `query` is a query in the query language. `search` is the query string of the page's address.
    `updated_us` is a time in Unix microseconds.
    """

    model_config = ConfigDict(from_attributes=True)

    id: str
    screen: str
    name: str
    query: str
    search: str
    columns: tuple[str, ...]
    updated_us: int


class ViewList(BaseModel):
    """All saved views, sorted by screen and name."""

    data: list[View]


class NewView(BaseModel):
    """The body of a request that saves a new view."""

    model_config = ConfigDict(extra="forbid")

    screen: Screen
    name: Name
    query: Text = ""
    search: Text = ""
    columns: Columns = ()


class ViewChange(BaseModel):
    """The body of a request that changes a view. Absent fields do not change."""

    model_config = ConfigDict(extra="forbid")

    name: Name | None = None
    query: Text | None = None
    search: Text | None = None
    columns: Columns | None = None


@router.get("")
async def views(server: CurrentServer, screen: str | None = None) -> ViewList:
    """Return the saved views, optionally only those of one screen."""
    return ViewList(data=[View.model_validate(each) for each in await server.ui.views(screen)])


@router.post("", status_code=201)
async def save(server: CurrentServer, body: NewView) -> View:
    """Save a new view."""
    kept = await server.ui.save_view(SavedView(id="", updated_us=0, **body.model_dump()))
    return View.model_validate(kept)


@router.patch("/{view_id}")
async def change(server: CurrentServer, view_id: str, body: ViewChange) -> View:
    """Change a saved view."""
    found = await server.ui.view(view_id)
    changed = replace(found, **body.model_dump(exclude_none=True))
    return View.model_validate(await server.ui.save_view(changed))


@router.delete("/{view_id}", status_code=204)
async def delete(server: CurrentServer, view_id: str) -> None:
    """Delete a saved view."""
    await server.ui.delete_view(view_id)
