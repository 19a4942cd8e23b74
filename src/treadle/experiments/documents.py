"""The request of an item at a version: the recorded one with all patches up to there."""

from collections.abc import Sequence
from typing import Any

from treadle.experiments.model import Experiment
from treadle.experiments.requests import Problem, patched, problems, unused_variables


def document_of(experiment: Experiment, item: int, version: int) -> dict[str, Any]:
    """The request of one item; version 0 is the recorded one."""
    document = patched(experiment.items[item].request, {})
    for each in experiment.versions[:version]:
        document = patched(document, each.patch)
    return document


def same_requests(experiment: Experiment, one: int, other: int) -> bool:
    """Whether two versions make the same of every item."""
    return all(
        document_of(experiment, item.number, one) == document_of(experiment, item.number, other)
        for item in experiment.items
    )


def problems_of(experiment: Experiment, version: int) -> tuple[Problem, ...]:
    """All that is wrong with a version; the paths of a data set begin with the item."""
    documents = [document_of(experiment, item.number, version) for item in experiment.items]
    found = [
        Problem(f"items[{number}].{problem.field}" if len(documents) > 1 else problem.field,
                problem.message)
        for number, document in enumerate(documents)
        for problem in problems(document)
    ]  # fmt: skip
    return (*_told_once(found), *unused_variables(documents))


def _told_once(found: Sequence[Problem]) -> tuple[Problem, ...]:
    """A patch that is wrong is wrong for every item: the first one tells it."""
    seen: dict[tuple[str, str], Problem] = {}
    for problem in found:
        field = problem.field.split("].", 1)[-1] if problem.field.startswith("items[") else None
        seen.setdefault((field or problem.field, problem.message), problem)
    return tuple(seen.values())
