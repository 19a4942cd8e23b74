"""Latency of a page of results: lists, search and groups, over HTTP, in a full store.

`fill` fills Treadle's store. The others are fed over OTLP for a fixed time, since hundreds of
thousands of spans would take them hours; the table states how many they have then.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.traces.figures import NOT, Figures, say
from bench.traces.generator import NEEDLE, Generator
from bench.traces.ingest import BATCH, CONNECTIONS, FEWEST, ROOT, TRACE_SPANS, send
from bench.traces.load import write_batches
from bench.traces.otlp_bytes import batches
from bench.traces.servers import Running, Server, Treadle, ask, running
from bench.traces.wire import Answer, Connection, share

COMMON = "invoice"
"""A word that is in most texts."""
ANSWER_SECONDS = 60.0
REPEATS = 30
SECONDS_EACH = 10.0
"""Seconds after which a query is no longer repeated."""


def measure(servers: Sequence[Server], *, sizes: Sequence[int], seconds: float) -> str:
    """A column for Treadle at each size, and one for each other server at its size."""
    columns: dict[str, tuple[Server, int]] = {}
    for server in servers:
        for size in sizes if isinstance(server, Treadle) else (0,):
            columns[f"{server.name}, {size:,} spans" if size else server.name] = server, size
    ours = sum(bool(size) for _, size in columns.values())
    figures = Figures(tuple(columns), max(1, ours))
    with tempfile.TemporaryDirectory() as folder:
        for column, (server, size) in columns.items():
            store = Path(folder) / type(server).__name__
            if size:
                _fill(store / server.database, size)
            with running(server, store) as at:
                if not size:
                    _feed(server, at, Path(folder) / "bodies", seconds)
                _measured(figures, column, server, at)
    return figures.markdown("pages of results, ms")


def _fill(path: Path, size: int) -> None:
    words = [sys.executable, "-m", "bench.traces.fill", str(path), str(size)]
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(words, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)


def _feed(server: Server, at: Running, path: Path, seconds: float) -> None:
    """Send spans for about that long."""
    generator = Generator(seed=11)
    end, count, there = time.monotonic() + seconds, BATCH, 0
    while time.monotonic() < end or there < FEWEST:
        traces = generator.traces(count // TRACE_SPANS, spans=TRACE_SPANS)
        write_batches(path, batches(traces, BATCH))
        load = send(server, at, path, connections=CONNECTIONS)
        there += load.spans
        count = max(BATCH, int(load.rate * min(10.0, end - time.monotonic())) // BATCH * BATCH)
    say(f"query: {server.name} has {server.count(at.folder):,} spans")


def _measured(figures: Figures, column: str, server: Server, at: Running) -> None:
    figures.say("spans in the store", column, f"{server.count(at.folder):,}")
    asked: Mapping[str, bytes | None] = {
        "the newest fifty": server.listed(),
        "failed calls of one model": server.filtered(),
        f"search a rare word ({NEEDLE})": server.found(NEEDLE),
        f"search a common word ({COMMON})": server.found(COMMON),
        "groups by model": server.by_model(),
        "groups by hour": server.by_hour(),
    }
    for what, request in asked.items():
        if request is None:
            figures.say(f"{what}: p50", column, NOT)
            continue
        try:
            before = at.processor
            times, last = asyncio.run(_times(at.port, request))
            busy = (at.processor - before) / (len(times) + 1)
        except (OSError, RuntimeError, TimeoutError) as error:
            say(f"query: {column} fails at {what}: {error!r}")
            figures.say(f"{what}: p50", column, "fails")
            continue
        for part in (0.5, 0.95):
            figures.add(f"{what}: p{100 * part:g}", column, 1e3 * share(times, part))
        figures.add(f"{what}: processor ms", column, 1e3 * busy)
        if what.startswith("search"):
            hits = server.hits_in(last.json())
            figures.say(f"{what}: found of at most 50", column, str(hits))
        say(f"query: {column}, {what}: {1e3 * share(times, 0.5):,.1f} ms, {last.size:,} bytes")
    figures.say("peak MB of memory", column, f"{at.peak_mb:,.0f}")
    figures.say("MB on disk", column, f"{at.disk_mb:,.0f}")


async def _times(port: int, request: bytes) -> tuple[list[float], Answer]:
    """Seconds of each answer after a warm-up, and the last answer."""
    connection = await Connection.open(port)
    answer = await ask(connection, request, ANSWER_SECONDS)
    times, end = list[float](), time.monotonic() + SECONDS_EACH
    while len(times) < REPEATS and (not times or time.monotonic() < end):
        answer = await ask(connection, request, ANSWER_SECONDS)
        times.append(answer.last)
    connection.close()
    return times, answer
