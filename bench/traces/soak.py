"""Five minutes of live traffic: does the server's memory stay flat?

Run: python -m bench.traces.soak [--seconds S] [--rate SPANS_A_SECOND]

Treadle is fed at a steady rate while a page reads the newest spans and searches once a second.
Prints the memory of its process every tenth of the time.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.processes import family, processor, resident
from bench.traces.figures import say
from bench.traces.generator import Generator
from bench.traces.ingest import BATCH, ROOT, TRACE_SPANS
from bench.traces.load import write_batches
from bench.traces.otlp_bytes import batches
from bench.traces.servers import Running, Treadle, ask, running
from bench.traces.wire import Connection

MEASURES = 10


def soak(seconds: float, rate: int) -> str:
    """The table."""
    spans = int(seconds * rate)
    lines = ["| minutes | spans kept | MB of memory | processor s |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder, running(Treadle(), Path(folder) / "store") as at:
        say(f"soak: making {spans:,} spans")
        bodies = Path(folder) / "batches"
        made = Generator(seed=13).traces(spans // TRACE_SPANS, spans=TRACE_SPANS)
        write_batches(bodies, batches(made, BATCH))
        words = [sys.executable, "-m", "bench.traces.load", str(at.port), str(bodies)]
        words += ["--connections", "2", "--pace", str(BATCH / rate)]
        with subprocess.Popen(
            words, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL
        ) as load:
            begun = time.monotonic()
            for number in range(1, MEASURES + 1):
                asyncio.run(_look(at, begun + number * seconds / MEASURES))
                lines.append(_measure(at, time.monotonic() - begun))
                say(lines[-1])
            if load.wait(60):
                raise RuntimeError("the load failed")
        kept = Treadle().count(at.folder)
        if kept != spans:
            raise RuntimeError(f"{kept} of {spans} spans were kept")
    return "\n".join(lines)


def _measure(at: Running, seconds: float) -> str:
    kept = Treadle().count(at.folder)
    memory = sum(map(resident, family(at.pid)))
    return f"| {seconds / 60:.1f} | {kept:,} | {memory:.0f} | {processor(at.pid):.0f} |"


async def _look(at: Running, until: float) -> None:
    """Look at the newest spans and search, once a second."""
    connection, server = await Connection.open(at.port), Treadle()
    while time.monotonic() < until:
        for asked in (server.listed(), server.found("invoice")):
            await ask(connection, asked, 30)
        await asyncio.sleep(1)
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--rate", type=int, default=500)
    options = parser.parse_args()
    print(soak(options.seconds, options.rate))


if __name__ == "__main__":
    main()
