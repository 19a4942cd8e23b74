"""Measures how many spans a second a server acknowledges, directly and through JetStream.

Some exporters send exports of the same size without a pause. The table has the spans that were
acknowledged in each second, the time of a response, and the time after the last response until all
spans were in the store.

Run: python -m bench.team.ingest [--seconds 8] [--exporters 4] [--spans 20] [--postgres]
     [--servers 1]
"""

import argparse
import asyncio
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from bench.team.replica_faults import environment, read_spans
from tests.server.exports import export, span


@dataclass
class Sent:
    """The acknowledged exports, and the time of each response."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    exports: int = 0


async def measure(
    seconds: float,
    exporters: int,
    spans: int,
    *,
    through_nats: bool,
    postgres: bool,
    servers: int,
) -> str:
    """Return a row of the table."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # noqa: ASYNC240  (PostgreSQL runs as another user)
        opening = environment(Path(name), postgres=postgres, ingest=through_nats, count=servers)
        async with opening as (_, load):
            sent = Sent()
            addresses = [f"{server.address}/v1/traces" for server in load.servers]
            until = time.monotonic() + seconds
            await asyncio.gather(
                *(
                    _export(
                        load.http,
                        addresses[number % servers],
                        sent,
                        (number + 1, spans),
                        until,
                    )
                    for number in range(exporters)
                )
            )
            ended = time.monotonic()
            expected = len(sent.seconds) * spans
            while (await read_spans(load))[1] < expected:  # noqa: ASYNC110  (the store has none)
                await asyncio.sleep(0.02)
            behind = time.monotonic() - ended
    times = sorted(sent.seconds)
    rate = expected / seconds
    middle, last = times[len(times) // 2], times[len(times) * 99 // 100]
    return (
        f"{'JetStream' if through_nats else 'direct':10} {rate:8,.0f} spans/s"
        f"   p50 {middle * 1000:6.1f} ms   p99 {last * 1000:6.1f} ms"
        f"   refused {sent.refused:4}   all stored after {behind:5.1f} s"
    )


async def _export(
    http: httpx2.AsyncClient, address: str, sent: Sent, size: tuple[int, int], until: float
) -> None:
    number, spans = size
    while time.monotonic() < until:
        sent.exports += 1
        trace = number * 1_000_000 + sent.exports
        body = json.dumps(export(*(span(each, trace=trace) for each in range(1, spans + 1))))
        started = time.monotonic()
        answer = await http.post(
            address, content=body, headers={"Content-Type": "application/json"}
        )
        if answer.status_code == 200:
            sent.seconds.append(time.monotonic() - started)
        else:
            sent.refused += 1
            await asyncio.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--exporters", type=int, default=4)
    parser.add_argument("--spans", type=int, default=20, help="spans of one export")
    parser.add_argument("--servers", type=int, default=1, help="servers that receive and write")
    parser.add_argument("--postgres", action="store_true", help="use PostgreSQL, not SQLite")
    given = parser.parse_args()
    for through_nats in (False, True, False, True):
        row = measure(
            given.seconds, given.exporters, given.spans, through_nats=through_nats,
            postgres=given.postgres, servers=given.servers,
        )  # fmt: skip
        print(asyncio.run(row), flush=True)


if __name__ == "__main__":
    main()
