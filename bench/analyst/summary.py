"""Time and memory of `fetch_spans_summary` through the tool's own interface, at several sizes.

Run alone, it measures one store and prints a line of JSON: python -m bench.analyst.summary PATH
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from bench.traces.fill import fill
from treadle.clock import SystemClock
from treadle.diagnosis.findings import examiners
from treadle.events import EventBus
from treadle.events.types import ToolCallCompleted
from treadle.toolbox.traces import trace_tools
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor
from treadle.traces.store.trace_store import TraceStore

SIZES = (100, 10_000, 300_000)
CALLS = 9
QUESTIONS = {
    "all since a moment": {"since": "2026-10-01T00:00:00Z"},
    "of one label": {"labels": ["production"]},
}
ROOT = Path(__file__).resolve().parent.parent.parent
_MB = 1e6 if sys.platform == "darwin" else 1e3


def measure(sizes: Sequence[int] = SIZES) -> str:
    """A row for each size and question; each size runs in a separate process."""
    lines = [
        (
            "| fetch_spans_summary | spans | first call, ms | median of later, ms | processor, ms"
            " | answer, characters | peak MB of the process |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.db"
            print(f"analyst: a store of {size:,} spans", file=sys.stderr)
            _fill(path, size)
            words = [sys.executable, "-m", "bench.analyst.summary", str(path)]
            told = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
            for row in json.loads(told.stdout):
                cells = " | ".join(f"{value:,.0f}" for value in row["figures"])
                lines.append(f"| {row['question']} | {row['spans']:,} | {cells} |")
    return "\n".join(lines)


def _fill(path: Path, size: int) -> None:
    """A store with about that many spans, all of which the detectors have examined."""
    if size >= _CHUNKED:
        fill(path, size)
    with closing(TraceStore.open(path)) as store:
        if size < _CHUNKED:
            _fill_small(store, size)
        while store.examine(examiners(), most=20_000):
            print("analyst: detectors look at new spans", file=sys.stderr)


_CHUNKED = 10_000
"""From this size on, stores are filled like those of the trace benchmarks."""


def _fill_small(store: TraceStore, size: int) -> None:
    from bench.traces.fill import chunk
    from treadle.spans.otlp import decode_protobuf
    from treadle.spans.vocabularies.mapper import map_spans

    left = size
    for batch in chunk(0):
        spans = map_spans(decode_protobuf(batch.body)).spans[:left]
        store.write(spans).result()
        left -= len(spans)
        if not left:
            return


async def _subject(path: Path) -> list[dict[str, object]]:
    """The figures of one store."""
    rows: list[dict[str, object]] = []
    with closing(TraceStore.open(path)) as store:
        bus, registry = EventBus(), Registry(trace_tools(store))
        async with ToolExecutor(bus, registry, ROOT, clock=SystemClock()) as executor:
            for question, arguments in QUESTIONS.items():
                clocks, busy, content = list[float](), list[float](), ""
                for _ in range(CALLS):
                    began, worked = time.perf_counter(), time.process_time()
                    name = "fetch_spans_summary"
                    outcome = await executor.call(name, json.dumps(arguments))
                    clocks.append(1e3 * (time.perf_counter() - began))
                    busy.append(1e3 * (time.process_time() - worked))
                    assert isinstance(outcome, ToolCallCompleted), outcome
                    content = outcome.content
                figures = [
                    clocks[0], statistics.median(clocks[1:]), statistics.median(busy[1:]),
                    len(content), _peak_mb(),
                ]  # fmt: skip
                spans = json.loads(content)["summary"]["total_spans"]
                rows.append({"question": question, "spans": spans, "figures": figures})
    return rows


def _peak_mb() -> float:
    """The peak memory of this process; of itself alone if /proc reports it."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MB
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    print(json.dumps(asyncio.run(_subject(parser.parse_args().path))))


if __name__ == "__main__":
    main()
