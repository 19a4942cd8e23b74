"""What was got for time and money: cost of a successful run, cache hits, time to first token."""

from dataclasses import dataclass

from treadle.spans.span import SpanStatus
from treadle.traces.query.conditions import Query
from treadle.traces.store.protocol import SpanReader
from treadle.traces.store.results import RunSummary, Summary

MOST_RUNS = 5_000
"""Runs that are counted, the newest."""
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Shares are 0 to 1, money US dollars; None where nobody knows, or nothing was counted.

    `runs` were counted, `successful` of these ended well. The cost of those that did not is part
    of what a successful one costs.
    """

    runs: int
    successful: int
    cost_per_successful_run: float | None
    cache_hit_rate: float | None
    """Tokens that were read from caches, of all that went in."""


def efficiency(reader: SpanReader, query: Query, figures: Summary) -> Efficiency:
    """The efficiency of the runs of a question, whose figures are given."""
    runs = _runs(reader, query)
    successful = sum(run.status is SpanStatus.OK for run in runs)
    costs = [run.sums.totals.cost for run in runs if run.sums.totals.cost is not None]
    tokens = figures.sums.totals.tokens
    return Efficiency(
        runs=len(runs),
        successful=successful,
        cost_per_successful_run=sum(costs) / successful if costs and successful else None,
        # Nothing cached at all is what is not told, too.
        cache_hit_rate=tokens.cached / tokens.input if tokens.cached and tokens.input else None,
    )


def _runs(reader: SpanReader, query: Query) -> list[RunSummary]:
    found: list[RunSummary] = []
    cursor: str | None = None
    while len(found) < MOST_RUNS:
        page = reader.runs(query, limit=_PAGE, cursor=cursor)
        found += page.data
        cursor = page.pagination.next_cursor
        if cursor is None:
            break
    return found[:MOST_RUNS]
