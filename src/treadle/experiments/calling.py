"""The port through which experiments ask models; whoever wires them puts the gateway behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from treadle.experiments.model import Outcome
from treadle.spans.span import EXPERIMENT_LABEL

THREAD_PREFIX = "experiment:"
"""Begins the thread of every experiment, so that none mixes with what people asked."""

LABEL = EXPERIMENT_LABEL
"""Label of every call that an experiment makes."""


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One chat request: `body` as OpenAI's API takes it, and where its span belongs.

    It may take `seconds`.
    """

    body: Mapping[str, Any]
    thread_id: str
    run_id: str
    labels: tuple[str, ...] = (LABEL,)
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 60.0


class Caller(Protocol):
    """Asks models, so that every call becomes a recorded span."""

    async def call(self, request: CallRequest) -> Outcome:
        """What came of it, as its span tells; a refusal, an error or no time is an outcome too.

        Raises StoreError where it cannot be recorded. May be cancelled.
        """
        ...

    async def refusal(self, request: CallRequest) -> str | None:
        """Why such a call cannot be made here and what to do about it; None where it can be made.

        No model is asked.
        """
        ...

    async def recorded(self, run_id: str) -> Outcome | None:
        """What is recorded of an earlier call with that run id that was answered; None if none."""
        ...
