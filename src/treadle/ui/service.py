"""The service through which tools and routes use the page state and send requests to pages."""

import asyncio
from dataclasses import dataclass, replace
from uuid import UUID

from pydantic import TypeAdapter

from treadle.clock import Clock, SystemClock
from treadle.errors import NotFoundError, UsageError
from treadle.ids import new_id
from treadle.ui.messages import AnyAnswer, AnyRequest, UiAnswer, UiRequest, answers
from treadle.ui.state import Change, OpenPage, SavedView, UiState
from treadle.ui.store import UiStore

PATIENCE_SECONDS = 2.0
"""Seconds that a page has for its answer. The time is short, since a person waits."""
_LOOK_SECONDS = 0.05

_REQUEST: TypeAdapter[UiRequest] = TypeAdapter(AnyRequest)
_ANSWER: TypeAdapter[UiAnswer] = TypeAdapter(AnyAnswer)


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a request to a page.

    `page` is the id of the page, or None if no page is open. `answer` is None if no answer arrived
    in time.
    """

    page: str | None = None
    answer: UiAnswer | None = None


class Ui:
    """The saved state of the page, and requests to the open pages of all processes."""

    def __init__(
        self, store: UiStore, clock: Clock | None = None, *, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._patience = patience

    async def state(self) -> UiState:
        """Return the current state."""
        return await asyncio.to_thread(self._store.state)

    async def change(self, change: Change, *, by: str | None = None) -> UiState:
        """Change the state.

        `by` is the page that requests the change, or None for a tool or a program.
        """
        now_us = self._clock.now_us()
        return await asyncio.to_thread(self._store.change, change, by=by, now_us=now_us)

    async def pages(self) -> tuple[OpenPage, ...]:
        """Return the open pages, most recently used first."""
        return await asyncio.to_thread(self._store.pages, self._clock.now_us())

    async def ask(
        self, request: UiRequest, *, request_id: UUID | None = None, page: str | None = None
    ) -> Reply:
        """Send a request to a page, by default the last used page, and wait for its answer.

        `request_id` is the id of the call or session that sends the request. Another process may
        serve the page, so the answer arrives through the state file.
        """
        put = await self._save_request(request, request_id, page)
        if put is None:
            return Reply()
        ui_id, page_id = put
        until = self._clock.monotonic() + self._patience
        while self._clock.monotonic() < until:
            await self._clock.sleep(_LOOK_SECONDS)
            answer = await asyncio.to_thread(self._store.answer_to, ui_id)
            if answer is not None:
                return Reply(page_id, _ANSWER.validate_python(answer))
        return Reply(page_id)

    async def send(self, request: UiRequest, *, request_id: UUID | None = None) -> None:
        """Send a request to the last used page, without waiting for its answer."""
        await self._save_request(request, request_id, None)

    async def answer(self, ui_id: UUID, answer: UiAnswer) -> bool:
        """Save the answer of a page.

        Returns False if the request already has an answer. Raises NotFoundError for an unknown
        request, and UsageError for an answer of the wrong type.
        """
        saved = await asyncio.to_thread(self._store.request, ui_id)
        if saved is None:
            raise NotFoundError(
                f"There is no request {ui_id}.", hint="A request is kept for one minute."
            )
        request = _REQUEST.validate_python(saved.request)
        if not answers(answer, request):
            raise UsageError(f"{answer.type} does not answer {request.type}.", hint=None)
        return await asyncio.to_thread(self._store.answer, ui_id, answer.fields)

    async def views(self, screen: str | None = None) -> list[SavedView]:
        """Return the saved views of one screen, or of all screens if `screen` is None."""
        return await asyncio.to_thread(self._store.views, screen)

    async def view(self, view_id: str) -> SavedView:
        """Return the saved view with this id. Raises NotFoundError."""
        for view in await self.views():
            if view.id == view_id:
                return view
        raise NotFoundError(f"There is no view {view_id}.", hint="GET /api/v1/views lists them.")

    async def save_view(self, view: SavedView) -> SavedView:
        """Save a view. A view without an id gets one. Raises UsageError if the name is in use."""
        kept = replace(view, id=view.id or str(new_id()), updated_us=self._clock.now_us())
        await asyncio.to_thread(self._store.save_view, kept)
        return kept

    async def delete_view(self, view_id: str) -> None:
        """Delete a view. Raises NotFoundError."""
        await self.view(view_id)
        await asyncio.to_thread(self._store.delete_view, view_id)

    async def _save_request(
        self, request: UiRequest, request_id: UUID | None, page: str | None
    ) -> tuple[UUID, str] | None:
        """Save a request for a page.

        Returns the ids of the request and the page, or None if no page is open.
        """
        pages = [each.id for each in await self.pages() if page in {None, each.id}]
        if not pages:
            return None
        ui_id = new_id()
        await asyncio.to_thread(
            self._store.ask,
            ui_id,
            pages[0],
            request.fields,
            request_id=request_id or ui_id,
            now_us=self._clock.now_us(),
        )
        return ui_id, pages[0]
