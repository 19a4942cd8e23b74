"""Tickets with which a browser downloads a file.

A browser needs them because a link cannot send the page key. A ticket is valid once, within a
minute, and for one path with its query. It is the last parameter of the query of the link. It is
removed from the query before the request reaches a route.

The identity store has the tickets, so every server of an installation accepts them. An installation
without users and keys has no identity store. Its tickets are in the memory of the server.
"""

import asyncio
import hashlib
import re
import secrets

from starlette.types import Scope

from treadle.clock import Clock
from treadle.identity.records import TicketHolder
from treadle.identity.store import IdentityStore

DOWNLOADS = "/api/v1/exports/"
"""The beginning of the paths for which the server issues tickets."""

_MICROSECONDS = 60_000_000
_MOST_IN_MEMORY = 100
_TICKET = re.compile(rb"(?:^|&)ticket=([\w-]{1,100})$", re.ASCII)


class DownloadTickets:
    """The tickets that no request has used."""

    def __init__(self, store: IdentityStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._in_memory: dict[str, tuple[int, TicketHolder]] = {}

    async def issue(self, target: str, holder: TicketHolder) -> str:
        """Return `target`, a path with an optional query, with a new ticket in its query.

        The download with this ticket gets the rights that `holder` has then. Raises StoreError if
        the store fails.
        """
        ticket = secrets.token_urlsafe(24)
        hashed = _hash(ticket.encode(), target.encode())
        now = self._clock.now_us()
        expires = now + _MICROSECONDS

        def add() -> bool:
            if self._store.exists:
                self._store.tickets.add(hashed, holder, now_us=now, expires_us=expires)
                return True
            return False

        if not await asyncio.to_thread(add):
            if len(self._in_memory) >= _MOST_IN_MEMORY:
                self._in_memory.pop(next(iter(self._in_memory)))  # the oldest one
            self._in_memory[hashed] = expires, holder
        return f"{target}{'&' if '?' in target else '?'}ticket={ticket}"

    async def take(self, hashed: str) -> TicketHolder | None:
        """Use up a ticket, and return its holder. Returns None if the ticket is not valid.

        Raises StoreError if the store fails.
        """
        now = self._clock.now_us()
        expires, holder = self._in_memory.pop(hashed, (0, None))
        if holder is not None:
            return holder if now < expires else None
        return await asyncio.to_thread(
            lambda: self._store.tickets.take(hashed, now) if self._store.exists else None
        )


def take_ticket(scope: Scope) -> str | None:
    """Remove the ticket of a request from `scope`, and return the hash that identifies it.

    Returns None for a request without a ticket.
    """
    if scope["type"] != "http" or scope["method"] != "GET":
        return None
    query: bytes = scope["query_string"]
    found = _TICKET.search(query)
    if found is None or not scope["path"].startswith(DOWNLOADS):
        return None
    rest = query[: found.start()]
    scope["query_string"] = rest
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return _hash(found[1], path.partition(b"?")[0] + (b"?" + rest if rest else b""))


def _hash(ticket: bytes, target: bytes) -> str:
    return hashlib.sha256(ticket + b" " + target).hexdigest()
