"""The tools of the analyst: over the recorded spans, experiments and the state of the page."""

import os
from typing import TYPE_CHECKING, Any

from treadle.diagnosis.detectors import Rule
from treadle.errors import StoreError
from treadle.experiments.service import Experiments
from treadle.toolbox.experiments import experiment_tools
from treadle.toolbox.traces import TraceReading, trace_tools
from treadle.toolbox.ui import ui_tools
from treadle.tools.registry import AnyTool
from treadle.ui.service import Ui

if TYPE_CHECKING:
    from treadle.config.model import Settings
    from treadle.llm.port import ChatModel


def analyst_tools(
    traces: TraceReading, experiments: Experiments, ui: Ui, settings: "Settings"
) -> list[AnyTool]:
    """The tools that answer questions about `traces`, try cures, and speak to the pages of `ui`."""

    async def connect() -> "ChatModel":
        from treadle.llm import connect_with_fallbacks  # loads a client that takes seconds

        return await connect_with_fallbacks(settings, os.environ)

    rules = [Rule.of(rule) for rule in settings.traces.detectors.rules]
    return [
        *trace_tools(traces, rules=rules, connect=connect),
        *experiment_tools(experiments, ui),
        *ui_tools(ui, traces),
    ]


def listed_tools(settings: "Settings") -> list[AnyTool]:
    """The same to be listed, not to be called: nothing is opened."""
    nothing = unavailable("These tools can be listed but not called.")
    return analyst_tools(nothing, nothing, nothing, settings)


def unavailable(why: str) -> Any:
    """What stands for a store that cannot be read: every question raises StoreError."""
    return _Unavailable(why)


class _Unavailable:
    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> object:
        raise StoreError(self._why, hint="`treadle doctor` reports details.")
