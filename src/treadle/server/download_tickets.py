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

DOWNLOADS = "/api/v1/exports/"
"""The beginning of the paths for which the server issues tickets."""

_SECONDS = 60.0
_MOST = 100
_TICKET = re.compile(rb"(?:^|&)ticket=([\w-]{1,100})$", re.ASCII)


class DownloadTickets:
    """The tickets that a server has issued and that no request has used."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._targets: dict[str, tuple[str, float]] = {}

    def issue(self, target: str) -> str:
        """Return `target`, a path with an optional query, with a new ticket in its query."""
        if len(self._targets) >= _MOST:
            self._targets.pop(next(iter(self._targets)))  # the oldest one
        ticket = secrets.token_urlsafe(24)
        self._targets[ticket] = (target, self._clock() + _SECONDS)
        return f"{target}{'&' if '?' in target else '?'}ticket={ticket}"

    def check_and_remove(self, scope: Scope) -> bool:
        """Whether the request has a valid ticket. Removes the ticket from `scope`."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return False
        query: bytes = scope["query_string"]
        found = _TICKET.search(query)
        if found is None or not scope["path"].startswith(DOWNLOADS):
            return False
        rest = query[: found.start()]
        scope["query_string"] = rest
        target, expires = self._targets.pop(found[1].decode(), ("", 0.0))
        raw = scope.get("raw_path") or scope["path"].encode()
        asked = raw.partition(b"?")[0] + (b"?" + rest if rest else b"")
        return asked == target.encode() and self._clock() < expires
