"""Latency of reading on SQLite and on PostgreSQL, in process, with the same spans.

Run: python -m bench.traces.engines FOLDER --spans 1000000 [--url postgresql://…]

FOLDER has the SQLite file, which is filled up to the number of spans. Without `--url`, the
benchmark starts a PostgreSQL server with its default settings, and FOLDER has its data. Both stores
get the same spans by the product's own ingest, or by `bench.traces.multiply`. Each query runs on
both engines alternately, after it has run often enough for prepared statements to have their plans.
The figures are medians of the processor time that one answer takes, without HTTP. The time of
PostgreSQL is that of this process and of the processes that serve its connections, so the server
must run on this machine. The time until the answer is written to the standard error.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from statistics import median

from bench.traces.figures import Figures, say
from bench.traces.fill import TRACE_SPANS, fill
from bench.traces.generator import LABELS, MODELS, NEEDLE
from bench.traces.query import COMMON
from tests.engines import postgres_server
from treadle.database import PostgresAddress
from treadle.traces.query import (
    Condition,
    Field,
    GroupBy,
    Grouping,
    Operator,
    Query,
    Rows,
    Sort,
    SortKey,
    any_of,
    parse_query,
)
from treadle.traces.store.trace_store import TraceStore

SQLITE, POSTGRES = "SQLite", "PostgreSQL"
REPEATS = 15
WARM_UPS = 11
"""PostgreSQL may keep the plan of a statement from its eleventh run on."""
SECONDS = 6.0
"""A query is not repeated for longer than this."""

Question = Callable[[TraceStore], object]


def questions(store: TraceStore) -> Mapping[str, Question]:
    """Return the queries by their names. `store` is one of the two stores."""
    model, label = next(iter(MODELS)), LABELS[0]
    newest = store.runs(limit=1).data[0]
    day = newest.start_us - 86_400_000_000
    recent = Query((Condition(Field.START, Operator.AT_LEAST, (day,)),))
    asked: dict[str, Question] = {
        "the newest 50 spans": _spans(""),
        "the newest 50 runs": partial(TraceStore.runs, limit=50),
        "the newest 50 threads": partial(TraceStore.threads, limit=50),
        "the slowest 50 spans": partial(TraceStore.spans, sort=Sort(SortKey.DURATION), limit=50),
        "spans of a user": _spans("user:*7"),
        "spans with a label": _spans(f"label:{label}"),
        "spans of a model": _spans(f"model:{model}"),
        "failed spans": _spans("status:error"),
        "failed spans of a model": _spans(f"status:error model:{model}"),
        "spans with a value of the metadata": _spans("metadata.tenant:*"),
        "spans of a week that took 5 s": _spans("duration>5s"),
        "runs with a label": lambda s: s.runs(parse_query(f"label:{label}", now_us=0)),
        "runs with an error": lambda s: s.runs(parse_query("has:error", now_us=0)),
        f"search a common word ({COMMON})": _search(COMMON),
        f"search a rare word ({NEEDLE})": _search(NEEDLE),
        "search a common phrase": _search('"of the"'),
        "search a rare phrase": _search(f'"{NEEDLE} of"'),
        "search a common prefix": _search("inv*"),
        "search a rare prefix": _search("zirc*"),
        "search two words": _search("warehouse zone"),
        "search a common word in failed spans": _search(f"{COMMON} status:error"),
        "search a word of no text": _search("nowhereatall"),
        "facets of spans": partial(TraceStore.facets, rows=Rows.SPANS),
        "facets of runs": partial(TraceStore.facets, rows=Rows.RUNS),
        "facets of failed spans": lambda s: s.facets(
            Rows.SPANS, parse_query("status:error", now_us=0)
        ),
        "summary of all spans": TraceStore.summary,
        "summary of a day": partial(TraceStore.summary, query=recent),
        "summary of a model": lambda s: s.summary(parse_query(f"model:{model}", now_us=0)),
        "totals of all runs": TraceStore.run_totals,
        f"skeleton of {TRACE_SPANS} spans": partial(TraceStore.skeleton, trace_id=newest.trace_id),
        "one trace with its contents": partial(TraceStore.trace, reference=newest.trace_id),
        "statistics of tools": TraceStore.tool_stats,
    }
    for by in (GroupBy.MODEL, GroupBy.TIME, GroupBy.LABEL, GroupBy.THREAD, GroupBy.USER):
        for what, query in (("", Query()), (", a day", recent), (", failed", _failed())):
            for figures in (False, True):
                named = f"groups by {by.value}{what}{' with figures' * figures}"
                asked[named] = _groups(by, query, figures=figures)
    return asked


def _failed() -> Query:
    return Query((any_of(Field.STATUS, ["error"]),))


def _spans(text: str) -> Question:
    return partial(TraceStore.spans, query=parse_query(text, now_us=0), limit=50)


def _search(text: str) -> Question:
    return partial(TraceStore.search, query=parse_query(text, now_us=0), limit=50)


def _groups(by: Grouping, query: Query, *, figures: bool) -> Question:
    return lambda store: store.groups(by, query, figures=figures, limit=100)


def measure(stores: Mapping[str, TraceStore], figures: Figures) -> None:
    """Add the median latency of each query to `figures`. The engines answer alternately."""
    for what, ask in questions(stores[SQLITE]).items():
        took: dict[str, list[float]] = {name: [] for name in stores}
        waited: dict[str, list[float]] = {name: [] for name in stores}
        begin = time.monotonic()
        for _ in range(WARM_UPS):
            for store in stores.values():
                ask(store)
            if time.monotonic() - begin > SECONDS:
                break
        end = time.monotonic() + SECONDS
        while len(took[SQLITE]) < REPEATS and (len(took[SQLITE]) < 3 or time.monotonic() < end):
            for name, store in stores.items():
                begin, used = time.perf_counter(), _processor_seconds()
                ask(store)
                waited[name].append(1e3 * (time.perf_counter() - begin))
                took[name].append(1e3 * (_processor_seconds() - used))
        for name, values in took.items():
            figures.add(what, name, median(values))
        shown = (f"{median(values):9.2f}" for each in (took, waited) for values in each.values())
        say(f"{what:<45} processor and waited ms: {' '.join(shown)}")


def _processor_seconds() -> float:
    """Return the processor time of this process and of the server processes of its connections."""
    used = time.process_time()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has ended
            if (process / "cmdline").read_bytes().startswith(b"postgres: treadle "):
                used += int((process / "schedstat").read_text().split()[0]) / 1e9
    return used


@contextmanager
def _url(folder: Path, given: str | None) -> Iterator[str]:
    """Yield the URL of a database. The database in `folder` is created if it does not exist."""
    if given is not None:
        yield given
        return
    folder.chmod(0o755)  # PostgreSQL runs as another user
    with postgres_server(folder) as server:
        named = folder / "database"
        if not named.exists():
            named.write_text(server.new_database().rpartition("/")[2])
        yield server.url(named.read_text(), user="treadle")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--url", help="a PostgreSQL database")
    options = parser.parse_args()
    figures = Figures((SQLITE, POSTGRES))
    with _url(options.folder, options.url) as url:
        stores = options.folder / "stores"  # the stores make their folder private
        addresses = {
            SQLITE: stores / "traces.db",
            POSTGRES: PostgresAddress(url, "default", "traces", stores),
        }
        for address in addresses.values():
            fill(address, options.spans)
        with (
            closing(TraceStore.open(addresses[SQLITE], read_seconds=60)) as lite,
            closing(TraceStore.open(addresses[POSTGRES], read_seconds=60)) as postgres,
        ):
            measure({SQLITE: lite, POSTGRES: postgres}, figures)
    print(figures.markdown(f"ms of processor time with {options.spans:,} spans"))


if __name__ == "__main__":
    main()
