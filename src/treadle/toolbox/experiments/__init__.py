"""The tools of experiments: whether a call can be run again, its data, changes, runs, results."""

from typing import Protocol

from treadle.experiments.service import Experiments
from treadle.tools.registry import AnyTool


class OpenExperiment(Protocol):
    """Which experiment the person has in front of them: a part of what the page shows."""

    @property
    def experiment_id(self) -> str | None:
        """Its id; None while none is open."""
        ...


def experiment_tools(experiments: Experiments, opened: OpenExperiment) -> list[AnyTool]:
    """is_valid_for_optimize, get_experiment_data, evaluate_experiment_results,
    apply_experiment_data and run_experiment; what names no experiment means the opened one.
    """  # noqa: D205
    del experiments, opened
    return []
