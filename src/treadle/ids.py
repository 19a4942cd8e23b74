"""Ids of our own: UUIDv7 (RFC 9562, section 5.7), so that they sort by the time of their making."""

import os
import threading
import time
from collections.abc import Callable
from uuid import UUID

IdSource = Callable[[], UUID]
"""Gives a new id at each call; injected, so that tests and replays are deterministic."""

NO_REQUEST = UUID(int=0)
"""The request of an event that is of none: of the store, the page, or the gateway itself."""

_lock = threading.Lock()
_last = 0


def new_id() -> UUID:
    """A new UUIDv7. Strictly increasing inside a process, also within one millisecond.

    Layout: 48 bits of Unix milliseconds, then 74 free bits; the first 12 of them continue the
    time (RFC 9562, section 6.2, method 3), the rest are random.
    """
    global _last
    nanoseconds = time.time_ns()
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    stamp = (milliseconds << 12) | (rest * 4096 // 1_000_000)
    with _lock:
        stamp = max(stamp, _last + 1)
        _last = stamp
    random = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    value = ((stamp >> 12) << 80) | (7 << 76) | ((stamp & 0xFFF) << 64) | (2 << 62) | random
    return UUID(int=value)
