"""Measures of the ingestion of spans: numbers of exports and spans, and durations of commits."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from treadle.errors import StoreError, TreadleError
from treadle.measures import Counter, Histogram
from treadle.spans.span_writer import StoreBusyError


class Outcome(StrEnum):
    """The outcome of an export."""

    ACCEPTED = "accepted"
    """The spans are on disk: in the store, or in a stream from which they are stored later."""
    BUSY = "busy"
    """The queue was full. The client sends the export again."""
    STORE_FAILED = "store_failed"
    INVALID = "invalid"
    """The export was malformed, too large or in an unknown encoding."""
    ABANDONED = "abandoned"
    """The client left before the response."""
    FAILED = "failed"
    """Treadle could not process the export because of a fault of its own."""


class IngestMeasures:
    """Counts the exports of all projects of a server. It may be used only in the event loop."""

    def __init__(self) -> None:
        self.requests = Counter()
        """The number of exports by outcome."""
        self.spans = 0
        """The number of stored spans."""
        self.bytes = 0
        """The number of received bytes, without compression."""
        self.commits = Histogram()
        """The time from the end of decoding to the end of the commit, in seconds."""
        self.waiting_spans = 0
        """The number of decoded spans that are not stored yet."""
        self._begun: dict[object, float] = {}
        """The start time of each unfinished export, oldest first."""

    @property
    def waiting_requests(self) -> int:
        """The number of exports that have no response yet."""
        return len(self._begun)

    def oldest_seconds(self) -> float:
        """Return the age of the oldest export without a response, or 0 if there is none."""
        now = time.monotonic()
        return now - next(iter(self._begun.values()), now)

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count an export. Its outcome depends on how the context ends."""
        key = object()
        self._begun[key] = time.monotonic()
        outcome = Outcome.FAILED
        try:
            yield
            outcome = Outcome.ACCEPTED
        except BaseException as error:
            outcome = _outcome_of(error)
            raise
        finally:
            del self._begun[key]
            self.requests.add((outcome,))

    @contextmanager
    def commit(self, spans: int) -> Iterator[None]:
        """Measure the commit of this number of spans."""
        begin = time.monotonic()
        self.waiting_spans += spans
        try:
            yield
            self.spans += spans
            self.commits.observe(time.monotonic() - begin)
        finally:
            self.waiting_spans -= spans


def _outcome_of(error: BaseException) -> Outcome:
    match error:
        case StoreBusyError():
            return Outcome.BUSY
        case StoreError():
            return Outcome.STORE_FAILED
        case TreadleError():
            return Outcome.INVALID
        case Exception():
            return Outcome.FAILED
        case _:
            return Outcome.ABANDONED
