"""Ends a server with SIGTERM at random moments under load, and checks what clients got.

Eight clients send spans and two read, each on its own connections. Half of the clients open a
connection for each request. A probe reads `/readyz` every 50 ms, as a load balancer does. In every
second round, the clients stop when the probe fails. In the other rounds, they stop when the server
refuses their connection.

An acknowledged span that is not stored, a connection that breaks off during a request, and an exit
status other than 0 are faults.

Run: python -m bench.team.draining [--rounds 20] [--notice 1.0]
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.server.exports import export, span
from treadle.traces import TraceStore

WRITERS, READERS = 8, 2
SPANS = 20
PROBE_SECONDS = 0.05


@dataclass
class Round:
    """What the clients of one server got."""

    host: str
    port: int
    stopped: bool = False
    acknowledged: list[int] = field(default_factory=list)
    """The traces whose spans the server acknowledged."""
    statuses: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    traces: int = 0


class BrokenError(Exception):
    """The connection ended before the response was complete."""


async def request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: str, body: bytes = b""
) -> tuple[int, bool, bytes]:
    """Send a request. Returns the status, whether the connection stays open, and the body."""
    try:
        writer.write(
            f"{head} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {
            name.lower(): value for name, _, value in (each.partition(": ") for each in lines)
        }
        answer = await reader.readexactly(int(headers.get("content-length", "0")))
    except (OSError, asyncio.IncompleteReadError) as error:
        raise BrokenError(f"{head}: {type(error).__name__}: {error}") from error
    return int(first.split()[1]), headers.get("connection") != "close", answer


async def client(state: Round, make: Callable[[], tuple[str, bytes, int]], *, reuse: bool) -> None:
    """Send requests one after another, until the server refuses a connection or the round stops."""
    connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    while not state.stopped:
        if connection is None:
            try:
                connection = await asyncio.open_connection(state.host, state.port)
            except ConnectionRefusedError:
                return
            except OSError as error:
                state.broken.append(f"connect: {type(error).__name__}: {error}")
                return
        head, body, trace = make()
        try:
            status, stays, _ = await request(*connection, head, body)
        except BrokenError as error:
            state.broken.append(str(error))
            status, stays = 0, False
        state.statuses[status] += 1
        if status == 200 and trace:
            state.acknowledged.append(trace)
        if not (stays and reuse):
            connection[1].close()
            connection = None
    if connection is not None:
        connection[1].close()


async def probe(state: Round, *, stops: bool) -> None:
    """Read `/readyz` until it fails, as a load balancer does."""
    while True:
        try:
            reader, writer = await asyncio.open_connection(state.host, state.port)
            status, _, _ = await request(reader, writer, "GET /readyz")
            writer.close()
        except (OSError, BrokenError):
            status = 0
        if status != 200:
            state.stopped = stops
            return
        await asyncio.sleep(PROBE_SECONDS)


async def events(state: Round) -> bool:
    """Follow the event stream. Returns whether it ended with the hint to reconnect."""
    reader, writer = await asyncio.open_connection(state.host, state.port)
    writer.write(b"GET /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
    text = await reader.read(-1)
    writer.close()
    return b"retry: 500\n\n" in text[-40:]


async def play(home: Path, notice: float, rng: random.Random, *, stops: bool) -> dict[str, object]:
    """Start a server, load it, end it at a random moment, and return the figures of the round."""
    env = {
        **os.environ,
        "TREADLE_HOME": str(home),
        "TREADLE_SERVER__DRAIN_NOTICE": str(notice),
    }
    repo = home / "repo"
    repo.mkdir(parents=True)
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "treadle.cli.main", "serve", "--repo", str(repo), "--port", "0",
        "--json", env=env, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    address = urlsplit(json.loads(await server.stdout.readline())["address"])
    state = Round(str(address.hostname), int(address.port or 0))

    def make_export() -> tuple[str, bytes, int]:
        state.traces += 1
        number = state.traces
        spans = [span(number * 100 + each, trace=number, text="x" * 200) for each in range(SPANS)]
        return "POST /v1/traces", json.dumps(export(*spans)).encode(), number

    following = asyncio.create_task(events(state))
    await asyncio.sleep(0.1)
    clients = [client(state, make_export, reuse=each % 2 == 0) for each in range(WRITERS)]
    clients += [
        client(state, lambda: ("GET /api/v1/turns", b"", 0), reuse=each % 2 == 0)
        for each in range(READERS)
    ]
    working = asyncio.gather(*clients, probe(state, stops=stops))
    await asyncio.sleep(rng.uniform(0.1, 2.0))
    signalled = time.monotonic()
    server.send_signal(signal.SIGTERM)
    await working
    status = await server.wait()
    seconds = time.monotonic() - signalled
    return {
        "status": status,
        "seconds": seconds,
        "requests": sum(state.statuses.values()),
        "acknowledged": len(state.acknowledged) * SPANS,
        "lost": sum(SPANS - count for count in stored(home, state.acknowledged)),
        "broken": state.broken,
        "refused": {code: count for code, count in state.statuses.items() if code not in {0, 200}},
        "reconnect": await following,
    }


def stored(home: Path, traces: list[int]) -> list[int]:
    """The number of stored spans of each trace."""
    store = TraceStore.open(home / "data" / "traces.db")
    try:
        return [len(store.trace(f"{trace:032x}").spans) for trace in traces]
    finally:
        store.close()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--notice", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    rounds = []
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            played = await play(Path(folder), options.notice, rng, stops=number % 2 == 0)
        print(json.dumps(played), file=sys.stderr)
        rounds.append(played)
    print("| figure | value |\n|---|---|")
    print(f"| servers ended with SIGTERM under load | {len(rounds)} |")
    for name, title in (("requests", "requests"), ("acknowledged", "acknowledged spans")):
        print(f"| {title} | {sum(each[name] for each in rounds):,} |")  # type: ignore[misc]
    print(f"| acknowledged spans that are not stored | {sum(each['lost'] for each in rounds)} |")  # type: ignore[misc]
    broken = sum(len(each["broken"]) for each in rounds)  # type: ignore[arg-type, misc]
    print(f"| connections that broke off during a request | {broken} |")
    refused = sum(sum(each["refused"].values()) for each in rounds)  # type: ignore[attr-defined, misc]
    print(f"| requests that were refused | {refused} |")
    failed = sum(each["status"] != 0 for each in rounds)
    print(f"| exit statuses other than 0 | {failed} |")
    hinted = sum(bool(each["reconnect"]) for each in rounds)
    print(f"| event streams that ended with a hint to reconnect | {hinted} |")
    slowest = max(float(each["seconds"]) for each in rounds)  # type: ignore[arg-type]
    print(f"| longest time from the signal to the end | {slowest:.1f} s |")


if __name__ == "__main__":
    asyncio.run(main())
