"""The speed of the page of a trace: until its rows are painted, and while it is scrolled.

Run: python -m bench.page.trace [--runs N] [--trace FILE] [--address URL --big ID --huge ID]

The traces come from `bench.traces.generator` and go to a separate `treadle serve`; with `--address`
those of a running server are used. Chromium records its own performance trace. Frames are the times
between two frames of the main thread; tasks are what blocked it, in wall and processor time. On a
busy machine, wall time includes other work.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx2
from playwright.sync_api import Browser, CDPSession, Page

from bench.traces.generator import Generator
from bench.traces.otlp_bytes import batches
from tests.page.browsing import WIDE, browsing, find_browser

BIG, HUGE = 10_000, 50_000
TEXT_BYTES = 300
AT_ONCE = 2_000
SCROLLED_PX = 60_000
SPEED_PX = 6_000
"""Pixels a second: as fast as a person turns a wheel."""

_CATEGORIES = ["devtools.timeline", "toplevel", "disabled-by-default-devtools.timeline"]
_WATCH = """
(() => {
  const look = () => {
    if (!document.querySelector('[role=treegrid] [data-place]')) return requestAnimationFrame(look);
    requestAnimationFrame(() => { window.paintedAt = performance.now(); });
  };
  requestAnimationFrame(look);
})()
"""
_FRAMES = """
() => {
  window.frames_ = [];
  let before = performance.now();
  const note = now => { window.frames_.push(now - before); before = now;
    window.following = requestAnimationFrame(note); };
  window.following = requestAnimationFrame(now => { before = now; note(now); });
}
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and the ids of its two traces."""

    address: str
    big: str
    huge: str


@dataclass(frozen=True, slots=True)
class Scrolled:
    """Milliseconds: between frames, and the longest task by the clock and by the processor."""

    frames: Sequence[float]
    longest_task: float
    longest_work: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--trace", type=Path, help="where the performance trace is written")
    parser.add_argument("--address")
    parser.add_argument("--big")
    parser.add_argument("--huge")
    asked = parser.parse_args()
    executable = find_browser()
    if executable is None:
        sys.exit("There is no Chromium: run `scripts/browser.sh`.")
    given = Target(asked.address, asked.big, asked.huge) if asked.address else None
    with _target(given) as target, browsing(executable) as browser:
        painted = [_painted(browser, target) for _ in range(asked.runs)]
        scrolled = [_scrolled(browser, target, asked.trace) for _ in range(asked.runs)]
    print(_table(painted, scrolled))


def _table(painted: Sequence[float], scrolled: Sequence[Scrolled]) -> str:
    frames = sorted(frame for run in scrolled for frame in run.frames)
    slow = sum(frame > 50 for frame in frames)
    rows = {
        f"{BIG:,} spans: rows painted after navigation, median (ms)": f"{median(painted):,.0f}",
        f"{BIG:,} spans: the slowest of {len(painted)} (ms)": f"{max(painted):,.0f}",
        f"{HUGE:,} spans, scrolled: frames": f"{len(frames):,}",
        f"{HUGE:,} spans, scrolled: median frame (ms)": f"{median(frames):.1f}",
        f"{HUGE:,} spans, scrolled: 99th of 100 frames (ms)": f"{_at(frames, 0.99):.1f}",
        f"{HUGE:,} spans, scrolled: longest frame (ms)": f"{frames[-1]:.1f}",
        f"{HUGE:,} spans, scrolled: frames over 50 ms": f"{slow:,}",
        f"{HUGE:,} spans, scrolled: longest task (ms)": _longest(scrolled, "longest_task"),
        f"{HUGE:,} spans, scrolled: its time on the processor, at most (ms)": _longest(
            scrolled, "longest_work"
        ),
        "load of the machine while measured": f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
    }
    lines = ["| the page | figure |", "|---|---|"]
    return "\n".join([*lines, *(f"| {label} | {figure} |" for label, figure in rows.items())])


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def _longest(scrolled: Sequence[Scrolled], name: str) -> str:
    return f"{max(getattr(run, name) for run in scrolled):.1f}"


def _painted(browser: Browser, target: Target) -> float:
    """Milliseconds from the start of the navigation until rows are visible, with an empty cache."""
    with _opened(browser) as page:
        page.add_init_script(_WATCH)
        page.goto(f"{target.address}/traces/{target.big}")
        while (painted := page.evaluate("window.paintedAt")) is None:
            page.wait_for_timeout(50)
        return float(painted)


def _scrolled(browser: Browser, target: Target, file: Path | None) -> Scrolled:
    with _opened(browser) as page:
        page.goto(f"{target.address}/traces/{target.huge}")
        page.wait_for_selector("[role=treegrid] [data-place]", timeout=60_000)
        page.wait_for_timeout(3_000)  # the cost of loading is measured elsewhere
        debugger = page.context.new_cdp_session(page)
        events = list[dict[str, Any]]()
        debugger.on("Tracing.dataCollected", lambda told: events.extend(told["value"]))
        debugger.send("Tracing.start", {"traceConfig": {"includedCategories": _CATEGORIES}})
        page.evaluate(_FRAMES)
        _scroll(page, debugger)
        frames = page.evaluate("cancelAnimationFrame(window.following), window.frames_.slice(2)")
        _stop(page, debugger)
        if file is not None:
            file.write_text(json.dumps({"traceEvents": events}))
        tasks = list(_tasks(events))
        return Scrolled(frames, max(each[0] for each in tasks), max(each[1] for each in tasks))


def _scroll(page: Page, debugger: CDPSession) -> None:
    """Down and up again, like a wheel that is turned without a pause."""
    box = page.locator("[role=treegrid]").bounding_box()
    assert box is not None
    place = {"x": box["x"] + 100, "y": box["y"] + box["height"] / 2}
    for distance in (-SCROLLED_PX, SCROLLED_PX // 2):
        gesture = {**place, "yDistance": distance, "speed": SPEED_PX, "gestureSourceType": "mouse"}
        debugger.send("Input.synthesizeScrollGesture", gesture)


def _stop(page: Page, debugger: CDPSession) -> None:
    ended = list[object]()
    debugger.on("Tracing.tracingComplete", lambda told: ended.append(told))  # noqa: PLW0108  (Playwright marks what it is given)
    debugger.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(50)


def _tasks(events: Sequence[dict[str, Any]]) -> Iterator[tuple[float, float]]:
    """Each task of the page's main thread, in wall and processor time."""
    pages = {(each["pid"], each["tid"]) for each in events if each["name"] == "FireAnimationFrame"}
    for event in events:
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in pages:
            yield event.get("dur", 0) / 1_000, event.get("tdur", 0) / 1_000


@contextmanager
def _opened(browser: Browser) -> Iterator[Page]:
    width, height = WIDE
    context = browser.new_context(viewport={"width": width, "height": height})
    try:
        yield context.new_page()
    finally:
        context.close()


@contextmanager
def _target(given: Target | None) -> Iterator[Target]:
    if given is not None:
        yield given
        return
    with serving() as (address, _), httpx2.Client(base_url=address, timeout=120) as http:
        yield Target(address, send_trace(http, BIG), send_trace(http, HUGE))


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """A separate `treadle serve` with an empty store: its address and process id."""
    with tempfile.TemporaryDirectory() as folder:
        repo = Path(folder) / "repo"
        repo.mkdir()
        environment = {**os.environ, "TREADLE_HOME": str(Path(folder) / "home")}
        command = [sys.executable, "-m", "treadle.cli.main", "serve", "--port", "0", "--json"]
        process = subprocess.Popen(
            [*command, "--repo", str(repo)], stdout=subprocess.PIPE, env=environment, text=True
        )
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["address"], process.pid
        finally:
            process.terminate()
            process.wait(60)


def send_trace(http: httpx2.Client, spans: int) -> str:
    """A trace of that many spans, sent like an exporter; returns its id."""
    trace = Generator(spans, text_bytes=TEXT_BYTES).trace(spans)
    headers = {"Content-Type": "application/x-protobuf"}
    for batch in batches([trace], AT_ONCE):
        answer = http.post("/v1/traces", content=batch.body, headers=headers)
        while answer.status_code == 429:
            time.sleep(0.2)
            answer = http.post("/v1/traces", content=batch.body, headers=headers)
        answer.raise_for_status()
    return trace[0].trace_id.hex()


if __name__ == "__main__":
    main()
