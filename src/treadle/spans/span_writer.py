"""The interface for writing spans to a store."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from types import MappingProxyType
from typing import Protocol

from treadle.errors import StoreError
from treadle.spans.span import Span

NOTHING_REDACTED: Mapping[str, int] = MappingProxyType({})
"""The counts of removed secrets for a batch without secrets."""


class StoreBusyError(StoreError):
    """Raised when the queue of a store is full.

    Nothing was stored. The caller may try again later.
    """


class SpanWriter(Protocol):
    """A destination that stores spans."""

    def write(
        self, spans: Sequence[Span], *, redacted: Mapping[str, int] = NOTHING_REDACTED
    ) -> Future[None]:
        """Queue spans for writing. The future is done when they are safely on disk.

        The call does not wait for the disk, but it encodes the spans. Call it in a thread if the
        spans are large.

        `redacted` counts the secrets of each kind that were removed from the spans. The future's
        exception is a StoreError if the spans could not be stored. If the queue is full, it is a
        StoreBusyError, and none of the spans is stored.
        """
        ...
