"""Latency of lists, groups and facets by user, release and metadata, in process.

Run: python -m bench.traces.properties PATH --spans 100000 1000000

PATH is the SQLite file of a store. It is filled up to each number of spans and then measured.
Traces have ten spans over four weeks. One tenant has two fifths of the traces, and the rarest ones
have a few. The root of a trace states the user, the tenant and the release. Half of the traces
state them on every span, as some clients do.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import accumulate
from pathlib import Path

from bench.traces.figures import say
from treadle.errors import StoreError
from treadle.events.types import Usage
from treadle.spans.span import OWN_LABELS, Span, SpanKind, SpanStatus
from treadle.traces.query import Condition, Field, GroupBy, MetadataKey, Operator, Query, Rows
from treadle.traces.store.sqlite_store import SqliteTraceStore

TRACE_SPANS = 10
BATCH = 500
USERS, TENANTS = 5_000, 200
COMMON_TENANT, RARE_TENANT = "tenant-0", f"tenant-{TENANTS - 1}"
COMMON_USER, RARE_USER = "user-0", f"user-{USERS - 1}"
BEGIN_US = 1_791_000_000_000_000
GAP_US = 24_000_000
"""Between two traces: 100,000 of them, a million spans, spread over four weeks."""

THREAD_TRACES = 4
LABELS = ("production", "staging", "nightly", "search", "support")
OWN_EVERY = 50
"""One of this many traces is of Treadle's own analyst, so lists and groups leave it out."""

REPEATS = 15
MODELS = ("gpt-4o-mini", "gpt-4o", "claude-sonnet-4-5")
_USER_WEIGHTS = tuple(accumulate(1 / (rank + 1) for rank in range(USERS)))
_TENANT_WEIGHTS = tuple(accumulate([130.0] + [1.0] * (TENANTS - 10) + [0.05] * 9))


def spans(first: int, count: int) -> Iterator[list[Span]]:
    """Batches of the spans of `count` traces. The same number gives the same trace."""
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


def fill(store: SqliteTraceStore, wanted: int) -> None:
    """Add traces until the store has `wanted` spans."""
    there = store.groups(GroupBy.OPERATION, limit=100).data
    first = sum(group.sums.totals.spans for group in there) // TRACE_SPANS
    for number, batch in enumerate(spans(first, wanted // TRACE_SPANS - first)):
        store.write(batch).result()
        if number % 200 == 199:
            say(f"fill: {first * TRACE_SPANS + (number + 1) * BATCH:,} spans")


def measure(store: SqliteTraceStore, size: int) -> None:
    """Print the median time and the median processor time of each query."""
    tenant, user = MetadataKey("tenant"), Field.USER
    week = BEGIN_US + size // TRACE_SPANS * GAP_US - 7 * 86_400_000_000
    recent = Query((Condition(Field.START, Operator.AT_LEAST, (week,)),))

    def of(field: Field, value: str) -> Query:
        key = tenant.key if field is Field.METADATA else ""
        return Query((Condition(field, Operator.IS, (value,), key=key),))

    asked: dict[str, Callable[[], object]] = {}
    for what, query in (
        ("common user", of(user, COMMON_USER)),
        ("rare user", of(user, RARE_USER)),
        ("common tenant", of(Field.METADATA, COMMON_TENANT)),
        ("rare tenant", of(Field.METADATA, RARE_TENANT)),
    ):
        asked |= {
            f"newest 50 spans, {what}": partial(store.spans, query),
            f"newest 50 runs, {what}": partial(store.runs, query),
            f"newest 50 threads, {what}": partial(store.threads, query),
            f"by hour, {what}": partial(store.groups, GroupBy.TIME, query, limit=800),
            f"by model, {what}": partial(store.groups, GroupBy.MODEL, query),
            f"facets, {what}": partial(store.facets, Rows.SPANS, query),
            f"summary, {what}": partial(store.summary, query),
        }
    asked |= {
        "summary, one model": lambda: store.summary(of(Field.MODEL, MODELS[0])),
        "by tenant, one model": lambda: store.groups(tenant, of(Field.MODEL, MODELS[0])),
        "by tenant": lambda: store.groups(tenant),
        "by user": lambda: store.groups(GroupBy.USER),
        "by tenant, a week": lambda: store.groups(tenant, recent),
        "by user, a week": lambda: store.groups(GroupBy.USER, recent),
        "by tenant, common user": lambda: store.groups(tenant, of(user, COMMON_USER)),
        "by tenant, rare user": lambda: store.groups(tenant, of(user, RARE_USER)),
        "by user, common tenant": lambda: store.groups(
            GroupBy.USER, of(Field.METADATA, COMMON_TENANT)
        ),
        "by user, rare tenant": lambda: store.groups(GroupBy.USER, of(Field.METADATA, RARE_TENANT)),
        "values of tenant with 9": lambda: store.values(tenant, text="9"),
        "values of user with 9": lambda: store.values(user, text="9"),
        "facets of spans": lambda: store.facets(Rows.SPANS),
    }
    for what, ask in asked.items():
        times: list[float] = []
        busy: list[float] = []
        end = time.monotonic() + 5
        while len(times) < REPEATS and (len(times) < 2 or time.monotonic() < end):
            before, worked = time.perf_counter(), time.thread_time()
            try:
                ask()
            except StoreError as error:
                say(f"{size:>9,} {what}: {error}")
                break
            busy.append(1e3 * (time.thread_time() - worked))
            times.append(1e3 * (time.perf_counter() - before))
        if not times:
            continue
        middle = len(times) // 2
        say(
            f"{size:>9,} {what:<34} {sorted(times)[middle]:8.1f} ms,"
            f" {sorted(busy)[middle]:8.1f} ms of processor time"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--spans", type=int, nargs="+", default=[100_000, 1_000_000])
    options = parser.parse_args()
    with closing(SqliteTraceStore.open(options.path)) as store:
        for size in sorted(options.spans):
            fill(store, size)
            measure(store, size)


if __name__ == "__main__":
    main()
