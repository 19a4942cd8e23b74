"""The tools of the analyst, opened over the recorded spans and the state of the page."""

import os
from typing import TYPE_CHECKING, cast

from treadle.errors import StoreError
from treadle.toolbox.traces import TraceReading, trace_tools
from treadle.toolbox.ui import ui_tools
from treadle.tools.registry import AnyTool
from treadle.traces.detectors import Rule
from treadle.ui.service import Ui

if TYPE_CHECKING:
    from treadle.config.model import Settings
    from treadle.llm.port import ChatModel


def analyst_tools(traces: TraceReading, ui: Ui, settings: "Settings") -> list[AnyTool]:
    """The tools that answer questions about `traces` and speak to the pages of `ui`."""

    async def connect() -> "ChatModel":
        from treadle.llm import connect_with_fallbacks  # loads a client that takes seconds

        return await connect_with_fallbacks(settings, os.environ)

    rules = [Rule.of(rule) for rule in settings.traces.detectors.rules]
    return [*trace_tools(traces, rules=rules, connect=connect), *ui_tools(ui, traces)]


def unreadable_traces(why: str) -> TraceReading:
    """What is read where the store cannot be: every question raises StoreError."""
    return cast("TraceReading", _Unreadable(why))


class _Unreadable:
    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, name: str) -> object:
        raise StoreError(self._why, hint="`treadle doctor` says more.")
