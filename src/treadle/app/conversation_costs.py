"""Reads the costs of conversations from the recorded traces of their turns."""

from collections.abc import Collection
from typing import TYPE_CHECKING
from uuid import UUID

from treadle.traces.query import Query, any_of
from treadle.traces.query.conditions import Field

if TYPE_CHECKING:
    from treadle.traces import TraceStore


def recorded_costs(store: "TraceStore", conversations: Collection[UUID]) -> dict[UUID, float]:
    """Return the costs in US dollars. A conversation of unknown cost is not in the result."""
    if not conversations:
        return {}
    query = Query((any_of(Field.THREAD, [str(each) for each in conversations]),))
    threads = store.threads(query, limit=len(conversations)).data
    return {
        UUID(thread.thread_id): thread.sums.totals.cost
        for thread in threads
        if thread.sums.totals.cost is not None
    }
