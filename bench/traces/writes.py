"""Cost of writing spans to SQLite and to PostgreSQL through `TraceStore`, without HTTP.

Run: python -m bench.traces.writes FOLDER [--spans 6000] [--sizes 20 512] [--writers 1 2]
     [--rounds 3] [--ahead 0]

In each round, every engine gets the same spans of 2 KB, one engine after the other. The spans are
decoded before the measurement. Each writer is a process with one request at a time, or with
`--ahead` further requests that wait. The table has medians of the rounds: the processor time of the
writers (client), of their connections in PostgreSQL (server), and of its other processes; the rate
by the clock; the time of an acknowledgement; the round trips and the write-ahead log of PostgreSQL.
PostgreSQL waits for the disk, as SQLite does.
"""

import argparse
import multiprocessing
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median

import psycopg

from bench.traces.figures import Figures, say
from bench.traces.fill import GAP_NS, TRACE_SPANS
from bench.traces.generator import BEGIN_NS, Generator
from bench.traces.otlp_bytes import batches
from tests.engines import PostgresServer, postgres_server
from treadle.database import PostgresAddress, StoreAddress
from treadle.spans.otlp import decode_protobuf
from treadle.spans.redaction import redact_spans
from treadle.spans.span import Span
from treadle.spans.vocabularies.mapper import map_spans
from treadle.traces.store.trace_store import TraceStore

SQLITE, POSTGRES = "SQLite", "PostgreSQL"
_CONNECTION = "treadle"
"""The name of the user in the title of a process that serves a connection."""


@dataclass(frozen=True, slots=True)
class Task:
    """The spans that one writer writes, and how it writes them."""

    address: StoreAddress
    part: int
    spans: int
    size: int
    ahead: int


@dataclass(frozen=True, slots=True)
class Written:
    """The result of one writer."""

    processor: float
    seconds: float
    acknowledged: Sequence[float]
    """The seconds from each request until its acknowledgement."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a server has used since its start."""

    connections: float = 0.0
    """Seconds of the processor that its connections took."""
    others: float = 0.0
    waits: int = 0
    """How often a connection waited, for the next statement or for the disk."""
    log_bytes: int = 0

    def __sub__(self, other: "Use") -> "Use":
        return Use(
            self.connections - other.connections,
            self.others - other.others,
            self.waits - other.waits,
            self.log_bytes - other.log_bytes,
        )


def spans_of(task: Task) -> list[Span]:
    """Return the spans of a task. The same part always has the same spans."""
    traces = -(-task.spans // TRACE_SPANS)
    begin = BEGIN_NS + task.part * traces * GAP_NS
    made = Generator(seed=task.part, first_thread=task.part * traces).traces(
        traces, begin_ns=begin, gap_ns=GAP_NS
    )
    spans: list[Span] = []
    for batch in batches(made, 500):
        mapped = map_spans(decode_protobuf(batch.body))
        spans += redact_spans(mapped.spans)[0]
    return spans[: task.spans]


def write(task: Task, barrier: Barrier, results: "multiprocessing.Queue[Written]") -> None:
    """Write the spans of a task, and put the result into the queue.

    The process passes the barrier before and after the measurement, and when it may end.
    """
    spans = spans_of(task)
    acknowledged: list[float] = []
    with closing(TraceStore.open(task.address)) as store:
        store.write(spans[:1]).result()  # starts the writer and its connection
        spans = spans[1:]
        barrier.wait()
        barrier.wait()
        waiting: deque[Future[None]] = deque()
        processor, began = time.process_time(), time.perf_counter()
        for start in range(0, len(spans), task.size):
            sent = time.perf_counter()
            stored = store.write(spans[start : start + task.size])
            stored.add_done_callback(partial(_note, acknowledged, sent))
            waiting.append(stored)
            while len(waiting) > task.ahead:
                waiting.popleft().result()
        for stored in waiting:
            stored.result()
        results.put(
            Written(time.process_time() - processor, time.perf_counter() - began, acknowledged)
        )
        barrier.wait()
        barrier.wait()


def _note(acknowledged: list[float], sent: float, _: Future[None]) -> None:
    acknowledged.append(time.perf_counter() - sent)


def server_use(server: PostgresServer) -> Use:
    """Return what the processes of the server have used."""
    connections = others = 0.0
    waits = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = process.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) != server.pid:
                continue
            seconds = int(process.joinpath("schedstat").read_text().split()[0]) / 1e9
            title = process.joinpath("cmdline").read_text()
            status = process.joinpath("status").read_text()
        except OSError:  # it has ended
            continue
        if f"postgres: {_CONNECTION} " in title:
            connections += seconds
            waits += int(status.partition("voluntary_ctxt_switches:")[2].split()[0])
        else:
            others += seconds
    with psycopg.connect(server.url()) as connection:
        row = connection.execute("SELECT pg_current_wal_lsn() - '0/0'").fetchone()
    assert row is not None
    return Use(connections, others, waits, int(row[0]))


def measure(tasks: Sequence[Task], server: PostgresServer | None) -> tuple[Sequence[Written], Use]:
    """Run the writers at the same time. Returns their results, and what the server used."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(tasks) + 1)
    results: multiprocessing.Queue[Written] = context.Queue()
    processes = [context.Process(target=write, args=(each, barrier, results)) for each in tasks]
    for process in processes:
        process.start()
    barrier.wait()
    before = server_use(server) if server else Use()
    barrier.wait()
    written = [results.get() for _ in tasks]
    barrier.wait()
    used = server_use(server) - before if server else Use()
    barrier.wait()
    for process in processes:
        process.join()
    return written, used


@contextmanager
def _addresses(folder: Path) -> Iterator[tuple[Mapping[str, StoreAddress], PostgresServer]]:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # PostgreSQL runs as another user
    with postgres_server(folder, durable=True) as server:
        postgres = PostgresAddress(server.new_database(), "default", "traces", folder)
        yield {SQLITE: folder / "traces.db", POSTGRES: postgres}, server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="an empty folder")
    parser.add_argument("--spans", type=int, default=6_000, help="spans of one writer in a round")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 512])
    parser.add_argument("--writers", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ahead", type=int, default=0)
    given = parser.parse_args()
    figures = Figures((SQLITE, POSTGRES))
    part = 0
    with _addresses(given.folder) as (addresses, server):
        for writers in given.writers:
            for size in given.sizes:
                every: dict[str, dict[str, list[float]]] = {name: {} for name in addresses}
                for _ in range(given.rounds):
                    for name, address in addresses.items():
                        tasks = [
                            Task(address, part + number, given.spans, size, given.ahead)
                            for number in range(writers)
                        ]
                        found = measure(tasks, server if name == POSTGRES else None)
                        for what, value in _values(*found, given.spans, size).items():
                            every[name].setdefault(what, []).append(value)
                    part += writers
                for name, rows in every.items():
                    for what, values in rows.items():
                        label = f"{writers} x {size}: {what}"
                        more = what == "spans/s"
                        figures.add(label, name, median(values), more_is_better=more)
                    say(f"{writers} writers, {size} spans, {name}: {rows}")
    print(figures.markdown("writers x spans of a request"))


def _values(written: Sequence[Written], used: Use, spans: int, size: int) -> Mapping[str, float]:
    count = spans * len(written)
    requests = len(written) * -(-spans // size)
    times = sorted(seconds for each in written for seconds in each.acknowledged)
    client = 1e6 * sum(each.processor for each in written) / count
    values = {
        "client µs a span": client,
        "client and connection µs a span": client + 1e6 * used.connections / count,
        "spans/s": count / max(each.seconds for each in written),
        "acknowledgement p50 ms": 1e3 * times[len(times) // 2],
        "acknowledgement p99 ms": 1e3 * times[len(times) * 99 // 100],
    }
    if used.waits:
        values["connection µs a span"] = 1e6 * used.connections / count
        values["other processes µs a span"] = 1e6 * used.others / count
        values["waits of the connection a request"] = used.waits / requests
        values["log bytes a span"] = used.log_bytes / count
    return values


if __name__ == "__main__":
    main()
