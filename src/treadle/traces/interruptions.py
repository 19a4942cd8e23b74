"""Marks the spans of programs that ended before their spans, for example after `kill -9`.

A program that records spans has an id, which is in the resource of its spans. While the program
runs, it locks a file whose name is the id. It deletes the file when it ends normally. A file
without a lock therefore belongs to a program that ended early. The next program marks the
unfinished spans of that program as interrupted.

The end of an interrupted span is unknown. If the end is recorded later, it replaces the mark.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from treadle.errors import PathRefusedError, StoreError
from treadle.file_lock import lock_file, unlock_file
from treadle.spans.span import Attributes, Span, SpanStatus
from treadle.traces import TraceStore
from treadle.traces.query.conditions import Condition, Field, Operator, Query, any_of
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
async def recorder_id(store: TraceStore) -> AsyncIterator[Attributes]:
    """Yield the resource attributes that identify a recorder of this process.

    Meanwhile, a thread marks the spans of programs that ended early. If no file can be locked, the
    attributes are empty and no spans are marked. The spans of this recorder are then never marked.
    """
    folder = store.folder / "recorders"
    own = folder / str(uuid4())
    try:
        file = await asyncio.to_thread(lock_file, own)
    except (OSError, PathRefusedError, ImportError):
        file = None
    if file is None:
        yield {}
        return
    marking = asyncio.create_task(asyncio.to_thread(mark_interrupted, store, folder))
    try:
        yield {RECORDER: own.name}
    finally:
        await marking
        unlock_file(own, file)


def mark_interrupted(store: TraceStore, folder: Path) -> None:
    """Mark the unfinished spans of each program whose file in `folder` is not locked."""
    for path in sorted(folder.iterdir()):
        try:
            file = lock_file(path)
            if file is None:
                continue
            started_us = os.fstat(file).st_mtime_ns // 1_000
            try:
                _mark(store, path.name, started_us)
            except BaseException:
                os.close(file)  # the next program tries again
                raise
            unlock_file(path, file)
        except (OSError, StoreError):
            _log.warning("Interrupted spans could not be marked", exc_info=True)


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
