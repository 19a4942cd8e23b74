"""Tools that read and change what a person sees on Treadle's web page."""

from typing import Any

from treadle.toolbox.ui.apply_label_filter import ApplyLabelFilterTool
from treadle.toolbox.ui.get_collapsed_spans import GetCollapsedSpansTool
from treadle.toolbox.ui.navigate_to import NavigateToTool
from treadle.toolbox.ui.navigate_to_experiment import NavigateToExperimentTool
from treadle.tools.contract import Tool
from treadle.traces.store.span_reader import SpanReader
from treadle.ui.service import Ui

__all__ = ["ui_tools"]


def ui_tools(ui: Ui, spans: SpanReader) -> list[Tool[Any, Any]]:
    """Create the tools. `ui` has the state of the page, and `spans` finds recorded spans."""
    return [
        GetCollapsedSpansTool(ui),
        NavigateToTool(ui),
        NavigateToExperimentTool(ui, spans),
        ApplyLabelFilterTool(ui),
    ]
