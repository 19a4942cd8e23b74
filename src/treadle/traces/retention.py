"""Retention: deletes old spans while a server runs."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Protocol

from treadle.clock import Clock
from treadle.errors import StoreError
from treadle.traces.store.results import Deleted

SECONDS_BETWEEN = 3_600.0

_log = logging.getLogger(__name__)


class Prunable(Protocol):
    """A store that can delete old traces; see `TraceStore.prune`."""

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


def prune(store: Prunable, retention: Retention, *, now_us: int, dry_run: bool = False) -> Deleted:
    """Delete the spans that exceed the limits of `retention`. Raises StoreError."""
    before = None if retention.seconds is None else now_us - retention.seconds * 1_000_000
    return store.prune(before_us=before, max_bytes=retention.max_bytes, dry_run=dry_run)


async def keep_pruned(store: Prunable, retention: Retention, clock: Clock) -> None:
    """Prune now and every hour until the task is cancelled.

    A failure is logged. The next attempt follows after an hour.
    """
    while retention.limited:
        try:
            deleted = await asyncio.to_thread(prune, store, retention, now_us=clock.now_us())
        except StoreError as error:
            _log.warning("Old traces were not deleted: %s", error)
        else:
            if deleted.traces:
                _log.info("Deleted %d old traces with %d spans", deleted.traces, deleted.spans)
        await clock.sleep(SECONDS_BETWEEN)
