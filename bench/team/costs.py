"""Measures the cost of a span in each part of a running installation.

Sends traces as `bench.traces` generates them (2 KB of text in each span) to a server, and reads the
processor time of the named processes before and after. Other work on the machine changes processor
time less than it changes the number of spans a second.

Run: python -m bench.team.costs --url http://HOST:PORT --key KEY --spans 50000
     --process server=PID,PID --process postgresql=PID --process nats=PID
"""

import argparse
import asyncio
import os
import time
from pathlib import Path

import httpx2

from bench.processes import family
from bench.traces.generator import Generator
from bench.traces.otlp_bytes import Batch, batches

CLIENTS = 4
SPANS_OF_REQUEST = 50
_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pids: list[int]) -> float:
    """The processor time of processes and of all their descendants, including ended ones."""
    total = 0
    for pid in {each for first in pids for each in family(first)}:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))  # itself and ended children, user and system time
    return total / _TICKS


async def send(http: httpx2.AsyncClient, requests: list[Batch]) -> int:
    """Send all requests, and repeat refused requests. Returns the number of repetitions."""
    refused = 0
    while requests:
        batch = requests.pop()
        answer = await http.post("/v1/traces", content=batch.body)
        while answer.status_code in {429, 503}:
            refused += 1
            await asyncio.sleep(0.5)
            answer = await http.post("/v1/traces", content=batch.body)
        answer.raise_for_status()
    return refused


async def waiting(http: httpx2.AsyncClient) -> float:
    """The number of exports that wait in JetStream or in the server."""
    lines = (await http.get("/metrics")).text.splitlines()
    names = ("treadle_stream_exports_waiting ", "treadle_ingest_waiting_requests ")
    return sum(float(line.split()[1]) for line in lines if line.startswith(names))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--spans", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--process", action="append", default=[], metavar="NAME=PID,PID")
    options = parser.parse_args()
    generator = Generator(options.seed)
    traces = generator.traces(options.spans // SPANS_OF_REQUEST)
    requests = list(batches(traces, SPANS_OF_REQUEST))
    count = sum(batch.spans for batch in requests)
    size = sum(len(batch.body) for batch in requests)
    named = {
        name: [int(pid) for pid in pids.split(",")]
        for name, _, pids in (each.partition("=") for each in options.process)
    }
    headers = {
        "Authorization": f"Bearer {options.key}",
        "Content-Type": "application/x-protobuf",
    }
    async with httpx2.AsyncClient(base_url=options.url, headers=headers, timeout=120) as http:
        before = {name: processor_seconds(pids) for name, pids in named.items()}
        begin = time.monotonic()
        refused = sum(await asyncio.gather(*(send(http, requests) for _ in range(CLIENTS))))
        accepted = time.monotonic() - begin
        while await waiting(http) > 0:  # noqa: ASYNC110  (a server has no event for it)
            await asyncio.sleep(0.5)
        stored = time.monotonic() - begin
        after = {name: processor_seconds(pids) for name, pids in named.items()}
    print("| figure | value |\n|---|---|")
    print(f"| spans, bytes of a span in OTLP | {count:,}, {size / count:,.0f} |")
    print(f"| spans a second, accepted | {count / accepted:,.0f} |")
    print(f"| spans a second, stored | {count / stored:,.0f} |")
    print(f"| requests that were sent again | {refused} |")
    for name in named:
        milliseconds = (after[name] - before[name]) / count * 1e3
        print(f"| processor milliseconds of a span: {name} | {milliseconds:.3f} |")


if __name__ == "__main__":
    asyncio.run(main())
