"""What an hour of live traffic leaves in the memory of the page, at a higher rate.

Run: python -m bench.page.memory [--spans N] [--rate PER_SECOND] [--screen PATH]

By default an hour of ten spans a second, sent at a hundred a second, in traces of forty, to a
screen that shows them live. Counted is what is left after the browser's garbage collection: bytes
of JavaScript, nodes of the document, listeners; and the server's memory.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx2
from playwright.sync_api import CDPSession

from bench.page.trace import serving
from bench.processes import resident
from bench.traces.generator import Generator
from bench.traces.otlp_bytes import batches
from tests.page.browsing import WIDE, browsing, find_browser

SPANS, RATE, TRACE = 36_000, 100, 40
SAMPLES = 10


@dataclass(frozen=True, slots=True)
class Left:
    """Memory after that many spans."""

    spans: int
    heap_mb: float
    nodes: int
    listeners: int
    server_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=SPANS)
    parser.add_argument("--rate", type=int, default=RATE)
    parser.add_argument("--screen", default="/traces")
    asked = parser.parse_args()
    executable = find_browser()
    if executable is None:
        sys.exit("There is no Chromium: run `scripts/browser.sh`.")
    print("| spans | page, MB | nodes | listeners | server, MB |")
    print("|---|---|---|---|---|")
    with serving() as (address, server), browsing(executable) as browser:
        width, height = WIDE
        page = browser.new_page(viewport={"width": width, "height": height})
        debugger = page.context.new_cdp_session(page)
        with httpx2.Client(base_url=address, timeout=120) as http:
            for sent in _sent(http, asked.spans, asked.rate):
                if sent == TRACE:
                    page.goto(f"{address}{asked.screen}")
                if sent % (asked.spans // SAMPLES) < TRACE:
                    page.wait_for_timeout(2_000)
                    left = _left(debugger, sent, resident(server))
                    print(
                        f"| {left.spans:,} | {left.heap_mb:.1f} | {left.nodes:,} | "
                        f"{left.listeners:,} | {left.server_mb:.0f} |",
                        flush=True,
                    )
                page.wait_for_timeout(1)  # lets Playwright receive the browser's messages


def _sent(http: httpx2.Client, spans: int, rate: int) -> Iterator[int]:
    """Send trace after trace at that rate; returns the number of spans sent so far."""
    generator = Generator(spans, text_bytes=1_000)
    began = time.monotonic()
    for sent in range(TRACE, spans + 1, TRACE):
        for batch in batches([generator.trace(TRACE)], TRACE):
            headers = {"Content-Type": "application/x-protobuf"}
            http.post("/v1/traces", content=batch.body, headers=headers).raise_for_status()
        yield sent
        time.sleep(max(0.0, began + sent / rate - time.monotonic()))


def _left(debugger: CDPSession, spans: int, server_mb: float) -> Left:
    debugger.send("HeapProfiler.collectGarbage")
    debugger.send("Performance.enable")
    told = debugger.send("Performance.getMetrics")["metrics"]
    figures = {each["name"]: each["value"] for each in told}
    return Left(
        spans,
        figures["JSHeapUsedSize"] / 1_000_000,
        int(figures["Nodes"]),
        int(figures["JSEventListeners"]),
        server_mb,
    )


if __name__ == "__main__":
    main()
