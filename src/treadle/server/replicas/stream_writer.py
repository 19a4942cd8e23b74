"""Writes the exports of a stream to the store. Every server of the project does so.

The writer acknowledges an export after the commit. If the writer ends before the acknowledgement,
JetStream delivers the export to another writer. An export may therefore be written twice. The
second time changes nothing.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from treadle.clock import Clock
from treadle.errors import StoreError, UsageError
from treadle.server.replicas.export_stream import (
    ACK_SECONDS,
    CONSUMER,
    RECEIVED_HEADER,
    TYPE_HEADER,
    ExportStream,
)
from treadle.spans.ingest import IngestQueue
from treadle.spans.otlp import ExportForm, export_decoder
from treadle.spans.span_writer import StoreBusyError

if TYPE_CHECKING:
    from nats.aio.msg import Msg

_log = logging.getLogger(__name__)

TRIES = 5
"""An export is put away after this many failures if other exports are stored meanwhile."""
PATIENT_TRIES = 20
"""An export is put away after this many failures if no other export is stored meanwhile."""
MOST_DELIVERIES = 50
"""An export is put away without another try if JetStream delivered it more often than this.

Such an export probably ends every process that tries to write it.
"""
MOST_IN_FLIGHT = 64
"""The maximum number of exports that one writer has in memory."""
_FETCH_SECONDS = 5.0
RETRY_SECONDS = 1.0
_LONGEST_RETRY_SECONDS = 30.0
_LAST_WRITE_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class _Export:
    """An export that this writer has taken from the stream."""

    message: "Msg"
    number: int
    failures: int = 0
    stored_before: int = 0
    """The number of exports that the writer had stored at the first failure of this export."""


class StreamWriter:
    """Takes exports from the stream, and writes them to the store.

    When its context ends, it takes no further exports, and writes those that it has taken.
    """

    def __init__(
        self,
        stream: ExportStream,
        queue: IngestQueue,
        examine_store: Callable[[], Awaitable[object]],
        clock: Clock,
    ) -> None:
        """Create a writer. `examine_store` raises StoreError if the store does not work."""
        self._stream = stream
        self._queue = queue
        self._examine_store = examine_store
        self._clock = clock
        self._stored = 0
        self._in_flight: dict[_Export, asyncio.Task[None]] = {}
        self._room = asyncio.Event()
        self.failed = 0
        """The number of exports that this writer has put away because they cannot be stored."""

    async def __aenter__(self) -> Self:
        self._tasks = (
            asyncio.create_task(self._take_all(), name="exports of the stream"),
            asyncio.create_task(self._extend(), name="exports in flight"),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        taking, extending = self._tasks
        await _cancel(taking)
        if self._in_flight:
            await asyncio.wait(self._in_flight.values(), timeout=_LAST_WRITE_SECONDS)
        for export, writing in list(self._in_flight.items()):
            await _cancel(writing)
            await self._return(export)
        await _cancel(extending)

    async def _take_all(self) -> None:
        """Take exports until this task is cancelled. After an error of NATS, try again."""
        from nats.errors import Error

        while True:
            try:
                await self._stream.open()
                await self._take()
            except (Error, OSError) as error:
                _log.warning("The stream of exports cannot be read: %s", error)
                await self._clock.sleep(RETRY_SECONDS)

    async def _take(self) -> None:
        from nats.errors import Error

        subscription = await self._stream.jetstream.pull_subscribe_bind(
            durable=CONSUMER, stream=self._stream.name
        )
        try:
            while True:
                await self._wait_for_room()
                room = MOST_IN_FLIGHT - len(self._in_flight)
                with contextlib.suppress(TimeoutError):  # no export arrived
                    for message in await subscription.fetch(room, timeout=_FETCH_SECONDS):
                        self._start(message)
        finally:
            # Otherwise JetStream sends the next exports to this subscription, which nobody reads.
            with contextlib.suppress(Error):
                await subscription.unsubscribe()

    async def _wait_for_room(self) -> None:
        while len(self._in_flight) > MOST_IN_FLIGHT // 2:
            self._room.clear()
            await self._room.wait()

    def _start(self, message: "Msg") -> None:
        export = _Export(message, message.metadata.sequence.stream)
        task = asyncio.create_task(self._write(export), name=f"export {export.number}")
        self._in_flight[export] = task
        task.add_done_callback(lambda _: self._finish(export))

    def _finish(self, export: _Export) -> None:
        del self._in_flight[export]
        self._room.set()

    async def _write(self, export: _Export) -> None:
        """Store an export and acknowledge it. Put it away if it cannot be stored."""
        from nats.errors import Error

        deliveries = export.message.metadata.num_delivered
        reason = f"NATS delivered the export {deliveries} times, and no server acknowledged it."
        with contextlib.suppress(Error):  # JetStream then delivers the export again
            while deliveries <= MOST_DELIVERIES:
                try:
                    await self._store(export)
                except Exception as error:  # noqa: BLE001  (no export may end the writer)
                    reason = str(error) or type(error).__name__
                    if await self._fail(export, error):
                        break
                else:
                    await export.message.ack()
                    self._stored += 1
                    return
            await self._put_away(export, reason)

    async def _store(self, export: _Export) -> None:
        headers = export.message.headers or {}
        try:
            form = ExportForm(headers.get(TYPE_HEADER, ""))
            received_ns = int(headers.get(RECEIVED_HEADER, ""))
        except ValueError as error:
            raise UsageError(f"The headers of the message are malformed: {error}.") from error
        await self._queue.submit(export.message.data, export_decoder(form, received_ns))

    async def _fail(self, export: _Export, error: Exception) -> bool:
        """Count a failure, and wait before the next try. Returns whether to put the export away.

        A failure counts only while the store works. If the error is not an error of the store, the
        export is put away after `TRIES` failures.
        """
        delay = min(_LONGEST_RETRY_SECONDS, RETRY_SECONDS * 2 ** min(export.failures, 5))
        _log.warning("The export %d was not stored: %s", export.number, error)
        if isinstance(error, StoreError) and not await self._store_works(error):
            await self._clock.sleep(delay)
            return False
        if export.failures == 0:
            export.stored_before = self._stored
        export.failures += 1
        others_stored = self._stored > export.stored_before
        if export.failures >= (TRIES if others_stored else PATIENT_TRIES):
            return True
        if not isinstance(error, StoreError) and export.failures >= TRIES:
            return True
        await self._clock.sleep(delay)
        return False

    async def _store_works(self, error: StoreError) -> bool:
        if isinstance(error, StoreBusyError):
            return False
        try:
            await self._examine_store()
        except StoreError:
            return False
        return True

    async def _put_away(self, export: _Export, reason: str) -> None:
        message = export.message
        headers = message.headers or {}
        kept = {name: headers[name] for name in (TYPE_HEADER, RECEIVED_HEADER) if name in headers}
        await self._stream.keep_failed(message.data, kept, export.number, reason)
        await message.term()
        self.failed += 1
        _log.error("The export %d cannot be stored: %s", export.number, reason)

    async def _return(self, export: _Export) -> None:
        """Let JetStream deliver an export to another writer at once."""
        from nats.errors import Error

        with contextlib.suppress(Error):
            await export.message.nak()

    async def _extend(self) -> None:
        """Keep JetStream from delivering the exports in flight to another writer."""
        from nats.errors import Error

        while True:
            await self._clock.sleep(ACK_SECONDS / 3)
            for export in list(self._in_flight):
                with contextlib.suppress(Error):
                    await export.message.in_progress()


async def _cancel(task: asyncio.Task[None]) -> None:
    while not task.done():
        task.cancel()
        # In Python 3.11, a wait in nats-py can lose the cancellation. The loop then cancels again.
        await asyncio.wait({task}, timeout=_LAST_WRITE_SECONDS)
