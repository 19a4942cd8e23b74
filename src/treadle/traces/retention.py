"""Retention: deletes old spans while a server runs, on one server of a group at a time."""

import asyncio
import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from treadle.clock import Clock
from treadle.errors import StoreError
from treadle.traces.store.results import Deleted

SECONDS_BETWEEN = 3_600.0

_log = logging.getLogger(__name__)


class Prunable(Protocol):
    """A store that can delete old traces; see `TraceStore`."""

    def claim_retention(self) -> AbstractContextManager[bool]: ...

    def prune(
        self,
        *,
        before_us: int | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
    ) -> Deleted: ...


@dataclass(frozen=True, slots=True)
class Retention:
    """The limits on the age (`seconds`) and the size (`max_bytes`) of stored spans.

    None means no limit.
    """

    seconds: int | None = None
    max_bytes: int | None = None

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.seconds is not None or self.max_bytes is not None


class RetentionMeasures:
    """Counts what retention did in all projects of a server."""

    def __init__(self) -> None:
        self.spans = 0
        """The number of deleted spans."""
        self.failures = 0
        self.completed_us: int | None = None
        """When a run of this server last completed, in Unix microseconds."""


def prune(store: Prunable, retention: Retention, *, now_us: int, dry_run: bool = False) -> Deleted:
    """Delete the spans that exceed the limits of `retention`. Raises StoreError."""
    before = None if retention.seconds is None else now_us - retention.seconds * 1_000_000
    return store.prune(before_us=before, max_bytes=retention.max_bytes, dry_run=dry_run)


def _prune_alone(store: Prunable, retention: Retention, now_us: int) -> Deleted | None:
    """Prune, unless another process prunes the store. The result is None in this case."""
    with store.claim_retention() as claimed:
        return prune(store, retention, now_us=now_us) if claimed else None


async def keep_pruned(
    store: Prunable, retention: Retention, clock: Clock, measures: RetentionMeasures
) -> None:
    """Prune now and every hour until the task is cancelled.

    A failure is logged. The next attempt follows after an hour.
    """
    while retention.limited:
        try:
            deleted = await asyncio.to_thread(_prune_alone, store, retention, clock.now_us())
        except StoreError as error:
            measures.failures += 1
            _log.warning("Old traces were not deleted: %s", error)
        else:
            if deleted is not None:
                measures.spans += deleted.spans
                measures.completed_us = clock.now_us()
            if deleted is not None and deleted.traces:
                _log.info("Deleted %d old traces with %d spans", deleted.traces, deleted.spans)
        await clock.sleep(SECONDS_BETWEEN)
