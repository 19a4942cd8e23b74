"""Whether the server can do its work: the checks behind `/readyz`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.app.stores import Stores
from treadle.clock import Clock, SystemClock, wait_within
from treadle.database import StoreAddress
from treadle.database.probe import require_writable
from treadle.errors import StoreError, TreadleError

if TYPE_CHECKING:
    from treadle.nats.connection import NatsConnection

Check = Callable[[], Awaitable[object]]
"""Examines one part of the server. It raises an exception if the part does not work."""

_MAX_AGE = 1.0
"""The seconds for which a result is used again, so that frequent probes cause little work."""
_CHECK_SECONDS = 2.0
"""The maximum time of a check in seconds."""


@dataclass(frozen=True, slots=True)
class PartState:
    """The state of one part of the server. `problem` states why it is not ready."""

    name: str
    ready: bool
    problem: str | None


class Readiness:
    """Examines the parts of a server, at most once in a second."""

    def __init__(self, checks: Mapping[str, Check], clock: Clock | None = None) -> None:
        """Create an object that runs `checks`, which maps the name of each part to its check."""
        self._checks = checks
        self._clock = clock or SystemClock()
        self._examining: asyncio.Task[list[PartState]] | None = None
        self._since = 0.0

    async def states(self) -> list[PartState]:
        """Return the states of all parts. They are at most a second old."""
        now = self._clock.monotonic()
        if self._examining is None or (self._examining.done() and now - self._since > _MAX_AGE):
            self._since = now
            self._examining = asyncio.create_task(self._examine(), name="readiness")
        return await asyncio.shield(self._examining)

    async def _examine(self) -> list[PartState]:
        states = [self._state(name, check) for name, check in self._checks.items()]
        return await asyncio.gather(*states)

    async def _state(self, name: str, check: Check) -> PartState:
        # A check may run in a thread, which cannot be cancelled. The task therefore continues
        # after the time limit.
        task = asyncio.ensure_future(check())
        task.add_done_callback(_retrieve)
        try:
            await wait_within(task, _CHECK_SECONDS, self._clock)
        except TimeoutError:
            return PartState(name, False, f"It did not answer within {_CHECK_SECONDS:g} s.")
        except TreadleError as error:
            return PartState(name, False, str(error))
        except Exception as error:  # noqa: BLE001  (the probe reports every failure)
            return PartState(name, False, f"{type(error).__name__}: {error}")
        return PartState(name, True, None)


def checks_of(stores: Stores, bus: "NatsConnection | None") -> dict[str, Check]:
    """Return the checks of the stores and of the bus by the names of the parts.

    All stores of a PostgreSQL database are one part.
    """

    def writable(address: StoreAddress) -> Check:
        return lambda: asyncio.to_thread(require_writable, address)

    async def connected() -> None:
        if bus is not None and not bus.is_connected:
            raise StoreError(f"NATS at {bus.servers} cannot be reached.")

    if stores.url is not None:
        checks = {"postgresql": writable(stores.traces)}
    else:
        addresses = {
            "traces": stores.traces,
            "conversations": stores.conversations,
            "proposals": stores.proposals,
            "approvals": stores.approvals,
            "breakpoints": stores.breakpoints,
            "experiments": stores.experiments,
            "pages": stores.ui,
        }
        checks = {name: writable(address) for name, address in addresses.items()}
    return checks | ({} if bus is None else {"bus": connected})


def _retrieve(task: "asyncio.Future[object]") -> None:
    """Retrieve the exception of a check, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()
