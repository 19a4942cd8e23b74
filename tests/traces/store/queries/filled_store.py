"""A store of random spans, and the same spans as plain Python sees them."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from random import Random
from typing import TypeVar

from tests.engines import NewAddress
from tests.traces.store.queries import naive
from tests.traces.store.queries.random_spans import random_span
from treadle.traces import TraceStore
from treadle.traces.query import Page, Query

T = TypeVar("T")


class Filled:
    """`keys` are the positions of the spans in the order of time, which distinguish equal spans."""

    def __init__(self, store: TraceStore, spans: list[naive.NaiveSpan]) -> None:
        self.store = store
        self.spans = spans
        everything, _ = walked(lambda cursor: store.spans(limit=1000, cursor=cursor))
        self.keys = {(span.trace_id, span.span_id): span.key for span in everything}

    def fitting(self, query: Query) -> list[naive.NaiveSpan]:
        return [span for span in self.spans if naive.fits(span, query)]


@contextmanager
def filled(random: Random, new_address: NewAddress) -> Iterator[Filled]:
    """Up to 180 versions of up to 120 spans, in up to three batches."""
    with closing(TraceStore.open(new_address(), read_seconds=60)) as store:
        versions = []
        for _ in range(random.randrange(1, 4)):
            batch = [random_span(random) for _ in range(random.randrange(1, 60))]
            store.write(batch).result()
            versions += batch
        yield Filled(store, naive.kept(versions))


def walked(
    page_after: Callable[[str | None], Page[T]], between: Callable[[], object] = lambda: None
) -> tuple[list[T], int | None]:
    """All rows of a list by its cursors, and the total of its first page."""
    first = page = page_after(None)
    rows = list(page.data)
    while page.pagination.next_cursor:
        assert page.data
        between()
        page = page_after(page.pagination.next_cursor)
        rows += page.data
    return rows, first.pagination.total
