"""Tools that read recorded spans, find their faults and summarize them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from treadle.diagnosis.detectors import Rule
from treadle.llm.chat_model import ChatModel
from treadle.toolbox.traces.analyze_with_llm import AnalyzeWithLlm
from treadle.toolbox.traces.fetch_groups import FetchGroups
from treadle.toolbox.traces.fetch_runs import FetchRuns
from treadle.toolbox.traces.fetch_spans import FetchSpans
from treadle.toolbox.traces.fetch_spans_summary import FetchSpansSummary
from treadle.toolbox.traces.get_run_details import GetRunDetails
from treadle.toolbox.traces.get_span_content import GetSpanContent
from treadle.toolbox.traces.list_labels import ListLabels
from treadle.toolbox.traces.search_spans import SearchSpans
from treadle.toolbox.traces.trace_tool import TraceReader
from treadle.tools.contract import Tool

__all__ = ["TraceReader", "trace_tools"]


def trace_tools(
    reader: TraceReader,
    *,
    rules: Sequence[Rule] = (),
    connect: Callable[[], Awaitable[ChatModel]] | None = None,
) -> list[Tool[Any, Any]]:
    """Create the tools that read the spans of `reader`.

    `rules` are the user's rules, which supplement the built-in detectors. `connect` returns the
    model for a call of `analyze_with_llm`, or raises TreadleError if no model is available. Without
    a model, `analyze_with_llm` returns only the findings of the detectors.
    """
    return [
        FetchRuns(reader),
        FetchSpans(reader),
        GetRunDetails(reader),
        FetchGroups(reader),
        FetchSpansSummary(reader, rules),
        GetSpanContent(reader, rules),
        ListLabels(reader),
        SearchSpans(reader),
        AnalyzeWithLlm(reader, rules, connect),
    ]
