"""Fills a store of spans through the product's own ingest, without HTTP.

Run: python -m bench.traces.fill PATH N

PATH is the SQLite file. It ends up with at least N spans, in traces of 50 spans. Existing spans
count, so a second run with a larger N adds the missing ones. Another process generates the batches,
so that both cores are used.
"""

import argparse
import multiprocessing
from collections import deque
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

from bench.traces.figures import say
from bench.traces.generator import BEGIN_NS, SECOND, Generator
from bench.traces.otlp_bytes import Batch, batches
from treadle.database import StoreAddress
from treadle.spans.ingest import ingest
from treadle.spans.otlp import decode_protobuf
from treadle.traces.store.trace_store import TraceStore

TRACE_SPANS = 50
CHUNK = 10_000
"""Spans of one seed; the same chunk always has the same spans."""

GAP_NS = 120 * SECOND
"""Between two traces: 20,000 of them, a million spans, spread over four weeks."""

USERS = 2_000
_WAITING = 4
"""Concurrent writes."""


def fill(address: StoreAddress, spans: int) -> int:
    """Add chunks until there are at least `spans`; returns how many there are."""
    with closing(TraceStore.open(address)) as store:
        with store.reader() as connection:
            (there,) = connection.execute("SELECT coalesce(sum(spans), 0) FROM threads").fetchone()
        chunks = range(there // CHUNK, -(-spans // CHUNK))
        waiting: deque[Future[None]] = deque()
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            for number, made in enumerate(pool.imap(chunk, chunks), 1):
                for batch in made:
                    _, stored = ingest(batch.body, decode_protobuf, store)
                    if stored is not None:
                        waiting.append(stored)
                    while len(waiting) > _WAITING:
                        waiting.popleft().result()
                if number % 10 == 0:
                    say(f"fill: {(chunks.start + number) * CHUNK:,} spans")
        for write in waiting:
            write.result()
    return chunks.stop * CHUNK


def chunk(number: int) -> list[Batch]:
    """The batches of one chunk."""
    traces = CHUNK // TRACE_SPANS
    begin = BEGIN_NS + number * traces * GAP_NS
    made = Generator(seed=number, first_thread=number * traces, users=USERS).traces(
        traces, spans=TRACE_SPANS, begin_ns=begin, gap_ns=GAP_NS
    )
    return list(batches(made, 500))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("spans", type=int)
    options = parser.parse_args()
    say(f"{fill(options.path, options.spans):,} spans in {options.path}")


if __name__ == "__main__":
    main()
