"""The events between the server and pages: a page is asked for something, the state changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from treadle.events.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class UiRequested(Event):
    """The page with the id `page` is asked for something; others need not do anything.

    `request` is one of the requests of `ui.messages` as JSON; the answer names `ui_id`.
    """

    ui_id: UUID
    page: str
    request: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class UiChanged(Event):
    """The state is now that of `revision`; who shows a part of it reads it again.

    `by` is the page that changed it, None where a tool or a program did.
    """

    revision: int
    by: str | None
