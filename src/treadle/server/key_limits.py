"""Applies the limits of API keys on requests and spans. All servers share the counters.

Each server takes a part of a limit from the store in advance, so that most requests need no access
to the store. The servers together never admit more requests than the limit. They may admit fewer,
because no server can use the unused part of another one. Each part is 5% of the limit.

The spans of an export are counted after they are stored. Exports that arrive at the same time, just
before the limit is reached, may therefore exceed it together.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from treadle.clock import Clock
from treadle.errors import StoreError
from treadle.identity.identity import Identity
from treadle.identity.key_use import Counter
from treadle.identity.store import IdentityStore
from treadle.spans.span_batch import ExportReport, SpanBatch

_log = logging.getLogger(__name__)

_MINUTE_US = 60_000_000
_PARTS = 20
"""The number of parts in which a server takes a limit from the store."""
_MOST_KEYS = 10_000


class LimitReachedError(StoreError):
    """A key has reached a limit. `seconds` is the time until the key may be used again."""

    def __init__(self, identity: Identity, limit: int, unit: str, seconds: int) -> None:
        super().__init__(
            f"The key {identity.name!r} has reached its limit of {limit:,} {unit} a minute.",
            hint=f"Try again in {seconds} s.",
        )
        self.seconds = seconds


@dataclass(slots=True)
class _Part:
    """The part of a limit that this server has taken in one period."""

    period_us: int
    left: int = 0
    used_up: bool = False
    """Whether the whole limit has been taken from the store."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class KeyLimits:
    """The limits of the keys. The methods must be called in the event loop."""

    def __init__(self, store: IdentityStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._parts: dict[str, _Part] = {}
        self._spans: dict[str, tuple[int, int]] = {}
        """The start of the minute and the last known number of spans in it, by key."""

    async def admit_request(self, identity: Identity) -> None:
        """Count a request of a key. Raises LimitReachedError and StoreError."""
        limit = identity.limits.requests_per_minute
        if limit is None:
            return
        period = self._minute()
        part = self._parts.get(identity.id)
        if part is None or part.period_us != period:
            part = self._parts[identity.id] = _Part(period)
            _forget_old(self._parts, len(self._parts) - _MOST_KEYS)
        while not part.left and not part.used_up:
            async with part.lock:
                if not part.left and not part.used_up:
                    await self._take(identity.id, part, limit)
        if not part.left:
            raise LimitReachedError(identity, limit, "requests", self._seconds_left())
        part.left -= 1

    async def admit_export(self, identity: Identity) -> None:
        """Raise LimitReachedError if a key has sent all spans that it may send in this minute."""
        limit = identity.limits.spans_per_minute
        if limit is None:
            return
        period = self._minute()
        known = self._spans.get(identity.id)
        if known is None or known[0] != period or known[1] < limit:
            total = await asyncio.to_thread(
                self._store.key_use.total, identity.id, Counter.SPANS, period
            )
            self._remember(identity.id, period, total)
        if self._spans[identity.id][1] >= limit:
            raise LimitReachedError(identity, limit, "spans", self._seconds_left())

    async def count_spans(self, identity: Identity, count: int) -> None:
        """Count the spans of a stored export. An error of the identity store is only logged."""
        if identity.limits.spans_per_minute is None or not count:
            return
        period = self._minute()
        try:
            total = await asyncio.to_thread(
                self._store.key_use.add, identity.id, Counter.SPANS, period, count
            )
        except StoreError as error:  # the client must not send the stored spans again
            _log.warning("%d spans of the key %s are not counted: %s", count, identity.name, error)
        else:
            self._remember(identity.id, period, total)

    async def _take(self, key_id: str, part: _Part, limit: int) -> None:
        amount = max(1, limit // _PARTS)
        taken = await asyncio.to_thread(
            self._store.key_use.take, key_id, Counter.REQUESTS, part.period_us, amount, limit
        )
        part.left += taken
        part.used_up = taken < amount

    def _remember(self, key_id: str, period: int, total: int) -> None:
        self._spans[key_id] = period, total
        _forget_old(self._spans, len(self._spans) - _MOST_KEYS)

    def _minute(self) -> int:
        now = self._clock.now_us()
        return now - now % _MINUTE_US

    def _seconds_left(self) -> int:
        return max(1, -(-(self._minute() + _MINUTE_US - self._clock.now_us()) // 1_000_000))


def _forget_old(entries: "dict[str, _Part] | dict[str, tuple[int, int]]", count: int) -> None:
    for key_id in list(entries)[: max(0, count)]:
        del entries[key_id]


def span_count(report: ExportReport) -> int:
    """Return the number of spans that an export contained, including rejected ones."""
    stored = len(report.spans) if isinstance(report, SpanBatch) else 0
    return stored + report.rejected
