"""The state of the page as tools and routes use it, and the way to ask a page for something."""

import asyncio
from dataclasses import dataclass, replace
from uuid import UUID

from pydantic import TypeAdapter

from treadle.clock import Clock, SystemClock
from treadle.errors import NotFoundError, UsageError
from treadle.ids import new_id
from treadle.ui.messages import AnyAnswer, AnyRequest, UiAnswer, UiRequest, answers
from treadle.ui.state import Change, Page, SavedView, UiState
from treadle.ui.store import UiStore

PATIENCE_SECONDS = 2.0
"""How long a page has to answer: a person waits for it, and it has little to do."""
_LOOK_SECONDS = 0.05

_REQUEST: TypeAdapter[UiRequest] = TypeAdapter(AnyRequest)
_ANSWER: TypeAdapter[UiAnswer] = TypeAdapter(AnyAnswer)


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a request to a page: `page` is None if none is open.

    `answer` is None where none came in time.
    """

    page: str | None = None
    answer: UiAnswer | None = None


class Ui:
    """The state in a file, and the pages that are open over it, in whichever process."""

    def __init__(
        self, store: UiStore, clock: Clock | None = None, *, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._patience = patience

    async def state(self) -> UiState:
        """What is shown now."""
        return await asyncio.to_thread(self._store.state)

    async def change(self, change: Change, *, by: str | None = None) -> UiState:
        """Make the state different; `by` is the page that did it, if one did."""
        now_us = self._clock.now_us()
        return await asyncio.to_thread(self._store.change, change, by=by, now_us=now_us)

    async def pages(self) -> tuple[Page, ...]:
        """The pages that are open, the one that a person used last first."""
        return await asyncio.to_thread(self._store.pages, self._clock.now_us())

    async def ask(
        self, request: UiRequest, *, request_id: UUID | None = None, page: str | None = None
    ) -> Reply:
        """Ask that page, else the one that was used last, and wait a little for its answer.

        `request_id` is that of the call or session that asks.
        """
        asked = await self._put(request, request_id, page)
        if asked is None:
            return Reply()
        ui_id, asked_page = asked
        until = self._clock.monotonic() + self._patience
        while self._clock.monotonic() < until:
            await self._clock.sleep(_LOOK_SECONDS)
            answer = await asyncio.to_thread(self._store.answer_to, ui_id)
            if answer is not None:
                return Reply(asked_page, _ANSWER.validate_python(answer))
        return Reply(asked_page)

    async def tell(self, request: UiRequest, *, request_id: UUID | None = None) -> None:
        """Let the page that was used last follow what was done; its answer is not waited for."""
        await self._put(request, request_id, None)

    async def answer(self, ui_id: UUID, answer: UiAnswer) -> bool:
        """Take a page's answer; False where it is too late. Raises NotFoundError, UsageError."""
        asked = await asyncio.to_thread(self._store.asked, ui_id)
        if asked is None:
            raise NotFoundError(
                f"There is no request {ui_id}.", hint="A request is kept for one minute."
            )
        request = _REQUEST.validate_python(asked.request)
        if not answers(answer, request):
            raise UsageError(f"{answer.type} does not answer {request.type}.", hint=None)
        return await asyncio.to_thread(self._store.answer, ui_id, answer.fields)

    async def views(self, screen: str | None = None) -> list[SavedView]:
        """The saved views, of one screen if it is named."""
        return await asyncio.to_thread(self._store.views, screen)

    async def view(self, view_id: str) -> SavedView:
        """The saved view of that id. Raises NotFoundError."""
        for view in await self.views():
            if view.id == view_id:
                return view
        raise NotFoundError(f"There is no view {view_id}.", hint="GET /api/v1/views lists them.")

    async def save_view(self, view: SavedView) -> SavedView:
        """Keep a view; one without an id is new. Raises UsageError for a name that is used."""
        kept = replace(view, id=view.id or str(new_id()), updated_us=self._clock.now_us())
        await asyncio.to_thread(self._store.save_view, kept)
        return kept

    async def delete_view(self, view_id: str) -> None:
        """Take a view out. Raises NotFoundError."""
        await self.view(view_id)
        await asyncio.to_thread(self._store.delete_view, view_id)

    async def _put(
        self, request: UiRequest, request_id: UUID | None, page: str | None
    ) -> tuple[UUID, str] | None:
        """Keep a request for a page: its id, and that of the page; None where there is none."""
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
