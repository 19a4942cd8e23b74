"""Tickets with which a browser downloads a file.

A browser needs them because a link cannot send the page key. A ticket is valid once, within a
minute, and for one path with its query. It is the last parameter of the query of the link. The
guard removes it before the request reaches a route.
"""

import re
import secrets
import time
from collections.abc import Callable

from starlette.types import Scope

from treadle.identity.identity import Identity

DOWNLOADS = "/api/v1/exports/"
"""The beginning of the paths for which the server issues tickets."""

_SECONDS = 60.0
_MOST = 100
_TICKET = re.compile(rb"(?:^|&)ticket=([\w-]{1,100})$", re.ASCII)


class DownloadTickets:
    """The tickets that a server has issued and that no request has used."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._targets: dict[str, tuple[str, float, Identity]] = {}

    def issue(self, target: str, identity: Identity) -> str:
        """Return `target`, a path with an optional query, with a new ticket in its query.

        The download with this ticket gets the identity `identity`.
        """
        if len(self._targets) >= _MOST:
            self._targets.pop(next(iter(self._targets)))  # the oldest one
        ticket = secrets.token_urlsafe(24)
        self._targets[ticket] = target, self._clock() + _SECONDS, identity
        return f"{target}{'&' if '?' in target else '?'}ticket={ticket}"

    def take(self, scope: Scope) -> Identity | None:
        """Return the identity of the ticket of a request, and remove the ticket from `scope`.

        Returns None if the request has no valid ticket.
        """
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        query: bytes = scope["query_string"]
        found = _TICKET.search(query)
        if found is None or not scope["path"].startswith(DOWNLOADS):
            return None
        rest = query[: found.start()]
        scope["query_string"] = rest
        issued = self._targets.pop(found[1].decode(), None)
        if issued is None:
            return None
        target, expires, identity = issued
        raw = scope.get("raw_path") or scope["path"].encode()
        asked = raw.partition(b"?")[0] + (b"?" + rest if rest else b"")
        valid = asked == target.encode() and self._clock() < expires
        return identity if valid else None
