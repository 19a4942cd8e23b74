"""Marks the spans of programs that ended before their spans, for example after `kill -9`.

A program that records spans has an id, which is in the resource of its spans. While the program
runs, it holds a lock with this id (`traces.recorders`). Another program therefore recognizes
recorders that ended early, and marks their unfinished spans as interrupted.

The end of an interrupted span is unknown. If the end is recorded later, it replaces the mark.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from uuid import uuid4

from treadle.clock import Clock, wait_within
from treadle.errors import StoreError
from treadle.spans.span import Attributes, Span, SpanStatus
from treadle.traces import TraceStore
from treadle.traces.query.conditions import Condition, Field, Operator, Query, any_of
from treadle.traces.recorders import Recorders
from treadle.traces.span_stream import whole_spans

RECORDER = "service.instance.id"
"""The attribute in the resource of a span with the id of the program that recorded the span."""

INTERRUPTED = "treadle.interrupted"
"""The attribute of a span whose program ended before the span."""

_MESSAGE = "Treadle ended before this operation did. Its outcome is unknown."
_SLACK_US = 3_600_000_000
"""Unfinished spans that start up to this time before their program are marked too.

The clock of the machine may be set back while a program runs.
"""

_BATCH = 200
_log = logging.getLogger(__name__)


@asynccontextmanager
async def recorder_id(
    store: TraceStore, recorders: Recorders, clock: Clock
) -> AsyncIterator[Attributes]:
    """Yield the resource attributes that identify a recorder of this process.

    Meanwhile, threads mark the spans of recorders that ended early. If the recorder cannot be
    registered, the attributes are empty and no spans are marked. The spans of this recorder are
    then never marked.
    """
    own = str(uuid4())
    if not await asyncio.to_thread(recorders.begin, own):
        yield {}
        return
    ended = asyncio.Event()
    watching = asyncio.create_task(_watch(store, recorders, clock, ended))
    try:
        yield {RECORDER: own}
    finally:
        ended.set()
        await watching
        with _logged("The end of the recorder could not be stored"):
            await asyncio.to_thread(recorders.end)


async def _watch(
    store: TraceStore, recorders: Recorders, clock: Clock, ended: asyncio.Event
) -> None:
    """Mark interrupted spans now. With heartbeats, also mark them after each heartbeat."""
    await asyncio.to_thread(mark_interrupted, store, recorders)
    if recorders.beat_seconds is None:
        return
    while not ended.is_set():
        try:
            await wait_within(ended.wait(), recorders.beat_seconds, clock)
        except TimeoutError:
            with _logged("The heartbeat of the recorder could not be stored"):
                await asyncio.to_thread(recorders.beat)
                await asyncio.to_thread(mark_interrupted, store, recorders)


def mark_interrupted(store: TraceStore, recorders: Recorders) -> None:
    """Mark the unfinished spans of each recorder that ended early."""
    with _logged("Interrupted spans could not be marked"):
        for recorder in recorders.others():
            with (
                _logged("Interrupted spans could not be marked"),
                recorders.claim(recorder) as started_us,
            ):
                if started_us is not None:
                    _mark(store, recorder, started_us)


@contextmanager
def _logged(failure: str) -> Iterator[None]:
    """Log an error of the store with this text. The next heartbeat or program tries again."""
    try:
        yield
    except (OSError, StoreError):
        _log.warning(failure, exc_info=True)


def _mark(store: TraceStore, recorder: str, started_us: int) -> None:
    marked = [_interrupted(span) for span in _unfinished(store, recorder, started_us)]
    for first in range(0, len(marked), _BATCH):
        store.write(marked[first : first + _BATCH]).result()


def _unfinished(store: TraceStore, recorder: str, started_us: int) -> Iterator[Span]:
    since = Condition(Field.START, Operator.AT_LEAST, (started_us - _SLACK_US,))
    query = Query((any_of(Field.STATUS, [SpanStatus.UNFINISHED]), since))
    for span in whole_spans(store, query):
        if span.resource.get(RECORDER) == recorder:
            yield span


def _interrupted(span: Span) -> Span:
    return replace(
        span,
        status=SpanStatus.CANCELLED,
        error=_MESSAGE,
        attributes={**span.attributes, INTERRUPTED: True},
    )
