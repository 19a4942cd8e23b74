"""The time until a span is visible in the page's list, after the exporter got its answer.

Run: python -m bench.page.live [--spans N] [--address URL]

Spans are sent one by one over OTLP to a separate `treadle serve`, at random moments, while the list
of spans is open in Chromium at its top and no row is active: once without other traffic, once while
another exporter sends ten spans a second. The measured time is that from the answer to the exporter
until the frame in which the row is painted, by the one clock of the machine.
"""

import argparse
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import httpx2
from playwright.sync_api import Page

from tests.page.browsing import WIDE, browsing, find_browser
from tests.page.served import serving
from tests.server.exports import binary, export, span

OTHERS_A_SECOND = 10
_PATIENCE_SECONDS = 10
_HEADERS = {"Content-Type": "application/x-protobuf"}
_WATCH = """
() => {
  window.paintedAt = {};
  const note = () => {
    for (const row of document.querySelectorAll('[role=grid] [role=row]')) {
      const name = row.textContent.match(/live-\\d+-/)?.[0];
      if (!name || name in window.paintedAt) continue;
      window.paintedAt[name] = null;
      requestAnimationFrame(() => requestAnimationFrame(() => {
        window.paintedAt[name] = performance.timeOrigin + performance.now();
      }));
    }
  };
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true });
}
"""
"""The second frame begins when the first is painted, so the figure is slightly too long."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=20)
    parser.add_argument("--address", help="of a server that runs, with the page built")
    asked = parser.parse_args()
    executable = find_browser()
    if executable is None:
        sys.exit("There is no Chromium: run `scripts/browser.sh`.")
    with _address(asked.address) as address, browsing(executable) as browser:
        width, height = WIDE
        page = browser.new_page(viewport={"width": width, "height": height})
        with httpx2.Client(base_url=address, timeout=60) as http:
            _send(http, "before", 1)
            page.goto(f"{address}/traces")
            page.wait_for_selector("[role=grid] [role=row] a")
            page.mouse.move(5, 5)
            page.evaluate(_WATCH)
            quiet = _measured(page, http, asked.spans, 0)
            with _others(address):
                busy = _measured(page, http, asked.spans, asked.spans)
    print(_table(quiet, busy))


def _measured(page: Page, http: httpx2.Client, count: int, first: int) -> Sequence[float]:
    """Milliseconds for each span."""
    chance = random.Random(first)
    return [_seen_after(page, http, first + number, chance) for number in range(count)]


def _seen_after(page: Page, http: httpx2.Client, number: int, chance: random.Random) -> float:
    page.wait_for_timeout(300 + 1_200 * chance.random())
    name = f"live-{number}-"
    _send(http, name, 1_000 + number)
    taken = time.time() * 1_000
    until = time.monotonic() + _PATIENCE_SECONDS
    while (painted := page.evaluate("name => window.paintedAt[name] ?? null", name)) is None:
        if time.monotonic() > until:
            sys.exit(f"{name} was not seen within {_PATIENCE_SECONDS} s.")
        page.wait_for_timeout(20)
    return float(painted) - taken


def _send(http: httpx2.Client, name: str, number: int) -> None:
    """A span that begins now, so that it is at the top."""
    now = time.time_ns()
    times = {"startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 1_000_000)}
    sent = span(number, trace=number, name=name, **times)
    http.post("/v1/traces", content=binary(export(sent)), headers=_HEADERS).raise_for_status()


@contextmanager
def _others(address: str) -> Iterator[None]:
    """Another exporter that sends at the same time."""
    ended = threading.Event()

    def send() -> None:
        with httpx2.Client(base_url=address, timeout=60) as http:
            number = 100_000
            while not ended.wait(1 / OTHERS_A_SECOND):
                number += 1
                _send(http, "other", number)

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield
    finally:
        ended.set()
        sending.join()


@contextmanager
def _address(given: str | None) -> Iterator[str]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as served:
        yield served.address


def _table(quiet: Sequence[float], busy: Sequence[float]) -> str:
    def row(what: str, times: Sequence[float]) -> str:
        over = sum(each > 500 for each in times)
        return f"| {what} | {len(times)} | {median(times):.0f} | {max(times):.0f} | {over} |"

    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    lines = (
        "| a span is seen after its acknowledgement | n | p50 (ms) | max (ms) | over 500 ms |",
        "|---|---|---|---|---|",
        row("in quiet", quiet),
        row(f"while {OTHERS_A_SECOND} others a second arrive", busy),
        f"| load of the machine while measured: {load} | | | | |",
    )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
