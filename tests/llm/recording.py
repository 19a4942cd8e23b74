"""An observer that records what it receives."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from treadle.llm.chat_model import AttemptFinished, AttemptStarted


@dataclass
class RecordingObserver:
    """A `ModelObserver` for tests that records every call."""

    started: list[AttemptStarted] = field(default_factory=list)
    finished: list[AttemptFinished] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    deltas: int = 0
    retries: list[tuple[int, float, str]] = field(default_factory=list)
    fallbacks: list[tuple[str, str]] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    _happened: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, condition: Callable[[], object]) -> None:
        """Return when the condition is true. Each call of the observer checks it."""
        while not condition():
            self._happened.clear()
            await self._happened.wait()

    async def attempt_started(self, attempt: AttemptStarted) -> None:
        self._happened.set()
        self.started.append(attempt)

    async def attempt_finished(self, attempt: AttemptFinished) -> None:
        self._happened.set()
        self.finished.append(attempt)

    async def delta(self, text: str, *, reasoning: bool = False) -> None:
        self._happened.set()
        self.deltas += 1
        if reasoning:
            self.reasoning += text
        else:
            self.text += text

    async def retry_scheduled(self, attempt: int, delay: float, reason: str) -> None:
        self._happened.set()
        self.retries.append((attempt, delay, reason))

    async def fallback_applied(self, reason: str, change: str) -> None:
        self._happened.set()
        self.fallbacks.append((reason, change))

    async def waiting(self, seconds: float, text: str) -> None:
        self._happened.set()
        self.waits.append(text)

    async def notice(self, level: str, text: str) -> None:
        self._happened.set()
        self.notices.append(text)
