"""The time for which the writer repeats a commit after it lost its connection to the server."""

import time
from collections.abc import Callable
from dataclasses import dataclass

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class Timing:
    """The functions with which the writer measures time and waits."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


SYSTEM_TIMING = Timing()


class Outage:
    """Counts the seconds since the writer lost its connection."""

    def __init__(self, limit_seconds: float, timing: Timing) -> None:
        self._limit = limit_seconds
        self._timing = timing
        self._began: float | None = None
        self._pause = _FIRST_PAUSE

    @property
    def is_active(self) -> bool:
        """Whether the writer has lost its connection and has not committed since."""
        return self._began is not None

    def wait(self) -> bool:
        """Wait before the next attempt, longer each time.

        Returns False at once if the connection was lost too long ago.
        """
        now = self._timing.monotonic()
        if self._began is None:
            self._began = now
        if now - self._began >= self._limit:
            return False
        self._timing.sleep(min(self._pause, self._limit - (now - self._began)))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return True

    def end(self) -> None:
        """Record that the writer has committed again."""
        self._began = None
        self._pause = _FIRST_PAUSE
