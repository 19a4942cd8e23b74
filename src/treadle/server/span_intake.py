"""Spans from outside on their way into the store: decoded, redacted, and on disk when it is said.

Work is done in threads of its own, one export at a time: several at once would only take turns,
and hold up the writer and the event loop. Large exports have a thread apart, so that small ones
need not wait behind them.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from treadle.spans.otlp import Decoded
from treadle.spans.redaction import redacted_all
from treadle.spans.span_writer import SpanWriter
from treadle.traces.store.protocol import StoreBusyError

LARGE_BYTES = 8_000_000
"""From this size on an export is a large one."""
HELD_BYTES = 64_000_000
"""Of exports that are received or decoded at one time; further ones are to come again later."""

Decode = Callable[[bytes], Decoded]


class SpanIntake:
    """Takes exports while it is entered."""

    def __init__(self, store: SpanWriter, *, most_bytes: int) -> None:
        """`most_bytes` is the size of the largest export that is taken."""
        self._store = store
        self.most_bytes = most_bytes
        self._room = max(HELD_BYTES, most_bytes)
        self._held = 0
        self._lock = threading.Lock()

    async def __aenter__(self) -> Self:
        self._small = ThreadPoolExecutor(1, thread_name_prefix="treadle-intake")
        self._large = ThreadPoolExecutor(1, thread_name_prefix="treadle-intake-large")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for executor in (self._small, self._large):
            await asyncio.to_thread(executor.shutdown)

    @property
    def held_bytes(self) -> int:
        """Of exports that are not on disk yet."""
        return self._held

    @contextmanager
    def holding(self) -> Iterator[Callable[[int], None]]:
        """Gives what to call with the bytes of an export that come to be held.

        It may be called from any thread, and raises StoreBusyError when too much is held already.
        They are let go at the end.
        """
        own = 0

        def hold(count: int) -> None:
            nonlocal own
            with self._lock:
                if self._held + count > self._room:
                    raise StoreBusyError(
                        "Treadle receives more spans than it can store.",
                        hint="Send them again later.",
                    )
                self._held += count
                own += count

        try:
            yield hold
        finally:
            with self._lock:
                self._held -= own

    async def take(self, body: bytes, decode: Decode) -> Decoded:
        """Keep the spans of an export; returns when they are safely on disk.

        Raises what `decode` raises, and StoreError; a StoreBusyError says to come again later.
        """

        def keep() -> tuple[Decoded, Future[None] | None]:
            decoded = decode(body)
            if not decoded.spans:
                return decoded, None
            spans, redacted = redacted_all(decoded.spans)
            return decoded, self._store.write(spans, redacted=redacted)

        executor = self._small if len(body) < LARGE_BYTES else self._large
        decoded, done = await asyncio.get_running_loop().run_in_executor(executor, keep)
        if done is not None:
            await asyncio.wrap_future(done)
        return decoded
