"""Limits how often a network address may try wrong keys and cookies."""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address, ip_network

from treadle.clock import Clock

MOST_FAILURES = 20
"""An address may fail this many times in a minute. Its further attempts are refused."""
_WINDOW_SECONDS = 60.0
_MOST_ADDRESSES = 10_000


class FailedAttempts:
    """Counts the failed attempts of each address. It must be used in one thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """The end of the window and the number of failures, by address."""

    def add(self, address: str) -> None:
        """Count a failed attempt."""
        address, now = _network(address), self._clock.monotonic()
        end, count = self._counts.pop(address, (0.0, 0))
        if end <= now:
            end, count = now + _WINDOW_SECONDS, 0
        self._counts[address] = end, count + 1
        if len(self._counts) > _MOST_ADDRESSES:
            self._counts.popitem(last=False)

    def seconds_left(self, address: str) -> int | None:
        """Return the seconds for which attempts are refused, or None if they are allowed."""
        end, count = self._counts.get(_network(address), (0.0, 0))
        left = end - self._clock.monotonic()
        return max(1, round(left)) if left > 0 and count >= MOST_FAILURES else None


def _network(address: str) -> str:
    """Return the part of an address that one client cannot change.

    A client can usually choose any address of an IPv6 network with a prefix of 64 bits.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((ip, 64), strict=False)) if isinstance(ip, IPv6Address) else address
