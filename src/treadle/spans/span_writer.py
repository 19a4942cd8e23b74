"""The interface of a store that spans are written to."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from types import MappingProxyType
from typing import Protocol

from treadle.errors import StoreError
from treadle.spans.span import Span

NOTHING_REDACTED: Mapping[str, int] = MappingProxyType({})
"""The counts of a batch without secrets."""


class StoreBusyError(StoreError):
    """The queue of a store is full. Nothing was stored; the caller may try again later."""


class SpanWriter(Protocol):
    """Stores spans."""

    def write(
        self, spans: Sequence[Span], *, redacted: Mapping[str, int] = NOTHING_REDACTED
    ) -> Future[None]:
        """Queue spans for writing. The future is done when they are safely on disk.

        The call does not wait for the disk, but it encodes the spans: call it in a thread when
        they are large.

        `redacted` counts the secrets of each kind that were removed from the spans. The future's
        exception is a StoreError when the spans could not be stored, and a StoreBusyError when
        the queue is full; then none of them is stored.
        """
        ...
