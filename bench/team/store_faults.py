"""Breaks PostgreSQL, NATS and servers under load, and checks what the stores hold afterwards.

Two servers share a PostgreSQL database, with `bus.ingest` in every second round. Six clients send
spans to random servers. They repeat each request until it is acknowledged, so a request whose
answer is lost is sent again. A fifth of the requests is sent twice. At a random moment, one part
fails:

- `kill-postgresql`: SIGKILL to the server process of PostgreSQL, which starts again
- `away-postgresql`: PostgreSQL is stopped for some seconds
- `cut-postgresql`: packets to PostgreSQL are dropped for some seconds (network namespace, root)
- `kill-server`: SIGKILL to one of the two servers, which starts again
- `kill-nats`, `away-nats`: the same for NATS (rounds with `bus.ingest`)
- `full-disk`: the disk of NATS is full for some seconds (a small tmpfs, root)

An acknowledged span that is missing, a span that exists twice, a sum that differs from a recount,
and a request that gets no answer within two minutes are faults.

Run: python -m bench.team.store_faults [--rounds 20] [--away 5] [--only FAULT]
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import aiohttp
import psycopg

from tests.engines import NatsServer, PostgresServer, free_port
from tests.server.exports import export, span

CLIENTS, SPANS = 6, 20
ANSWER_SECONDS = 120.0
SCHEMA = "treadle_default_traces"


@dataclass
class Network:
    """A network namespace with an engine in it. `cut` drops all packets to and from it."""

    name: str = field(default_factory=lambda: f"treadle{os.getpid()}")

    @property
    def host(self) -> str:
        return "10.213.7.2"

    @property
    def prefix(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.name)

    def open(self) -> None:
        for command in (
            f"ip netns add {self.name}",
            f"ip link add {self.name} type veth peer name eth0 netns {self.name}",
            f"ip addr add 10.213.7.1/30 dev {self.name}",
            f"ip link set {self.name} up",
            f"ip -n {self.name} addr add {self.host}/30 dev eth0",
            f"ip -n {self.name} link set eth0 up",
            f"ip -n {self.name} link set lo up",
        ):
            subprocess.run(command.split(), check=True)

    def cut(self) -> None:
        subprocess.run(f"ip -n {self.name} link set eth0 down".split(), check=True)

    def heal(self) -> None:
        subprocess.run(f"ip -n {self.name} link set eth0 up".split(), check=True)

    def close(self) -> None:
        subprocess.run(f"ip netns del {self.name}".split(), check=False)


@dataclass
class Ledger:
    """What the clients sent, and what was acknowledged."""

    acknowledged: set[int] = field(default_factory=set)
    """The traces of acknowledged requests."""
    statuses: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    traces: int = 0
    longest: float = 0.0
    """The longest time from the first attempt of a request to its acknowledgement."""


@dataclass
class Team:
    """The servers, the database and NATS of one round."""

    folder: Path
    postgres: PostgresServer
    nats: NatsServer | None
    network: Network | None
    url: str
    away: float
    ports: list[int] = field(default_factory=lambda: [free_port(), free_port()])
    servers: dict[int, asyncio.subprocess.Process] = field(default_factory=dict)
    disk: Path | None = None

    async def start_server(self, port: int) -> None:
        """Start the server at a port, and wait until it is ready."""
        repo = self.folder / "repo"
        repo.mkdir(exist_ok=True)
        env = {
            **os.environ,
            "TREADLE_HOME": str(self.folder / str(port)),
            "TREADLE_STORE__URL": self.url,
        }
        if self.nats is not None:
            env |= {
                "TREADLE_BUS__URL": self.nats.url,
                "TREADLE_BUS__INGEST": "true",
                "TREADLE_BUS__INGEST_LIMIT": "20MB",
            }
        with (self.folder / f"{port}.log").open("ab") as log:
            server = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "treadle.cli.main", "serve", "--repo", str(repo),
                "--port", str(port), "--json", env=env, stdout=asyncio.subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert server.stdout is not None
        line = await asyncio.wait_for(server.stdout.readline(), 120)
        assert line, (self.folder / f"{port}.log").read_text()[-2000:]
        self.servers[port] = server

    async def stop_servers(self) -> None:
        for server in self.servers.values():
            with suppress(ProcessLookupError):
                server.terminate()
        for server in self.servers.values():
            await asyncio.wait_for(server.wait(), 120)


async def send(team: Team, ledger: Ledger, http: aiohttp.ClientSession, rng: random.Random) -> None:
    """Send one request until it is acknowledged."""
    ledger.traces += 1
    trace = ledger.traces
    spans = [span(trace * 100 + each, trace=trace, text="x" * 200) for each in range(SPANS)]
    body = json.dumps(export(*spans)).encode()
    begun = time.monotonic()
    while True:
        if time.monotonic() - begun > 4 * ANSWER_SECONDS:
            ledger.unanswered += 1
            return
        address = f"http://127.0.0.1:{rng.choice(team.ports)}/v1/traces"
        try:
            status = await _post(http, address, body)
        except TimeoutError:
            ledger.unanswered += 1
            continue
        except (OSError, aiohttp.ClientError):
            ledger.statuses["no answer"] += 1
            await asyncio.sleep(0.2)
            continue
        ledger.statuses[str(status)] += 1
        if status == 200:
            ledger.acknowledged.add(trace)
            ledger.longest = max(ledger.longest, time.monotonic() - begun)
            if rng.random() < 0.2:
                with suppress(OSError, aiohttp.ClientError, TimeoutError):
                    await _post(http, address, body)
            return
        await asyncio.sleep(0.2)


async def _post(http: aiohttp.ClientSession, address: str, body: bytes) -> int:
    headers = {"Content-Type": "application/json"}
    async with (
        asyncio.timeout(ANSWER_SECONDS),
        http.post(address, data=body, headers=headers) as response,
    ):
        await response.read()
        return response.status


async def kill_postgresql(team: Team, _: random.Random) -> None:
    await asyncio.to_thread(team.postgres.kill_process)
    for _attempt in range(100):  # PostgreSQL starts when its child processes have ended
        try:
            await asyncio.to_thread(team.postgres.start)
        except AssertionError:
            await asyncio.sleep(0.2)
        else:
            return
    raise AssertionError("PostgreSQL did not start again")


async def away_postgresql(team: Team, _: random.Random) -> None:
    await asyncio.to_thread(team.postgres.stop)
    await asyncio.sleep(team.away)
    await asyncio.to_thread(team.postgres.start)


async def cut_postgresql(team: Team, _: random.Random) -> None:
    assert team.network is not None
    team.network.cut()
    await asyncio.sleep(team.away)
    team.network.heal()


async def kill_server(team: Team, rng: random.Random) -> None:
    port = rng.choice(team.ports)
    team.servers[port].kill()
    await team.servers[port].wait()
    await team.start_server(port)


async def kill_nats(team: Team, _: random.Random) -> None:
    assert team.nats is not None
    await asyncio.to_thread(team.nats.kill)
    await asyncio.to_thread(team.nats.start)


async def away_nats(team: Team, _: random.Random) -> None:
    assert team.nats is not None
    await asyncio.to_thread(team.nats.stop)
    await asyncio.sleep(team.away)
    await asyncio.to_thread(team.nats.start)


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4_096))


async def full_disk(team: Team, rng: random.Random) -> None:
    assert team.disk is not None
    filler = team.disk / "filler"
    await asyncio.to_thread(_fill, filler)
    await asyncio.sleep(team.away)
    await asyncio.to_thread(filler.unlink)
    await kill_nats(team, rng)  # after a failed write, NATS refuses writes until it starts again


FAULTS: dict[str, Callable[[Team, random.Random], Awaitable[None]]] = {
    "kill-postgresql": kill_postgresql,
    "away-postgresql": away_postgresql,
    "cut-postgresql": cut_postgresql,
    "kill-server": kill_server,
    "kill-nats": kill_nats,
    "away-nats": away_nats,
    "full-disk": full_disk,
}
_OF_NATS = {"kill-nats", "away-nats", "full-disk"}


def _mount(folder: Path) -> Path:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(folder)]
    subprocess.run(command, check=True)
    return folder


@asynccontextmanager
async def opened(fault: str, *, ingest: bool, away: float) -> AsyncIterator[Team]:
    """Start all parts of a round, and end them afterwards."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        await asyncio.to_thread(folder.chmod, 0o755)
        network = Network() if fault == "cut-postgresql" else None
        if network is not None:
            network.open()
            stack.callback(network.close)
        postgres = PostgresServer(folder, durable=True)
        if network is not None:
            postgres.host, postgres.prefix = network.host, network.prefix
        await asyncio.to_thread(postgres.start)
        stack.callback(postgres.stop)
        nats, disk = None, None
        if ingest:
            nats = NatsServer(folder)
            if fault == "full-disk":
                disk = await asyncio.to_thread(_mount, folder / "nats")
                stack.callback(subprocess.run, ["umount", "-l", str(disk)], check=False)
            await asyncio.to_thread(nats.start)
            stack.callback(nats.stop)
        url = await asyncio.to_thread(postgres.new_database)
        team = Team(folder, postgres, nats, network, url, away, disk=disk)
        for port in team.ports:
            await team.start_server(port)
        stack.push_async_callback(team.stop_servers)
        yield team


async def play(fault: str, *, ingest: bool, away: float, rng: random.Random) -> dict[str, object]:
    """Play one round, and return its figures."""
    async with opened(fault, ingest=ingest, away=away) as team:
        ledger, stopped = Ledger(), asyncio.Event()

        async def work(http: aiohttp.ClientSession) -> None:
            while not stopped.is_set():
                await send(team, ledger, http, rng)

        async with aiohttp.ClientSession() as http:
            clients = [asyncio.create_task(work(http)) for _ in range(CLIENTS)]
            await asyncio.sleep(rng.uniform(0.5, 3.0))
            await FAULTS[fault](team, rng)
            await asyncio.sleep(rng.uniform(0.5, 2.0))
            stopped.set()
            await asyncio.gather(*clients)
        found = await settled(team, ledger)
        return {
            "fault": fault,
            "ingest": ingest,
            "acknowledged": len(ledger.acknowledged) * SPANS,
            **found,
            "unanswered": ledger.unanswered,
            "longest": round(ledger.longest, 1),
            "statuses": dict(ledger.statuses),
        }


async def settled(team: Team, ledger: Ledger) -> dict[str, int]:
    """Wait until the acknowledged spans are stored, and count the faults."""
    found: dict[str, int] = {}
    for _ in range(240):
        found = await asyncio.to_thread(counted, team.url, ledger.acknowledged)
        if not found["missing"]:
            break
        await asyncio.sleep(0.5)
    return found


def counted(url: str, traces: set[int]) -> dict[str, int]:
    """Compare the spans with the ledger, and every sum with a recount."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('treadle.project', 'default', false)")
        connection.execute(f"SET search_path = {SCHEMA}")
        rows = connection.execute(
            "SELECT t.trace_id, count(*), count(DISTINCT s.span_id), t.spans"
            " FROM traces t JOIN spans s ON s.trace = t.id GROUP BY t.trace_id, t.spans"
        ).fetchall()
        spans, in_rollups, in_threads = connection.execute(
            "SELECT (SELECT count(*) FROM spans),"
            " (SELECT coalesce(sum(spans), 0) FROM rollups WHERE dimension = 'all'),"
            " (SELECT coalesce(sum(spans), 0) FROM threads)"
        ).fetchone() or (0, 0, 0)
    stored = {int(trace, 16): distinct for trace, _, distinct, _ in rows}
    return {
        "missing": sum(SPANS - stored.get(trace, 0) for trace in traces),
        "twice": sum(count - distinct for _, count, distinct, _ in rows),
        "wrong sums": sum(count != total for _, count, _, total in rows)
        + (spans != in_rollups)
        + (spans != in_threads),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="the rounds of each fault")
    parser.add_argument("--away", type=float, default=5.0, help="seconds that a part is away")
    parser.add_argument("--only", choices=tuple(FAULTS))
    parser.add_argument("--seed", type=int, default=uuid4().int % 1_000_000)
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    rng = random.Random(options.seed)
    print("| fault | rounds | acknowledged spans | missing | twice | wrong sums | unanswered |"
          " longest acknowledgement |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for fault in [options.only] if options.only else FAULTS:
        rounds = []
        for number in range(options.rounds):
            ingest = fault in _OF_NATS or bool(number % 2)
            played = await play(fault, ingest=ingest, away=options.away, rng=rng)
            print(json.dumps(played), file=sys.stderr, flush=True)
            rounds.append(played)
        sums = [
            sum(int(str(each[name])) for each in rounds)
            for name in ("acknowledged", "missing", "twice", "wrong sums", "unanswered")
        ]
        longest = max(float(str(each["longest"])) for each in rounds)
        figures = " | ".join(f"{figure:,}" for figure in sums)
        print(f"| {fault} | {len(rounds)} | {figures} | {longest:.1f} s |", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
