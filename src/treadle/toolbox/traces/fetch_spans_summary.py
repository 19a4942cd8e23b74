"""fetch_spans_summary: summarizes the figures and faults of a set of spans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, model_validator

from treadle.diagnosis.detectors import Rule
from treadle.diagnosis.findings import Findings, findings
from treadle.diagnosis.periods import period_of, within
from treadle.events.types import ToolView
from treadle.spans.page_links import span_link
from treadle.spans.span import SpanStatus
from treadle.toolbox.answers import BRIEF_TOKENS, MaxTokens, if_any
from treadle.toolbox.traces.fault_rows import (
    MAX_FAULTS,
    FaultRows,
    FaultySpan,
    RepeatedFailureRow,
    fault_rows,
)
from treadle.toolbox.traces.pages import filled, left_out
from treadle.toolbox.traces.summary_rows import (
    BriefSpan,
    Change,
    FailedSpan,
    Figures,
    Latency,
    ModelRow,
    OutlyingSpan,
    ToolRow,
    changes,
    expensive_span,
    failed_span,
    figures,
    latency,
    model_row,
    outlier_rows,
    ratio,
    slow_span,
    tool_row,
)
from treadle.toolbox.traces.trace_tool import (
    AnswerPart,
    InPeriod,
    Labels,
    Own,
    RunIds,
    Since,
    ThreadIds,
    TraceReader,
    TraceResult,
    TraceTool,
    Until,
    Where,
    query_of,
)
from treadle.toolbox.wording import counted
from treadle.tools.contract import Arguments
from treadle.traces.query import Field as About
from treadle.traces.query import Query, any_of
from treadle.traces.store.summary import Summary

MIN_TOKENS = 800
"""The minimum token budget. The figures alone take about 600 tokens."""


class FetchSpansSummaryArguments(Arguments):
    """The filters that select spans: threads, runs, labels, or a period."""

    threadIds: ThreadIds = ()
    runIds: RunIds = ()
    labels: Labels = ()
    where: Where = None
    period: InPeriod = None
    since: Since = None
    until: Until = None
    own: Own = None
    maxTokens: Annotated[MaxTokens, Field(ge=MIN_TOKENS)] = BRIEF_TOKENS

    @model_validator(mode="after")
    def _about_something(self) -> Self:
        given = (self.threadIds, self.runIds, self.labels, self.where, self.period, self.since)
        if not any(given):
            raise ValueError(
                "Give at least one of threadIds, runIds, labels, where, period and since."
            )
        return self


class Efficiency(AnswerPart):
    """The cost and cache use of runs.

    A ratio is null if one of its values is unknown or its divisor is 0. `cache_hit_rate` is the
    fraction of input tokens that came from a cache. `cost_per_successful_run` is the cost of all
    runs divided by the number of successful runs.
    """

    runs: int | None
    successful_runs: int | None
    cost_per_successful_run: float | None
    cache_hit_rate: float | None


class Faults(AnswerPart):
    """The number of faults, and of spans with faults.

    `unexamined` is the number of new spans that the detectors have not examined yet. A later call
    examines these spans. If there are very many faults, the lists contain only the most severe
    faults, and `worst` is the number of these. `unverified` is the number of listed faults that
    were removed, because their quotes are not in the spans.
    """

    found: int
    worst: int | None = if_any()
    spans: int
    unexamined: int
    unverified: int | None = if_any()


class FetchSpansSummaryResult(TraceResult):
    """The figures and faults of a set of spans.

    Times are in milliseconds, and costs in US dollars. `snapshot_id` is the newest revision of a
    span at the time of the call. `left_out` is the number of omitted entries of each list.
    """

    type: str = "summary"
    snapshot_id: int
    summary: Figures
    efficiency: Efficiency
    change_to_period_before: Mapping[str, Change] | None = if_any()
    latency: Latency
    ttft: Latency
    model_breakdown: list[ModelRow]
    tool_usage: list[ToolRow]
    faults: Faults
    repeated_failures: list[RepeatedFailureRow]
    error_spans: list[FailedSpan]
    semantic_error_spans: list[FaultySpan]
    slowest_spans: list[BriefSpan]
    expensive_spans: list[BriefSpan]
    outliers: list[OutlyingSpan]
    left_out: dict[str, int] | None = if_any()
    more: str | None = if_any()


@dataclass(frozen=True, slots=True)
class _Material:
    """A complete summary, before its lists are cut."""

    summary: Summary
    found: Findings
    efficiency: Efficiency
    change: Mapping[str, Change] | None
    faults: FaultRows
    outliers: Sequence[OutlyingSpan]

    def lengths(self) -> dict[str, int]:
        """Return the length of each list, the most important list first."""
        summary = self.summary
        return {
            "error_spans": len(summary.errors),
            "semantic_error_spans": len(self.faults.faulty),
            "repeated_failures": len(self.faults.repeated),
            "slowest_spans": len(summary.slowest),
            "expensive_spans": len(summary.most_expensive),
            "outliers": len(self.outliers),
            "tool_usage": len(summary.tools),
            "model_breakdown": len(summary.models),
            "by_operation": len(summary.by_operation),
            "labels_found": len(summary.labels),
        }

    def answer(self, counts: Mapping[str, int]) -> FetchSpansSummaryResult:
        """Create the answer with the first `counts[name]` entries of each list."""
        summary = self.summary
        cut = left_out(self.lengths(), counts)
        return FetchSpansSummaryResult(
            snapshot_id=summary.snapshot,
            summary=figures(summary, counts),
            efficiency=self.efficiency,
            change_to_period_before=self.change,
            latency=latency(summary.latency),
            ttft=latency(summary.time_to_first_token),
            model_breakdown=list(map(model_row, summary.models[: counts["model_breakdown"]])),
            tool_usage=list(map(tool_row, summary.tools[: counts["tool_usage"]])),
            faults=Faults(
                found=self.found.total,
                worst=MAX_FAULTS if self.found.total > MAX_FAULTS else None,
                spans=self.faults.spans,
                unexamined=self.found.unexamined,
                unverified=self.faults.unverified or None,
            ),
            repeated_failures=list(self.faults.repeated[: counts["repeated_failures"]]),
            error_spans=[
                failed_span(span, span_link(span.trace_id, span.span_id))
                for span in summary.errors[: counts["error_spans"]]
            ],
            semantic_error_spans=list(self.faults.faulty[: counts["semantic_error_spans"]]),
            slowest_spans=list(map(slow_span, summary.slowest[: counts["slowest_spans"]])),
            expensive_spans=list(
                map(expensive_span, summary.most_expensive[: counts["expensive_spans"]])
            ),
            outliers=list(self.outliers[: counts["outliers"]]),
            left_out=cut,
            more="Call again with a larger maxTokens for the rest." if cut else None,
        )


class FetchSpansSummary(TraceTool[FetchSpansSummaryArguments, FetchSpansSummaryResult]):
    """Summarizes a set of spans."""

    name = "fetch_spans_summary"
    description = (
        "Sum up all recorded spans of threads, runs, labels or a period: counts, cost, tokens, "
        "latency percentiles, models and tools. List their problems: errors, faults in contents "
        "that no status shows, repeated failures, and the slowest and most expensive spans. Start "
        "an analysis here."
    )
    arguments = FetchSpansSummaryArguments
    result = FetchSpansSummaryResult

    def __init__(self, reader: TraceReader, rules: Sequence[Rule] = ()) -> None:
        super().__init__(reader)
        self._rules = rules

    def answer(self, arguments: FetchSpansSummaryArguments, now_us: int) -> FetchSpansSummaryResult:
        query = query_of(arguments, now_us)
        found = findings(self._reader, query, rules=self._rules, limit=MAX_FAULTS)
        summary = self._reader.summary(query)
        material = _Material(
            summary=summary,
            found=found,
            efficiency=self._efficiency(query, summary),
            change=self._change(query, summary, now_us),
            faults=fault_rows(self._reader, found),
            outliers=outlier_rows(self._reader, query, summary),
        )
        return filled(material.lengths(), material.answer, arguments.maxTokens)

    def view(
        self,
        arguments: FetchSpansSummaryArguments,  # noqa: ARG002
        result: FetchSpansSummaryResult,
    ) -> ToolView:
        spans = counted(result.summary.total_spans, "span")
        return ToolView(f"{spans}, {counted(result.faults.found, 'fault')}")

    def _efficiency(self, query: Query, summary: Summary) -> Efficiency:
        ended_well = query & Query((any_of(About.STATUS, [SpanStatus.OK.value]),))
        runs = self._reader.runs(query, limit=1).pagination.total
        successful = self._reader.runs(ended_well, limit=1).pagination.total
        totals = summary.sums.totals
        return Efficiency(
            runs=runs,
            successful_runs=successful,
            cost_per_successful_run=ratio(totals.cost, successful),
            cache_hit_rate=ratio(totals.tokens.cached, totals.tokens.input),
        )

    def _change(self, query: Query, summary: Summary, now_us: int) -> Mapping[str, Change] | None:
        """Compare the summary with the summary of the preceding period of equal length.

        Returns None if the query has no period.
        """
        period = period_of(query, now_us)
        if period is None:
            return None
        return changes(summary, self._reader.summary(within(query, period.before)))
