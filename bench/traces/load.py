"""Sends prepared OTLP requests like an exporter. A separate process: it prints its figures.

Run: python -m bench.traces.load PORT FILE [--connections N] [--spans N] [--header NAME=VALUE …]

FILE comes from `write_batches`. After "not now" (429, 503) the same batch is sent again after a
pause, as the SDK does. Sending ends with the file or after `--spans`. `--pace` spaces the batches
of all connections that many seconds apart.
"""

import argparse
import asyncio
import json
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.traces.otlp_bytes import Batch
from bench.traces.wire import Connection, request

PATH = "/v1/traces"
PAUSE = 0.1
_HEAD = struct.Struct(">II")


def write_batches(path: Path, batches: Iterable[Batch]) -> None:
    """Write batches for `read_batches`."""
    with path.open("wb") as file:
        for batch in batches:
            file.write(_HEAD.pack(batch.spans, len(batch.body)) + batch.body)


def read_batches(path: Path) -> Iterator[Batch]:
    with path.open("rb") as file:
        while head := file.read(_HEAD.size):
            spans, length = _HEAD.unpack(head)
            yield Batch(spans, file.read(length))


async def send_all(
    port: int,
    batches: Iterator[Batch],
    headers: dict[str, str],
    *,
    connections: int,
    most: int,
    pace: float = 0.0,
) -> dict[str, object]:
    """Send batches until they end or suffice; returns what was acknowledged, when, and how often
    not.
    """
    latencies, retries, spans, number = list[float](), 0, 0, -1
    said = {"content-type": "application/x-protobuf"} | headers
    begun = time.perf_counter()
    started_at = time.time()

    async def send_some() -> None:
        nonlocal retries, spans, number
        connection = await Connection.open(port)
        while spans < most:
            batch = next(batches, None)
            if batch is None:
                break
            spans, number = spans + batch.spans, number + 1
            if pace and (early := begun + number * pace - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            data = request("POST", PATH, batch.body, said)
            asked = time.perf_counter()
            while (answer := await connection.send(data)).status in (429, 503):
                retries += 1
                await asyncio.sleep(PAUSE)
                asked = time.perf_counter()
            if answer.status != 200:
                sys.exit(f"{answer.status}: {answer.text()[:300]}")
            latencies.append(time.perf_counter() - asked)
        connection.close()

    await asyncio.gather(*(send_some() for _ in range(connections)))
    return {
        "spans": spans,
        "latencies": latencies,
        "retries": retries,
        "started_at": started_at,
        "seconds": time.perf_counter() - begun,
        "processor": time.process_time(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--spans", type=int, default=1_000_000_000)
    parser.add_argument("--pace", type=float, default=0.0)
    parser.add_argument("--header", action="append", default=[])
    options = parser.parse_args()
    headers = dict(header.split("=", 1) for header in options.header)
    sent = send_all(
        options.port, read_batches(options.file), headers,
        connections=options.connections, most=options.spans, pace=options.pace,
    )  # fmt: skip
    json.dump(asyncio.run(sent), sys.stdout)


if __name__ == "__main__":
    main()
