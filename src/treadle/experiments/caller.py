"""The interface through which experiments call models. The app implements it with the gateway."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from treadle.experiments.model import Outcome
from treadle.spans.span import EXPERIMENT_LABEL

LABEL = EXPERIMENT_LABEL
"""The label of every call of an experiment."""


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One chat request, and the thread and run of its span.

    `body` has the format of OpenAI's API. `seconds` is the timeout.
    """

    body: Mapping[str, Any]
    thread_id: str
    run_id: str
    labels: tuple[str, ...] = (LABEL,)
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 60.0


class Caller(Protocol):
    """Calls models and records each call as a span."""

    async def call(self, request: CallRequest) -> Outcome:
        """The outcome of a call. A refusal, an error and a timeout are outcomes, too.

        May be cancelled. Raises StoreError if the call cannot be recorded.
        """
        ...

    async def refusal(self, request: CallRequest) -> str | None:
        """The reason why the call is not possible, and what to do. None if it is possible.

        This check does not call a model.
        """
        ...

    async def recorded(self, run_id: str) -> Outcome | None:
        """The recorded outcome of an earlier completed call with that run id, or None."""
        ...
