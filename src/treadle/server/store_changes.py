"""Signals changes of the shared stores to the feeds of this server and of the other servers.

A feed reads its store after each signal, and also at intervals. At the intervals, it finds changes
by processes that send no signals, such as a `treadle` command, and changes whose signals were lost.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from enum import StrEnum

Wait = Callable[[], Awaitable[None]]
"""Returns when a feed has to read its store again."""

_TOGETHER_SECONDS = 0.05
"""All changes of a store within this time lead to one signal."""


class SharedStore(StrEnum):
    """A store whose changes are events of the server."""

    SPANS = "spans"
    PAGES = "pages"
    EXPERIMENTS = "experiments"


class StoreChanges:
    """The signals of one server. Create it in the event loop of the server."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed: dict[SharedStore, asyncio.Event] = defaultdict(asyncio.Event)
        self._reported: set[SharedStore] = set()
        self._forward: Callable[[str], None] | None = None

    def forward_to(self, forward: Callable[[str], None]) -> None:
        """Call `forward` with the name of each store that this server changes."""
        self._forward = forward

    def reporter(self, store: SharedStore) -> Callable[[], None]:
        """Return a function that reports a change of `store`. Any thread may call it."""

        def report() -> None:
            # The call raises RuntimeError if the event loop ended before the calling thread.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._report, store)

        return report

    def wake(self, store: str) -> None:
        """Let the feed of a store read the store, because another server changed it."""
        with contextlib.suppress(ValueError):  # a newer server may have further stores
            self._changed[SharedStore(store)].set()

    def wait(self, store: SharedStore, seconds: float) -> Wait:
        """Return a function that waits for a change of `store`, but at most `seconds`.

        After a signal, it waits a moment for further changes.
        """
        changed = self._changed[store]

        async def wait() -> None:
            # In Python 3.11, `wait_for` can lose a cancellation that arrives when the wait ends.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await changed.wait()
                    await asyncio.sleep(min(seconds, _TOGETHER_SECONDS))
            changed.clear()

        return wait

    def _report(self, store: SharedStore) -> None:
        self._changed[store].set()
        if self._forward is not None and store not in self._reported:
            self._reported.add(store)
            self._loop.call_later(_TOGETHER_SECONDS, self._forward_report, store)

    def _forward_report(self, store: SharedStore) -> None:
        self._reported.discard(store)
        if self._forward is not None:
            self._forward(store.value)
