"""Ends open requests, such as event streams, when their key or session is no longer valid."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from treadle.clock import Clock
from treadle.errors import StoreError
from treadle.identity.identity import Identity
from treadle.server.identities import Credential

CHECK_SECONDS = 5.0
"""The seconds between two checks of the credentials of open requests."""


@dataclass(slots=True, eq=False)
class FollowedRequest:
    """An open request. `ended` is true after its credential became invalid."""

    credential: Credential
    identity: Identity
    task: "asyncio.Task[Any]"
    ended: bool = False


class FollowedRequests:
    """The open requests with a key or a session. The methods must be called in the event loop.

    `current` returns the present identity for a credential in a project, or None if the credential
    is invalid.
    """

    def __init__(
        self, current: Callable[[Credential, str], Awaitable[Identity | None]], clock: Clock
    ) -> None:
        self._current = current
        self._clock = clock
        self._open: dict[FollowedRequest, None] = {}
        self._checking: asyncio.Task[None] | None = None

    @contextmanager
    def follow(self, credential: Credential, identity: Identity) -> Iterator[FollowedRequest]:
        """Cancel the current task if the credential becomes invalid or its rights change meanwhile.

        The task then gets a CancelledError, and `ended` of the yielded object is true.
        """
        task = asyncio.current_task()
        assert task is not None  # the server runs each request in a task
        request = FollowedRequest(credential, identity, task)
        self._open[request] = None
        if self._checking is None:
            self._checking = asyncio.create_task(self._check(), name="open requests")
        try:
            yield request
        finally:
            del self._open[request]

    async def _check(self) -> None:
        """Check the open requests at intervals, until no request is open."""
        try:
            while True:
                await self._clock.sleep(CHECK_SECONDS)
                if not self._open:
                    return
                await self._end_invalid()
        finally:
            self._checking = None

    async def _end_invalid(self) -> None:
        by_owner: dict[tuple[Credential, str], list[FollowedRequest]] = {}
        for request in self._open:
            by_owner.setdefault((request.credential, request.identity.project), []).append(request)
        for (credential, project), requests in by_owner.items():
            try:
                identity = await self._current(credential, project)
            except StoreError:
                continue  # the store may work again at the next check
            for request in requests:
                changed = identity is None or identity.scopes != request.identity.scopes
                if changed and request in self._open and not request.ended:
                    request.ended = True
                    request.task.cancel()
