"""Publishes changes of the page state, and requests to pages, as events of a server.

The changes and requests come from the state file, which all Treadle processes share.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Self

from treadle.clock import Clock, SystemClock
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.events.changes import UiChanged, UiRequested
from treadle.ids import NO_REQUEST
from treadle.ui.store import UiStore

POLL_SECONDS = 0.1
"""Seconds between two checks for changes and requests of other processes."""
_BEAT_SECONDS = 5.0
"""Seconds between two renewals of the open pages in the state file."""


class UiFeed:
    """A context manager that reads the state file at intervals and publishes events."""

    def __init__(
        self,
        store: UiStore,
        bus: EventBus,
        clock: Clock | None = None,
        wait: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Create a feed. `wait` waits until the store may have changed."""
        self._store = store
        self._bus = bus
        self._clock = clock or SystemClock()
        self._wait = wait or _interval
        self._pages: Counter[str] = Counter()
        self._left: set[str] = set()
        self._revision = 0
        self._number = 0
        self._beaten = self._clock.monotonic()

    async def __aenter__(self) -> Self:
        with contextlib.suppress(StoreError):  # the server also works without the state of the page
            self._revision, _ = await asyncio.to_thread(self._store.revision)
            self._number = await asyncio.to_thread(self._store.last_number)
        self._task = asyncio.create_task(self._follow(), name="pages")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._left |= set(self._pages)
        self._pages.clear()
        with contextlib.suppress(StoreError):
            await asyncio.to_thread(self._keep_pages, ())

    @asynccontextmanager
    async def attended(self, page: str) -> AsyncIterator[None]:
        """Count a page as open while this context manager is active."""
        self._pages[page] += 1
        try:
            with contextlib.suppress(StoreError):  # the next renewal tries again
                await asyncio.to_thread(self._store.renew_pages, (page,), self._clock.now_us())
            yield
        finally:  # does not wait for the file, so that the event stream ends at once
            self._pages[page] -= 1
            if not self._pages[page]:
                del self._pages[page]
                self._left.add(page)

    async def _follow(self) -> None:
        while True:
            await self._wait()
            # After a failed read, the next check publishes the same changes.
            with contextlib.suppress(StoreError):
                await asyncio.to_thread(self._keep_pages, tuple(self._pages))
                await self._publish_changes()

    def _keep_pages(self, pages: tuple[str, ...]) -> None:
        """Remove pages that were closed, and renew the open pages at intervals."""
        while self._left:
            page = self._left.pop()
            if page not in self._pages:  # the page may be open again
                self._store.remove_page(page)
            if page in self._pages:
                self._store.renew_pages((page,), self._clock.now_us())
        now = self._clock.monotonic()
        if pages and now - self._beaten >= _BEAT_SECONDS:
            self._store.renew_pages(pages, self._clock.now_us())
            self._beaten = now

    async def _publish_changes(self) -> None:
        revision, by = await asyncio.to_thread(self._store.revision)
        if revision != self._revision:
            self._revision = revision
            await self._bus.publish(UiChanged(request_id=NO_REQUEST, revision=revision, by=by))
        for request in await asyncio.to_thread(self._store.requests_after, self._number):
            self._number = request.number
            if request.page in self._pages:
                await self._bus.publish(
                    UiRequested(
                        request_id=request.request_id,
                        ui_id=request.id,
                        page=request.page,
                        request=request.request,
                    )
                )


async def _interval() -> None:
    await asyncio.sleep(POLL_SECONDS)
