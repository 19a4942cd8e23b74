"""The tools that read, change, run and evaluate experiments."""

from treadle.experiments.service import Experiments
from treadle.toolbox.experiments.apply_experiment_data import ApplyExperimentData
from treadle.toolbox.experiments.evaluate_experiment_results import EvaluateExperimentResults
from treadle.toolbox.experiments.get_experiment_data import GetExperimentData
from treadle.toolbox.experiments.is_valid_for_optimize import IsValidForOptimize
from treadle.toolbox.experiments.run_experiment import RunExperiment
from treadle.tools.contract import AnyTool
from treadle.ui.service import Ui

__all__ = ["experiment_tools"]


def experiment_tools(experiments: Experiments, ui: Ui) -> list[AnyTool]:
    """Create the tools.

    If a call names no experiment, the tool uses the experiment that is open on the page.
    """
    return [
        IsValidForOptimize(experiments),
        GetExperimentData(experiments, ui),
        EvaluateExperimentResults(experiments, ui),
        ApplyExperimentData(experiments, ui),
        RunExperiment(experiments, ui),
    ]
