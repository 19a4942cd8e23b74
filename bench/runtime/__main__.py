"""Overhead of a session next to other libraries, and of the event bus, as Markdown tables.

Run: python -m bench.runtime

A session of 50 replies, all but the last with 1, 4 or 16 calls of a tool that returns its text,
over HTTP to one provider in a separate process; not streamed, nothing recorded, the client's
default settings. Wall and processor milliseconds are those of the client's process for one reply,
the median of five sessions after a warm-up session. A hundred sessions at once have ten replies
each; memory is that of the process, on Linux. Peers have pinned environments below .cache/.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from bench.runtime.bus import RATE, events_per_second, latencies
from bench.runtime.measuring import AT_ONCE_TURNS, TURNS

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "bench" / "runtime"
CALLS = (1, 4, 16)
PEERS = {
    "pydantic_ai": "pydantic-ai-slim[openai]==2.68.0",
    "openai_agents": "openai-agents==0.24.0",
}


def peer_python(name: str) -> str:
    """The Python of a peer's environment, which is created if needed."""
    requirement = PEERS[name]
    folder = CACHE / requirement
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", requirement]
        subprocess.run(install, check=True, stdout=sys.stderr)
        complete.touch()
    return str(python)


def measure(python: str, subject: str, calls: int, what: str = "turns") -> dict[str, float]:
    """The figures of one subject, as `measuring.run` returns them."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    turns = AT_ONCE_TURNS if what == "at-once" else TURNS
    with subprocess.Popen(
        [sys.executable, "-m", "bench.runtime.provider", str(calls), str(turns)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as provider:
        try:
            assert provider.stdout is not None
            url = provider.stdout.readline().strip()
            done = subprocess.run(
                [python, "-m", f"bench.runtime.subject_{subject}", url, what],
                env=environment,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
        finally:
            provider.terminate()
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def sessions() -> None:
    """The subjects alternate at each measure, so that a busy moment affects all of them."""
    pythons = {"treadle": sys.executable, **{name: peer_python(name) for name in PEERS}}
    names = {"treadle": "Treadle"} | PEERS
    rows: dict[str, list[str]] = {subject: [] for subject in pythons}
    starts: dict[str, str] = {}
    for calls in CALLS:
        for subject, python in pythons.items():
            row = measure(python, subject, calls)
            rows[subject] += [f"{row['wall']:.1f}", f"{row['processor']:.1f}"]
            if calls == 1:
                starts[subject] = f"{row['start']:.1f}"
    heads = " | ".join(f"{calls} calls: wall ms | processor ms" for calls in CALLS)
    print(f"| a reply of a session | {heads} |")
    print("|" + "---|" * (1 + 2 * len(CALLS)))
    for subject, cells in rows.items():
        print(f"| {names[subject]} | {' | '.join(cells)} |")
    print(
        "\n| one call a reply | 100 sessions at once: wall ms a reply | processor ms a reply"
        " | reply written to tool started ms | MB after 1,000 replies | MB grown in them |"
    )
    print("|" + "---|" * 6)
    for subject, python in pythons.items():
        many = measure(python, subject, 1, "at-once")
        memory = measure(python, subject, 1, "memory")
        cells = [
            f"{many['wall']:.1f}",
            f"{many['processor']:.1f}",
            starts[subject],
            f"{memory['resident']:.0f}",
            f"{memory['grown']:.1f}",
        ]
        print(f"| {names[subject]} | {' | '.join(cells)} |", flush=True)


async def bus() -> None:
    print("\n| event bus | |\n|---|---|")
    for subscribers in (1, 4):
        rate = await events_per_second(subscribers)
        print(f"| must-deliver events a second, {subscribers} subscribers | {rate:,.0f} |")
    times = await latencies()
    for share in (0.5, 0.99, 0.999):
        said = f"p{100 * share:g} of delivery at {RATE:,} events/s beside a slow lossy subscriber"
        print(f"| {said} | {1_000 * times[int(share * len(times))]:.2f} ms |")


if __name__ == "__main__":
    sessions()
    asyncio.run(bus())
