"""Creates ids, and resolves references to ids.

New ids are UUIDv7 (RFC 9562, section 5.7), which sort by time.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from uuid import UUID

from treadle.errors import NotFoundError, UsageError

IdSource = Callable[[], UUID]
"""A function that returns a new id at each call. Tests and replays pass their own functions."""

NO_REQUEST = UUID(int=0)
"""The request id of events that belong to no request.

Examples are events about changes of the store, the page and the gateway.
"""

LAST = "last"
"""The reference to the newest record. Upper and lower case do not matter."""

_MAX_CANDIDATES = 5
_MAX_SHOWN = 100
_UUID_GROUPS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, None))

_lock = threading.Lock()
_last = 0


def new_id() -> UUID:
    """Return a new UUIDv7. It is greater than all earlier ids of this process.

    The first 48 bits are Unix milliseconds. Of the bits that the format leaves free, the next 12
    are the fraction of the millisecond (RFC 9562, section 6.2, method 3). The last 62 are random.
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


def is_last(reference: str) -> bool:
    """Whether a reference means the newest record."""
    return reference.strip().lower() == LAST


def resolve_prefix(
    reference: str,
    find: Callable[[str, int], Sequence[str]],
    *,
    noun: str,
    listing: str,
    scope: str = "",
) -> str:
    """Return the id that equals `reference`, or the only id that begins with it.

    `find(prefix, limit)` returns the first `limit` ids that begin with a prefix, in order. A UUID
    may be written with or without dashes. `listing` is the command or the path that lists the ids.
    `scope` is a phrase for messages that states where the ids were searched. Raises NotFoundError
    if no id matches, and UsageError if several ids match.
    """
    text = reference.strip()
    for spelling in _spellings(text):
        found = find(spelling, _MAX_CANDIDATES + 1)
        if len(found) == 1 or spelling in found:
            return spelling if spelling in found else found[0]
        if found:
            more = ", …" if len(found) > _MAX_CANDIDATES else ""
            raise UsageError(
                f"Several {noun}s begin with {text[:_MAX_SHOWN]!r}: "
                f"{', '.join(found[:_MAX_CANDIDATES])}{more}.",
                hint="Give more characters of the id.",
            )
    raise unknown_id(text, noun=noun, listing=listing, scope=scope)


def unknown_id(reference: str, *, noun: str, listing: str, scope: str = "") -> NotFoundError:
    """Return the error for a reference that no id matches, as `resolve_prefix` raises it."""
    return NotFoundError(
        f"There is no {noun} {reference[:_MAX_SHOWN]!r}{scope}.",
        hint=f"List the ids with {listing}.",
    )


def _spellings(text: str) -> Sequence[str]:
    compact = text.replace("-", "").lower()
    dashed = "-".join(filter(None, (compact[start:end] for start, end in _UUID_GROUPS)))
    return tuple(filter(None, dict.fromkeys((text, compact, dashed))))
