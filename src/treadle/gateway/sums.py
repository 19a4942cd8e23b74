"""What budgets were used up before this process began, from the sums that the store keeps."""

from treadle.gateway.budgets import Sums, Used
from treadle.traces import SqliteTraceStore
from treadle.traces.query.conditions import Condition, Field, GroupBy, Operator, Query

_DAY_SECONDS = 86_400


def sums_of(store: SqliteTraceStore) -> Sums:
    """The sums of a store, by label and time."""

    def used(label: str, since_us: int) -> Used:
        query = Query(
            (
                Condition(Field.LABEL, Operator.IS, (label,)),
                Condition(Field.START, Operator.AT_LEAST, (since_us,)),
            )
        )
        groups = store.groups(GroupBy.TIME, query, bucket_seconds=_DAY_SECONDS, limit=100).data
        totals = [group.sums.totals for group in groups]
        return Used(
            sum((each.tokens.input or 0) + (each.tokens.output or 0) for each in totals),
            sum(each.cost or 0.0 for each in totals),
        )

    return used
