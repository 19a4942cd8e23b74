"""The interface through which experiments call models. The package `app` implements it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from treadle.experiments.model import Outcome
from treadle.spans.span import EXPERIMENT_LABEL

LABEL = EXPERIMENT_LABEL
"""The label that the span of every call of an experiment has."""


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One chat request, and the thread and the run that its span belongs to.

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
        """Make the call and return its outcome.

        A refusal, an error or a timeout is an outcome too, and raises no exception. This method may
        be cancelled. It raises StoreError if the call cannot be recorded.
        """
        ...

    async def refusal(self, request: CallRequest) -> str | None:
        """The reason why the call is not possible, with advice, or None if the call is possible.

        This method does not call a model.
        """
        ...

    async def recorded(self, run_id: str) -> Outcome | None:
        """The recorded outcome of the completed call with the run id `run_id`, or None."""
        ...
