"""The summary of a set of spans: its figures and its worst spans."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from treadle.json_values import JsonField, json_property
from treadle.traces.store.percentiles import Percentiles, milliseconds
from treadle.traces.store.results import LabelCount, ListedSpan, Sums


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """The calls of one tool."""

    name: str
    calls: int
    failed: int
    latency: Percentiles


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The sums of the spans of one model, and the latency of its counted calls."""

    name: Annotated[str, JsonField("model")]
    sums: Annotated[Sums, JsonField(inline=True)]
    latency: Percentiles


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a set of spans, under the names that the tool `fetch_spans_summary` uses."""

    total_spans: int
    by_operation: Mapping[str, int]
    by_status: Mapping[str, int]
    start_us: int | None
    last_us: int | None
    total_duration_ms: float | None
    busy_ms: float
    faults: int
    total_cost: float | None
    unpriced: int
    total_input_tokens: int | None
    total_output_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    unmetered: int
    models_used: tuple[str, ...]
    labels_found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of a set of spans, and the worst spans.

    `snapshot` is the newest revision of a span, without the spans of Treadle's own calls. `wall_us`
    is the time from the first start to the last end.
    """

    snapshot: Annotated[int, JsonField("snapshot_id")]
    sums: Annotated[Sums, JsonField(omit=True)]
    start_us: Annotated[int | None, JsonField(omit=True)]
    last_us: Annotated[int | None, JsonField(omit=True)]
    wall_us: Annotated[int | None, JsonField(omit=True)]
    by_operation: Annotated[tuple[tuple[str, int], ...], JsonField(omit=True)]
    by_status: Annotated[tuple[tuple[str, int], ...], JsonField(omit=True)]
    latency: Percentiles
    time_to_first_token: Annotated[Percentiles, JsonField("ttft")]
    models: Annotated[tuple[ModelUsage, ...], JsonField("model_breakdown")]
    tools: Annotated[tuple[ToolUsage, ...], JsonField("tool_usage")]
    labels: Annotated[tuple[LabelCount, ...], JsonField(omit=True)]
    errors: Annotated[tuple[ListedSpan, ...], JsonField("error_spans")]
    slowest: Annotated[tuple[ListedSpan, ...], JsonField("slowest_spans")]
    most_expensive: Annotated[tuple[ListedSpan, ...], JsonField("expensive_spans")]

    @json_property
    def summary(self) -> Figures:
        """The summary in the form of `Figures`."""
        totals = self.sums.totals
        return Figures(
            total_spans=totals.spans,
            by_operation=dict(self.by_operation),
            by_status=dict(self.by_status),
            start_us=self.start_us,
            last_us=self.last_us,
            total_duration_ms=milliseconds(self.wall_us),
            busy_ms=self.sums.busy_us / 1_000,
            faults=self.sums.faults,
            total_cost=totals.cost,
            unpriced=totals.unpriced,
            total_input_tokens=totals.tokens.input,
            total_output_tokens=totals.tokens.output,
            cached_tokens=totals.tokens.cached,
            cache_write_tokens=totals.tokens.cache_write,
            reasoning_tokens=totals.tokens.reasoning,
            unmetered=totals.unmetered,
            models_used=tuple(model.name for model in self.models),
            labels_found=tuple(label.name for label in self.labels),
        )
