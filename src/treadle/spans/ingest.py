"""Processes exports of other programs into stored spans, in the following steps.

| step | code | what it does |
|---|---|---|
| decode | `spans/otlp/` | reads raw spans from the bytes of a request |
| map, price | `spans/vocabularies/mapper.py` | derives the columns of a span from its attributes |
| redact | `spans/redaction.py` | removes secrets from every text |
| write | `traces/store/writer_thread.py` | commits batches in its own thread |
| announce | `server/live_spans.py` | publishes the committed spans in the live view |
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Self, TypeVar

from treadle.spans.ingest_measures import IngestMeasures
from treadle.spans.raw_span import RawSpan
from treadle.spans.redaction import redact_spans
from treadle.spans.span import Span
from treadle.spans.span_batch import SpanBatch
from treadle.spans.span_writer import SpanWriter, StoreBusyError
from treadle.spans.vocabularies.mapper import map_spans

LARGE_BYTES = 8_000_000
"""The minimum size of a large export, in bytes."""
HELD_BYTES = 64_000_000
"""The maximum number of bytes of exports in memory at one time."""

T = TypeVar("T")
Decode = Callable[[bytes], SpanBatch[RawSpan]]


def ingest(
    body: bytes, decode: Decode, store: SpanWriter
) -> tuple[SpanBatch[Span], Future[None] | None]:
    """Process one export, and add its spans to the queue of the store.

    Returns the spans, and a future that is done when the spans are on disk. Without spans, the
    future is None. Raises OtlpError when the body is not an export.
    """
    decoded = decode(body)
    mapped = map_spans(decoded)
    if not mapped.spans:
        return mapped, None
    redacted, secrets = redact_spans(mapped.spans)
    return mapped, store.write(redacted, redacted=secrets)  # the store announces each commit


class IngestQueue:
    """Limits the memory of concurrent exports, and processes the exports in two threads.

    Each thread processes one export at a time. One of them processes large exports, so that small
    exports do not wait for them. More threads would compete for the interpreter, and delay the
    writer and the event loop. Use the queue as a context manager.
    """

    def __init__(
        self, store: SpanWriter, *, most_bytes: int, measures: IngestMeasures | None = None
    ) -> None:
        """Create a queue. `most_bytes` is the maximum size of an export.

        `measures` counts the exports.
        """
        self._store = store
        self._measures = measures or IngestMeasures()
        self.most_bytes = most_bytes
        self._limit = max(HELD_BYTES, most_bytes)
        self._held = 0
        self._lock = threading.Lock()

    async def __aenter__(self) -> Self:
        self._small = ThreadPoolExecutor(1, thread_name_prefix="treadle-ingest")
        self._large = ThreadPoolExecutor(1, thread_name_prefix="treadle-ingest-large")
        return self

    async def __aexit__(self, *_: object) -> None:
        for executor in (self._small, self._large):
            await asyncio.to_thread(executor.shutdown)

    @property
    def held_bytes(self) -> int:
        """The number of bytes of exports that are not on disk yet."""
        return self._held

    @contextmanager
    def reservation(self) -> Iterator[Callable[[int], None]]:
        """Count the bytes of one export while the export is in memory.

        Call the yielded function with the size of each received part, from any thread. The function
        raises StoreBusyError when all exports together are too large.
        """
        own = 0

        def reserve(count: int) -> None:
            nonlocal own
            with self._lock:
                if self._held + count > self._limit:
                    raise StoreBusyError(
                        "Treadle receives more spans than it can store.",
                        hint="Send them again later.",
                    )
                self._held += count
                own += count

        try:
            with self._measures.request():
                yield reserve
        finally:
            with self._lock:
                self._held -= own

    async def check(self, body: bytes, decode: Decode) -> SpanBatch[RawSpan]:
        """Decode an export without storing it. Raises OtlpError when the body is not an export."""
        return await self._run(body, decode, body)

    async def submit(self, body: bytes, decode: Decode) -> SpanBatch[Span]:
        """Ingest an export. Returns when its spans are safely on disk.

        Raises OtlpError and StoreError. After a StoreBusyError the client may send the export
        again.
        """
        self._measures.bytes += len(body)
        batch, stored = await self._run(body, ingest, body, decode, self._store)
        if stored is not None:
            with self._measures.commit(len(batch.spans)):
                await asyncio.wrap_future(stored)
        return batch

    async def _run(self, body: bytes, work: Callable[..., T], *arguments: object) -> T:
        """Run `work` in the thread for small or for large exports, depending on the size."""
        executor = self._small if len(body) < LARGE_BYTES else self._large
        return await asyncio.get_running_loop().run_in_executor(executor, work, *arguments)
