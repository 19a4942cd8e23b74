"""Durable spans a second of each server, from the same prepared batches.

A load process sends. The time ends when another process can count all spans in the server's file,
since a server may acknowledge spans that it has not stored yet.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.traces.figures import Figures, say
from bench.traces.generator import Generator
from bench.traces.load import write_batches
from bench.traces.otlp_bytes import batches
from bench.traces.servers import Running, Server, open_trace, running
from bench.traces.wire import share

ROOT = Path(__file__).resolve().parents[2]
BATCH = 500
TRACE_SPANS = 50
BIG = 10_000
DEEP = 3_000
CONNECTIONS = 4
FEWEST = 4 * BATCH
"""The minimum number of sent spans, however long they take."""

WAIT_SECONDS = 200.0
"""How long spans may take to become readable after the last acknowledgement."""

OPEN_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Batches:
    """The files of batches that all servers get."""

    folder: Path
    big_id: str
    deep_id: str

    @property
    def warming(self) -> Path:
        return self.folder / "warming"

    @property
    def one(self) -> Path:
        return self.folder / "one"

    @property
    def many(self) -> Path:
        return self.folder / "many"

    @property
    def big(self) -> Path:
        return self.folder / "big"

    @property
    def deep(self) -> Path:
        return self.folder / "deep"


@dataclass(frozen=True, slots=True)
class Load:
    """The result of sending a file of batches."""

    spans: int
    seconds: float
    """From the first byte sent until all spans were readable."""
    latencies: Sequence[float]
    retries: int
    processor: float
    """Processor seconds of the server during that time."""
    missing: int = 0
    """Acknowledged spans that were not readable at the end of the wait."""

    @property
    def rate(self) -> float:
        return self.spans / self.seconds


def make_batches(folder: Path, spans: int) -> Batches:
    """Write the batches: `spans` for one exporter, as many for several, and two odd traces."""
    generator = Generator(seed=7)
    big, deep = generator.trace(BIG, thread="big"), generator.chain(DEEP)
    made = Batches(folder, big[0].trace_id.hex(), deep[0].trace_id.hex())
    for path, traces in (
        (made.warming, generator.traces(2 * BATCH // TRACE_SPANS, spans=TRACE_SPANS)),
        (made.one, generator.traces(spans // TRACE_SPANS, spans=TRACE_SPANS)),
        (made.many, generator.traces(spans // TRACE_SPANS, spans=TRACE_SPANS)),
        (made.big, iter([big])),
        (made.deep, iter([deep])),
    ):
        write_batches(path, batches(traces, BATCH))
    return made


def send(
    server: Server, at: Running, path: Path, *, connections: int, most: int = 1_000_000
) -> Load:
    """Send at most that many spans of a file and wait until all acknowledged ones are readable."""
    before, busy = server.count(at.folder), at.processor
    words = [sys.executable, "-m", "bench.traces.load", str(at.port), str(path)]
    words += ["--connections", str(connections), "--spans", str(most)]
    for name, value in server.headers.items():
        words += ["--header", f"{name}={value}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE)
    told = json.loads(done.stdout)
    acknowledged, deadline = told["spans"], time.monotonic() + WAIT_SECONDS
    while (kept := server.count(at.folder) - before) < acknowledged:
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    if kept > acknowledged:
        raise RuntimeError(f"{server.name} kept {kept} for {acknowledged} spans")
    seconds, busy = time.time() - told["started_at"], at.processor - busy
    return Load(kept, seconds, told["latencies"], told["retries"], busy, acknowledged - kept)


def measure(servers: Sequence[Server], *, spans: int, seconds: float) -> str:
    """The table. A server that needs more than `seconds` for `spans` gets fewer of them."""
    figures = Figures([server.name for server in servers])
    with tempfile.TemporaryDirectory() as folder:
        say(f"ingest: making batches of {2 * spans + BIG + DEEP:,} spans")
        made = make_batches(Path(folder), spans)
        for server in servers:
            with running(server, Path(folder) / "stores" / type(server).__name__) as at:
                _measured(figures, server, at, made, seconds)
    return figures.markdown(f"ingest, batches of {BATCH} spans with 2 KB of text")


def _measured(figures: Figures, server: Server, at: Running, made: Batches, seconds: float) -> None:
    name = server.name
    first = send(server, at, made.warming, connections=1)
    enough = max(FEWEST, int(first.rate * seconds))
    for who, path, connections in (
        ("one exporter", made.one, 1), (f"{CONNECTIONS} exporters", made.many, CONNECTIONS),
    ):  # fmt: skip
        load = send(server, at, path, connections=connections, most=enough)
        say(f"ingest: {name}, {who}: {load.rate:,.0f} spans/s")
        figures.add(f"durable spans/s, {who}", name, load.rate, more_is_better=True)
        for part in (0.5, 0.99):
            label = f"acknowledgement p{100 * part:g} ms, {who}"
            figures.add(label, name, 1e3 * share(load.latencies, part))
        figures.add(f"processor µs a span, {who}", name, 1e6 * load.processor / load.spans)
    for what, path, count, trace_id in (
        (f"a chain {DEEP:,} deep", made.deep, DEEP, made.deep_id),
        (f"a trace of {BIG:,} spans", made.big, BIG, made.big_id),
    ):
        load = send(server, at, path, connections=1)
        say(f"ingest: {name}, {what}: {load.rate:,.0f} spans/s")
        figures.add(f"durable spans/s, {what}", name, load.rate, more_is_better=True)
        if load.missing:
            figures.say(f"open {what}: ms", name, f"{load.missing:,} missing")
        else:
            _open(figures, server, at, what, trace_id, count)
    figures.add("peak MB of memory", name, at.peak_mb)
    kept = server.count(at.folder)
    figures.add("KB on disk for a span", name, 1e3 * at.disk_mb / kept)


def _open(
    figures: Figures, server: Server, at: Running, what: str, trace_id: str, spans: int
) -> None:
    """Time to load the data from which a page draws a trace; the best of three."""
    try:
        best = min(
            (asyncio.run(open_trace(server, at.port, trace_id, OPEN_SECONDS)) for _ in range(3)),
            key=lambda opened: opened.seconds,
        )
    except (OSError, RuntimeError, TimeoutError) as error:
        say(f"ingest: {server.name} cannot open {what}: {error!r}")
        figures.say(f"open {what}: ms", server.name, "fails")
        return
    if best.spans != spans:
        raise RuntimeError(f"{server.name} opened {best.spans} of {spans} spans")
    figures.add(f"open {what}: ms", server.name, 1e3 * best.seconds)
    figures.add(f"open {what}: KB on the wire", server.name, best.size / 1e3)
