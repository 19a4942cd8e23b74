"""Latency of lists, groups and facets by user, release and metadata, in process.

Run: python -m bench.traces.properties PATH --spans 100000 1000000

PATH is the SQLite file of a store. The store is filled up to each number of spans and then
measured. Each trace has ten spans, and the traces of a million spans are spread over four weeks.
One tenant has two fifths of the traces, and each of the rarest tenants has a few traces. The root
of a trace states the user, the tenant, the release and a label. In half of the traces, every span
states the user, the tenant and the release, as some clients do. The last column has the figures of
the largest store if queries do not use segments (`store/segments.py`).
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import accumulate
from pathlib import Path

from bench.traces.figures import Figures, say
from treadle.events.types import Usage
from treadle.spans.span import OWN_LABELS, Span, SpanKind, SpanStatus
from treadle.traces.own_spans import OF_OTHERS
from treadle.traces.query import (
    Condition,
    Field,
    GroupBy,
    Grouping,
    MetadataKey,
    Operator,
    Query,
    Rows,
)
from treadle.traces.store.queries import segment_scan
from treadle.traces.store.queries.span_sources import ALL_SPANS
from treadle.traces.store.segment_builder import NEWEST_SPANS, SEGMENT_SPANS
from treadle.traces.store.trace_store import TraceStore

TRACE_SPANS = 10
BATCH = 500
USERS, TENANTS = 5_000, 200
COMMON_TENANT, RARE_TENANT = "tenant-0", f"tenant-{TENANTS - 1}"
COMMON_USER, RARE_USER = "user-0", f"user-{USERS - 1}"
BEGIN_US = 1_791_000_000_000_000
GAP_US = 24_000_000
"""The time between the starts of two traces. 100,000 traces are spread over four weeks."""

THREAD_TRACES = 4
LABELS = ("production", "staging", "nightly", "search", "support")
OWN_EVERY = 50
"""One of this many traces is of Treadle's own analyst. `OF_OTHERS` leaves these traces out."""

WITHOUT_SEGMENTS = "without segments"
REPEATS = 5
MODELS = ("gpt-4o-mini", "gpt-4o", "claude-sonnet-4-5")
_USER_WEIGHTS = tuple(accumulate(1 / (rank + 1) for rank in range(USERS)))
_TENANT_WEIGHTS = tuple(accumulate([130.0] + [1.0] * (TENANTS - 10) + [0.05] * 9))


def spans(first: int, count: int) -> Iterator[list[Span]]:
    """Yield batches of the spans of `count` traces. A trace depends only on its number."""
    batch: list[Span] = []
    for number in range(first, first + count):
        batch += _trace(number)
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _trace(number: int) -> list[Span]:
    thread = number // THREAD_TRACES
    (user,) = random.Random(-1 - thread).choices(range(USERS), cum_weights=_USER_WEIGHTS)
    (tenant,) = random.Random(thread).choices(range(TENANTS), cum_weights=_TENANT_WEIGHTS)
    draw = random.Random(number)
    labels = (OWN_LABELS[0],) if number % OWN_EVERY == 7 else (draw.choice(LABELS),)
    begin = BEGIN_US + number * GAP_US
    release = f"1.{number // 10_000}"
    found: list[Span] = []
    for position in range(TRACE_SPANS):
        states = position == 0 or number % 2 == 0
        model = position % 3 == 1
        start = begin + position * 400_000
        kind = SpanKind.MODEL if model else SpanKind.TOOL
        found.append(
            Span(
                trace_id=f"{number:032x}",
                span_id=f"{position:016x}",
                parent_id=f"{0:016x}" if position else None,
                kind=kind if position else SpanKind.AGENT,
                operation=("chat" if model else "execute_tool") if position else "invoke_agent",
                name=("chat" if model else "execute_tool search") if position else "answer",
                start_us=start,
                end_us=start + draw.randrange(10_000, 4_000_000),
                status=SpanStatus.ERROR if draw.random() < 0.02 else SpanStatus.OK,
                model=draw.choice(MODELS) if model else None,
                tokens=Usage(draw.randrange(4_000), draw.randrange(500)) if model else Usage(),
                cost=draw.randrange(1_000) / 1e5 if model else None,
                user=f"user-{user}" if states else None,
                release=release if states else None,
                labels=labels if position == 0 or labels[0] in OWN_LABELS else (),
                thread_id=f"thread-{thread}",
                metadata={"tenant": f"tenant-{tenant}", "seats": tenant % 7} if states else {},
                input=f"question {draw.getrandbits(60):x} about an invoice",
                output=f"answer {draw.getrandbits(60):x}",
            )
        )
    return found


def fill(store: TraceStore, wanted: int) -> None:
    """Add traces until the store has `wanted` spans."""
    there = store.groups(GroupBy.OPERATION, limit=100).data
    first = sum(group.sums.totals.spans for group in there) // TRACE_SPANS
    for number, batch in enumerate(spans(first, wanted // TRACE_SPANS - first)):
        store.write(batch).result()
        if number % 200 == 199:
            say(f"fill: {first * TRACE_SPANS + (number + 1) * BATCH:,} spans")


def measure(store: TraceStore, size: int, figures: Figures, column: str) -> None:
    """Note the median processor time of each query."""
    for what, ask in _asked(size).items():
        busy: list[float] = []
        end = time.monotonic() + 5
        while len(busy) < REPEATS and (len(busy) < 2 or time.monotonic() < end):
            worked = time.thread_time()
            ask(store)
            busy.append(1e3 * (time.thread_time() - worked))
        figures.add(what, column, sorted(busy)[len(busy) // 2])
        say(f"{column} {what:<40} {sorted(busy)[len(busy) // 2]:8.1f} ms of processor time")


def settle(store: TraceStore, size: int) -> None:
    """Wait until the store has written the segments of its spans."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with store.reader() as connection:
            (spans,) = connection.execute("SELECT total(spans) FROM segments").fetchone()
        if spans >= size - SEGMENT_SPANS - NEWEST_SPANS:
            return
        time.sleep(0.2)


def _asked(size: int) -> Mapping[str, Callable[[TraceStore], object]]:
    """Return the queries by their names."""
    tenant, user = MetadataKey("tenant"), Field.USER
    week = BEGIN_US + size // TRACE_SPANS * GAP_US - 7 * 86_400_000_000
    recent = Query((Condition(Field.START, Operator.AT_LEAST, (week,)),))

    def of(field: Field, value: str) -> Query:
        key = tenant.key if field is Field.METADATA else ""
        return Query((Condition(field, Operator.IS, (value,), key=key),))

    asked: dict[str, Callable[[TraceStore], object]] = {}
    for what, query in (
        ("common user", of(user, COMMON_USER)),
        ("rare user", of(user, RARE_USER)),
        ("common tenant", of(Field.METADATA, COMMON_TENANT)),
        ("rare tenant", of(Field.METADATA, RARE_TENANT)),
        ("one model", of(Field.MODEL, MODELS[0])),
        ("without own calls", OF_OTHERS),
    ):
        asked |= {
            f"newest 50 spans, {what}": partial(TraceStore.spans, query=query),
            f"newest 50 runs, {what}": partial(TraceStore.runs, query=query),
            f"newest 50 threads, {what}": partial(TraceStore.threads, query=query),
            f"by hour, {what}": _groups(GroupBy.TIME, query),
            f"by model, {what}": _groups(GroupBy.MODEL, query),
            f"by tenant, {what}": _groups(tenant, query),
            f"by user, {what}": _groups(GroupBy.USER, query),
            f"facets of spans, {what}": partial(TraceStore.facets, rows=Rows.SPANS, query=query),
            f"summary, {what}": partial(TraceStore.summary, query=query),
        }
    return asked | {
        "by tenant": _groups(tenant, Query()),
        "by user": _groups(GroupBy.USER, Query()),
        "by tenant, a week": _groups(tenant, recent),
        "by user, a week": _groups(GroupBy.USER, recent),
        "values of tenant with 9": lambda store: store.values(tenant, text="9"),
        "values of user with 9": lambda store: store.values(user, text="9"),
        "facets of spans": lambda store: store.facets(Rows.SPANS),
        "summary": lambda store: store.summary(),
    }


def _groups(by: Grouping, query: Query) -> Callable[[TraceStore], object]:
    return lambda store: store.groups(by, query, limit=800)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--spans", type=int, nargs="+", default=[100_000, 1_000_000])
    options = parser.parse_args()
    columns = [f"{size:,} spans" for size in sorted(options.spans)]
    figures = Figures((*columns[::-1], WITHOUT_SEGMENTS), len(columns))
    with closing(TraceStore.open(options.path, read_seconds=60)) as store:
        for size, column in zip(sorted(options.spans), columns, strict=True):
            fill(store, size)
            settle(store, size)
            measure(store, size, figures, column)
        segment_scan.FEWEST_SPANS = ALL_SPANS
        measure(store, max(options.spans), figures, WITHOUT_SEGMENTS)
    print(figures.markdown("ms of processor time"))


if __name__ == "__main__":
    main()
