"""The totals of all runs that match a query, whether a page of the list shows them or not."""

from treadle.database import Connection
from treadle.traces.query.conditions import Query
from treadle.traces.store.counters import COUNTER_NAMES
from treadle.traces.store.percentiles import percentiles
from treadle.traces.store.queries.conditions import register_functions, resolved
from treadle.traces.store.queries.run_pages import matching_runs
from treadle.traces.store.results import DURATION_OF_ROOT, STATUS_OF_ROOT, RunTotals, sums

_SUMS = ", ".join(f"sum(g.{name})" for name in COUNTER_NAMES)


def run_totals(connection: Connection, query: Query) -> RunTotals:
    """Return the totals of the matching runs. The sums include all spans of each run."""
    register_functions(connection)
    matching = matching_runs(connection, resolved(connection, query))
    runs, failed, *counters = connection.execute(
        f"SELECT count(*), total({STATUS_OF_ROOT} = 'error'), {_SUMS} FROM {matching.text}",
        matching.values,
    ).fetchone()
    durations = connection.execute(
        f"SELECT {DURATION_OF_ROOT} FROM {matching.text} AND {DURATION_OF_ROOT} NOTNULL",
        matching.values,
    )
    return RunTotals(
        runs=runs,
        failed_runs=int(failed),
        sums=sums(*counters),
        duration=percentiles(duration for (duration,) in durations),
    )
