"""The open projects of a server. Each request uses the services of its own project alone.

The services of the default project are open from the start of the server to its end. Those of every
other project are opened at the first request of the project, and closed when nobody uses them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

from treadle.clock import Clock, SystemClock
from treadle.database.address import DEFAULT_PROJECT
from treadle.errors import StoreError, TreadleError

_log = logging.getLogger(__name__)

_IDLE_SECONDS = 600.0
"""A project is closed when nobody has used it for this many seconds."""


class Services(Protocol):
    """The services of one project."""

    @property
    def is_working(self) -> bool:
        """Whether work continues that does not belong to an open request."""
        ...


S = TypeVar("S", bound=Services)


@dataclass(slots=True, eq=False)
class _Opened(Generic[S]):
    """A project that is being opened, is open, or is being closed."""

    name: str
    services: "asyncio.Future[S]"
    last_used: float
    users: int = 0
    """The number of requests, event streams and WebSockets that use the project."""
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the project is to be closed."""
    task: "asyncio.Task[None] | None" = None

    @property
    def is_idle(self) -> bool:
        """Whether the project can be closed without an effect on anyone."""
        if self.name == DEFAULT_PROJECT or self.users or self.leave.is_set():
            return False
        return self.services.done() and not self.services.result().is_working


class Projects(Generic[S]):
    """Opens the services of projects at their first use, until the context ends.

    At most `most_open` projects are open at once, including the default project. Concurrent first
    requests of a project wait for the same opening. If the opening fails, they all fail, and the
    next request tries again.
    """

    def __init__(
        self,
        open_services: Callable[[str], AbstractAsyncContextManager[S]],
        *,
        most_open: int,
        idle_seconds: float = _IDLE_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self._open_services = open_services
        self._most_open = most_open
        self._idle_seconds = idle_seconds
        self._clock = clock or SystemClock()
        self._opened: dict[str, _Opened[S]] = {}
        """All projects with open services, in the order of their opening."""
        self._context = Context()
        self._sweeping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        # A project outlives the request that opens it, so it must not get the context of a request.
        self._context = copy_context()
        default = self._start(DEFAULT_PROJECT)
        try:
            await asyncio.shield(default.services)
        except BaseException:
            await _cancel(default.task)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await _cancel(self._sweeping)
        for opened in reversed(tuple(self._opened.values())):
            await self._end(opened)

    @property
    def default(self) -> S:
        """The services of the default project."""
        return self._opened[DEFAULT_PROJECT].services.result()

    def names(self) -> tuple[str, ...]:
        """Return the names of the open projects, in the order of their opening."""
        return tuple(self._opened)

    def opened(self) -> list[S]:
        """Return the services of the open projects, in the order of their opening."""
        done = [each.services for each in self._opened.values() if each.services.done()]
        return [each.result() for each in done if not each.cancelled() and not each.exception()]

    @asynccontextmanager
    async def using(self, name: str) -> AsyncIterator[S]:
        """Open the project unless it is open, and keep it open until the context ends.

        Raises StoreError if the project cannot be opened.
        """
        opened = await self._take(name)
        try:
            # While a project opens, `shield` protects the opening from the cancellation of one
            # request. An opened project needs no `shield`, which would delay each gateway call.
            services = opened.services
            yield services.result() if services.done() else await asyncio.shield(services)
        finally:
            opened.users -= 1
            opened.last_used = self._clock.monotonic()

    async def _take(self, name: str) -> _Opened[S]:
        """Count one more user of a project, and return the project, which may not be open yet."""
        while True:
            opened = self._opened.get(name)
            if opened is None and len(self._opened) < self._most_open:
                opened = self._start(name)
            if opened is None:
                await self._end(self._least_used(name))
            elif opened.leave.is_set():
                await self._end(opened)
            else:
                opened.users += 1
                return opened

    def _start(self, name: str) -> _Opened[S]:
        loop = asyncio.get_running_loop()
        opened = _Opened(name, loop.create_future(), self._clock.monotonic())
        self._opened[name] = opened
        opened.task = loop.create_task(
            self._keep_open(opened), name=f"project {name}", context=self._context.copy()
        )
        if name != DEFAULT_PROJECT and self._sweeping is None:
            self._sweeping = loop.create_task(
                self._sweep(), name="idle projects", context=self._context.copy()
            )
        return opened

    async def _keep_open(self, opened: _Opened[S]) -> None:
        """Open the services, and close them in the same task, as their contexts require."""
        try:
            async with self._open_services(opened.name) as services:
                opened.services.set_result(services)
                await opened.leave.wait()
        except Exception as error:
            if opened.services.done():
                raise
            opened.services.set_exception(_readable(opened.name, error))
            opened.services.exception()  # otherwise asyncio logs it as never retrieved
        finally:
            opened.services.cancel()  # no effect after the opening has ended
            del self._opened[opened.name]

    async def _end(self, opened: _Opened[S]) -> None:
        """Close a project. The method returns when all of its services are closed.

        Raises the error of a service of the default project. Other errors are only logged, since
        they must not affect other projects.
        """
        opened.leave.set()
        assert opened.task is not None
        await asyncio.wait({opened.task})
        error = None if opened.task.cancelled() else opened.task.exception()
        if error is not None and opened.name == DEFAULT_PROJECT:
            raise error
        if error is not None:
            _log.error("The project %r was closed with an error.", opened.name, exc_info=error)

    def _least_used(self, name: str) -> _Opened[S]:
        """Return the project that is idle for the longest time. Raises StoreError without one."""
        idle = [each for each in self._opened.values() if each.leave.is_set() or each.is_idle]
        if not idle:
            raise StoreError(
                f"The project {name!r} cannot be opened: {len(self._opened)} other projects are in "
                "use.",
                hint="Try again later, or serve some of the projects at another server.",
            )
        return min(idle, key=lambda each: (not each.leave.is_set(), each.last_used))

    async def _sweep(self) -> None:
        """Close projects that nobody has used for a while, until this task is cancelled."""
        while True:
            await self._clock.sleep(self._idle_seconds / 10)
            oldest = self._clock.monotonic() - self._idle_seconds
            for opened in tuple(self._opened.values()):
                if opened.last_used <= oldest and opened.is_idle:
                    await self._end(opened)


def _readable(name: str, error: Exception) -> Exception:
    """Return the error that each waiting request gets if the project cannot be opened."""
    if name == DEFAULT_PROJECT or not isinstance(error, TreadleError | OSError):
        return error
    reason = error.message if isinstance(error, TreadleError) else str(error)
    hint = error.hint if isinstance(error, TreadleError) else None
    return StoreError(f"The project {name!r} cannot be opened: {reason}", hint=hint)


async def _cancel(task: "asyncio.Task[None] | None") -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
