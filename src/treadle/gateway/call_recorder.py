"""Records calls as spans without delaying any call.

One thread builds the spans, computes their cost, redacts them, and passes them to the store. It
writes several calls together.

A call is recorded when it ends. If a call has not ended at the first write after its start, the
thread also records an unfinished span, so that the call is visible while it runs.

Calls that cannot be recorded are counted as lost. The recorder reports the first loss, and then the
first loss after each successful write.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Self

from treadle.errors import StoreError
from treadle.gateway.attempts import GatewayCall
from treadle.gateway.budgets import Used
from treadle.gateway.call_spans import running_span, spans_of
from treadle.gateway.measures import GatewayMeasures
from treadle.spans.recorder import Loss
from treadle.spans.redaction import redact_spans
from treadle.spans.span import NO_ATTRIBUTES, Attributes, Span
from treadle.spans.span_writer import SpanWriter

_WAITING_BYTES = 256_000_000
"""The maximum total size in bytes of the finished calls that wait for the thread.

Further calls are not recorded.
"""
_BATCH = 64
"""The maximum number of calls that are redacted and passed on together."""
_GATHER_SECONDS = 0.05
"""The seconds to wait for more calls before a write.

One write for several calls is faster than several writes.
"""

_Task = tuple[GatewayCall, int]
"""A call and its size in the queue. The size of a call that begins is 0."""


class CallRecorder:
    """Records calls while its context is entered. On exit it writes all waiting calls."""

    def __init__(
        self,
        store: SpanWriter | None,
        *,
        why_not: str | None,
        used: Callable[[GatewayCall, Used | None], None],
        lost: Callable[[str], None],
        recorder: Attributes = NO_ATTRIBUTES,
        measures: GatewayMeasures | None = None,
    ) -> None:
        """Create the recorder. Without a `store`, no call is recorded, and `why_not` is the reason.

        `recorder` is added to the resource of the spans, and identifies this recorder. `used`
        receives each call with its use, or with None if the use is unknown. `lost` receives a
        reason when losses begin. Both functions are called from any thread. `measures` counts the
        calls.
        """
        self._measures = measures or GatewayMeasures()
        self._store = store
        self._why_not = why_not
        self._used = used
        self._lost = lost
        self._recorder = recorder
        self._lock = threading.Lock()
        self._waiting = 0
        self._queue: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._loss: Loss | None = None
        self._losing = False
        self._written: set[Future[None]] = set()

    @property
    def loss(self) -> Loss | None:
        """The number of calls that could not be recorded, and the reason for the first of them."""
        return self._loss

    async def __aenter__(self) -> Self:
        self._thread = threading.Thread(target=self._work, name="treadle-gateway", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        waiting = [asyncio.wrap_future(done) for done in tuple(self._written)]
        await asyncio.gather(*waiting, return_exceptions=True)

    def begin(self, call: GatewayCall) -> None:
        """Record a call that begins, unless it ends before the next write. Returns immediately."""
        if self._store is not None:
            self._queue.put((call, 0))

    def record(self, call: GatewayCall) -> None:
        """Record a finished call, and return immediately."""
        size = call.size
        with self._lock:
            full = self._waiting and self._waiting + size > _WAITING_BYTES
            if not full:
                self._waiting += size
        if full:
            self._note_loss(1, "the recording queue is full")
            self._used(call, None)
        else:
            self._queue.put((call, size))

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            tasks, ended = self._gather(first)
            try:
                # Finished calls are written first, so that a crash loses as few as possible.
                self._keep([call for call, size in tasks if size])
                self._show([call for call, size in tasks if not size and not call.end_ns])
            finally:
                with self._lock:
                    self._waiting -= sum(size for _, size in tasks)
            if ended:
                return

    def _gather(self, first: _Task) -> tuple[list[_Task], bool]:
        """Return `first` and the tasks that arrive soon after it.

        Also returns whether the recorder is closing, so that no more tasks follow.
        """
        tasks = [first]
        end = time.monotonic() + _GATHER_SECONDS
        while len(tasks) < _BATCH:
            try:
                task = self._queue.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            if task is None:
                return tasks, True
            tasks.append(task)
        return tasks, False

    def _show(self, calls: list[GatewayCall]) -> None:
        """Write unfinished spans for calls that still run.

        Failures are ignored here. If the store still fails when the call ends, `_keep` reports it.
        """
        spans: list[Span] = []
        for call in calls:
            time.sleep(0)  # lets other threads answer calls
            with suppress(Exception):
                spans.append(running_span(call, self._recorder))
        if spans and self._store is not None:
            with suppress(Exception):
                # A finished call contains the same secrets again, so they are counted only then.
                self._store.write(redact_spans(spans)[0])

    def _keep(self, calls: list[GatewayCall]) -> None:
        spans: list[Span] = []
        kept = 0
        for call in calls:
            time.sleep(0)  # lets other threads answer calls
            try:
                call_spans, used = spans_of(call, self._recorder)
            except Exception as error:  # noqa: BLE001  (a bad call must not affect other calls)
                self._note_loss(1, f"{type(error).__name__}: {error}")
                self._used(call, None)
                continue
            self._used(call, used)
            self._measures.record(call_spans)
            spans += call_spans
            kept += 1
        if not spans:
            return
        if self._store is None:
            self._note_loss(kept, self._why_not or "the trace store is not available")
            return
        try:
            cleaned, redacted = redact_spans(spans)
            done = self._store.write(cleaned, redacted=redacted)
        except Exception as error:  # noqa: BLE001  (an error must not end the thread)
            self._note_loss(kept, str(error) or type(error).__name__)
            return
        self._written.add(done)
        done.add_done_callback(lambda future: self._settle(future, kept))

    def _settle(self, done: Future[None], calls: int) -> None:
        self._written.discard(done)
        error = done.exception()
        if error is None:
            self._losing = False
        else:
            reason = error.message if isinstance(error, StoreError) else type(error).__name__
            self._note_loss(calls, reason)

    def _note_loss(self, calls: int, reason: str) -> None:
        with self._lock:
            before = self._loss or Loss(0, reason)
            self._loss = Loss(before.count + calls, before.reason)
            begins, self._losing = not self._losing, True
        if begins:
            self._lost(reason)
