"""Runs in plain Python, for comparison with what the store answers."""

from collections import defaultdict
from dataclasses import dataclass

from tests.traces.store.queries import naive
from treadle.spans.span import SpanStatus, Trace, true_root


@dataclass(frozen=True)
class NaiveRun:
    """A run as plain Python sees it."""

    run_id: str
    spans: list[naive.NaiveSpan]

    @property
    def root(self) -> naive.NaiveSpan:
        """The root of its earliest trace that has one, else of its earliest trace."""
        traces: dict[str, list[naive.NaiveSpan]] = defaultdict(list)
        for each in self.spans:
            traces[each.span.trace_id].append(each)

        def place(trace_id: str) -> tuple[bool, int, str]:
            spans = [each.span for each in traces[trace_id]]
            rootless = all(span.parent_id not in {None, span.span_id} for span in spans)
            return rootless, min(span.start_us for span in spans), trace_id

        first = traces[min(traces, key=place)]
        root = true_root([each.span for each in first])
        return next(each for each in first if each.span is root)

    @property
    def trace(self) -> Trace:
        """The trace of the root."""
        trace_id = self.root.span.trace_id
        members = tuple(each.span for each in self.spans if each.span.trace_id == trace_id)
        return Trace(trace_id, members)

    @property
    def status(self) -> SpanStatus:
        return self.trace.status

    @property
    def duration_us(self) -> int | None:
        return self.trace.duration_us


def naive_runs(spans: list[naive.NaiveSpan]) -> list[NaiveRun]:
    runs: dict[str, list[naive.NaiveSpan]] = defaultdict(list)
    for each in spans:
        runs[each.run].append(each)
    return [NaiveRun(run_id, members) for run_id, members in runs.items()]
