"""Helpers of the experiment tools: find the experiment, and shorten results to a token budget."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, Field

from treadle.errors import NotFoundError
from treadle.events.types import ErrorKind
from treadle.experiments.model import Experiment
from treadle.experiments.service import Experiments
from treadle.tokens import estimate
from treadle.toolbox.answers import most_that_fit, written
from treadle.tools.contract import Arguments, Result, Tool, ToolError
from treadle.traces.fencing import quotable
from treadle.ui.service import Ui

CHARACTERS = 100_000
"""The maximum number of characters of one text in a result."""
_LEAST = 20
_STEPS = 400

ExperimentId = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=100,
        description="The experiment. Default: the one open on the page.",
    ),
]

RUN_IT = "Run it with run_experiment."
"""The `_next_step` of a result for a version that has not run yet."""

T = TypeVar("T", bound=BaseModel)


class ExperimentResult(Result):
    """Base class of the results of the experiment tools. An unknown value is null."""


A = TypeVar("A", bound=Arguments)
R = TypeVar("R", bound=ExperimentResult)


class ExperimentTool(Tool[A, R], Generic[A, R]):
    """Base class of the experiment tools.

    If a call names no experiment, the tool uses the experiment that is open on the page.
    """

    def __init__(self, experiments: Experiments, ui: Ui) -> None:
        self._experiments = experiments
        self._ui = ui

    def content(self, result: R) -> str:
        return written(result)


async def resolve_experiment(
    experiments: Experiments, ui: Ui, experiment_id: str | None
) -> Experiment:
    """Return the experiment with this id, or else the one that is open on the page.

    Raises ToolError if there is no such experiment.
    """
    reference = experiment_id or (await ui.state()).experiment_id
    if reference is None:
        raise ToolError(
            ErrorKind.NOT_FOUND,
            "No experiment is open.",
            field="experimentId",
            hint="Give an experimentId, or a model call as spanId of apply_experiment_data.",
        )
    try:
        return await asyncio.to_thread(experiments.get, reference)
    except NotFoundError as error:
        raise ToolError(
            ErrorKind.NOT_FOUND, error.message, field="experimentId", hint=error.hint
        ) from error


def fitted(build: Callable[[int], T], most_tokens: int) -> T:
    """Build a result that fits into `most_tokens`, with texts that are as long as possible.

    `build` creates the result from the maximum number of characters of each text. The numbers that
    are tried form a geometric series from 20 to 100,000.
    """
    whole = build(CHARACTERS)
    if estimate(written(whole)) <= most_tokens:
        return whole

    def characters(step: int) -> int:
        return int(_LEAST * float(CHARACTERS / _LEAST) ** (step / _STEPS))

    step = most_that_fit(
        _STEPS, lambda number: estimate(written(build(characters(number)))), most_tokens
    )
    return build(characters(step))


def shortened(value: Any, characters: int) -> Any:
    """Copy recorded JSON. Long texts are cut in the middle, and hidden characters are escaped."""
    if isinstance(value, str):
        return quotable(value, limit=characters)
    if isinstance(value, Mapping):
        return {
            quotable(str(name), limit=200): shortened(each, characters)
            for name, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [shortened(each, characters) for each in value]
    return value


def longer_texts(value: Any, characters: int) -> int:
    """Return the number of texts that `shortened` cuts."""
    if isinstance(value, str):
        return int(len(value) > characters)
    if isinstance(value, Mapping):
        return sum(longer_texts(each, characters) for each in value.values())
    if isinstance(value, list | tuple):
        return sum(longer_texts(each, characters) for each in value)
    return 0
