"""Breaks PostgreSQL, NATS and servers under load, and checks what the stores hold afterwards.

Two servers share a PostgreSQL database. Half of the rounds use `bus.ingest`. Six clients send spans
and the log records with their messages to random servers. They repeat each request until it is
acknowledged, so a request whose answer is lost is sent again. A fifth of the requests is sent
twice, and a third of the spans is first sent unfinished. At a random moment, one part fails:

- `kill-postgresql`: SIGKILL to the server process of PostgreSQL, which starts again
- `away-postgresql`: PostgreSQL is stopped for some seconds
- `cut-postgresql`: packets to PostgreSQL are dropped for some seconds (network namespace, root)
- `kill-server`: SIGKILL to one of the two servers, which starts again
- `pause-server`: SIGSTOP to a server until NATS has delivered its exports to the other server
- `kill-nats`, `away-nats`, `cut-nats`: the same for NATS
- `kill-nats-node`: SIGKILL to one of three nodes that store three copies of each stream
- `full-disk`: the disk of NATS is full for some seconds (a small tmpfs, root)
- `reorder`: half of the exports in NATS is delivered a second time, up to three seconds late

The checks after each round find acknowledged spans that are missing, unfinished or without their
message, spans that exist twice, sums that differ from a recount, and requests without an answer
within two minutes.

Run: python -m bench.team.store_faults [--rounds 20] [--away 4] [--long 5] [--only FAULT]
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
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import aiohttp
import psycopg

from bench.team.breaking import Network, Repeater, fill, network, small_disk
from tests.engines import NatsCluster, NatsServer, PostgresServer, free_port
from tests.server.exports import export, span
from tests.spans.otlp.test_log_records import record, request
from treadle.server.replicas.export_stream import ACK_SECONDS

CLIENTS, SPANS = 6, 20
ANSWER_SECONDS = 120.0
LONG_SECONDS = 30.0
SCHEMA = "treadle_default_traces"
SUBJECT = "treadle.default.exports"


@dataclass
class Ledger:
    """What the clients sent, and what was acknowledged."""

    acknowledged: set[int] = field(default_factory=set)
    """The traces whose requests were all acknowledged."""
    statuses: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    traces: int = 0
    longest: float = 0.0
    """The longest time from the first attempt of a request to its acknowledgement."""


@dataclass
class Team:
    """The servers, the database and NATS."""

    folder: Path
    postgres: PostgresServer
    nats: NatsServer | NatsCluster | None
    network: Network | None
    url: str
    disk: Path | None = None
    away: float = 0.0
    """The seconds for which a part is away in this round."""
    repeater: Repeater = field(default_factory=lambda: Repeater(share=0.5, latest=3.0))
    ports: list[int] = field(default_factory=lambda: [free_port(), free_port()])
    servers: dict[int, asyncio.subprocess.Process] = field(default_factory=dict)

    @property
    def bus(self) -> NatsServer:
        assert isinstance(self.nats, NatsServer)
        return self.nats

    async def start_server(self, port: int) -> None:
        """Start the server at a port, and wait until it is ready. A supervisor would do the same.

        A server ends if a part is away that it needs for its start.
        """
        repo = self.folder / "repo"
        repo.mkdir(exist_ok=True)
        env = {
            **os.environ,
            "TREADLE_HOME": str(self.folder / str(port)),
            "TREADLE_STORE__URL": self.url,
        }
        if self.nats is not None:
            copies = 3 if isinstance(self.nats, NatsCluster) else 1
            env |= {
                "TREADLE_BUS__URL": self.nats.url,
                "TREADLE_BUS__INGEST": "true",
                "TREADLE_BUS__INGEST_LIMIT": "20MB",
                "TREADLE_BUS__STREAM_REPLICAS": str(copies),
            }
        for _attempt in range(10):
            with (self.folder / f"{port}.log").open("ab") as log:
                server = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "treadle.cli.main", "serve", "--repo", str(repo),
                    "--port", str(port), "--json", env=env, stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                )  # fmt: skip
            assert server.stdout is not None
            if await asyncio.wait_for(server.stdout.readline(), 180):
                self.servers[port] = server
                return
            await server.wait()
        raise AssertionError((self.folder / f"{port}.log").read_text()[-2000:])

    async def stop_servers(self) -> None:
        for server in self.servers.values():
            with suppress(ProcessLookupError):
                server.terminate()
        for server in self.servers.values():
            await asyncio.wait_for(server.wait(), 120)


@dataclass
class Client:
    """Sends spans, and the log records with their messages."""

    team: Team
    ledger: Ledger
    http: aiohttp.ClientSession
    draw: random.Random

    async def send(self) -> None:
        """Send one trace, and repeat each of its requests until the request is acknowledged."""
        self.ledger.traces += 1
        trace = self.ledger.traces
        numbers = range(trace * 100, trace * 100 + SPANS)
        logged = trace % 4 == 0
        text = None if logged else "x" * 200
        requests = [("traces", export(*(span(each, trace=trace, text=text) for each in numbers)))]
        if self.draw.random() < 0.3:
            begun = [span(each, trace=trace, endTimeUnixNano="0") for each in numbers]
            requests.insert(0, ("traces", export(*begun)))
        if logged:
            records = [
                record("gen_ai.user.message", {"content": "Hi"}, traceId=f"{trace:032x}",
                       spanId=f"{each:016x}")
                for each in numbers
            ]  # fmt: skip
            requests.insert(self.draw.randrange(len(requests) + 1), ("logs", request(*records)))
        for path, body in requests:
            if not await self._repeat(path, json.dumps(body).encode()):
                return
        self.ledger.acknowledged.add(trace)

    async def _repeat(self, path: str, body: bytes) -> bool:
        """Send a request until it is acknowledged. Returns False if that takes too long."""
        ledger, begun = self.ledger, time.monotonic()
        while time.monotonic() - begun < 4 * ANSWER_SECONDS:
            address = f"http://127.0.0.1:{self.draw.choice(self.team.ports)}/v1/{path}"
            try:
                status = await self._post(address, body)
            except TimeoutError:
                ledger.unanswered += 1
                continue
            except (OSError, aiohttp.ClientError):
                ledger.statuses["no answer"] += 1
                await asyncio.sleep(0.2)
                continue
            ledger.statuses[str(status)] += 1
            if status == 200:
                ledger.longest = max(ledger.longest, time.monotonic() - begun)
                if self.draw.random() < 0.2:
                    with suppress(OSError, aiohttp.ClientError, TimeoutError):
                        await self._post(address, body)
                return True
            await asyncio.sleep(0.2)
        ledger.unanswered += 1
        return False

    async def _post(self, address: str, body: bytes) -> int:
        headers = {"Content-Type": "application/json"}
        async with (
            asyncio.timeout(ANSWER_SECONDS),
            self.http.post(address, data=body, headers=headers) as response,
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


async def cut(team: Team, _: random.Random) -> None:
    assert team.network is not None
    team.network.cut()
    await asyncio.sleep(team.away)
    team.network.heal()


async def kill_server(team: Team, draw: random.Random) -> None:
    port = draw.choice(team.ports)
    team.servers[port].kill()
    await team.servers[port].wait()
    await team.start_server(port)


async def pause_server(team: Team, draw: random.Random) -> None:
    server = team.servers[draw.choice(team.ports)]
    server.send_signal(signal.SIGSTOP)
    await asyncio.sleep(ACK_SECONDS + 1)
    server.send_signal(signal.SIGCONT)


async def kill_nats(team: Team, _: random.Random) -> None:
    await asyncio.to_thread(team.bus.kill)
    await asyncio.to_thread(team.bus.start)


async def kill_nats_node(team: Team, draw: random.Random) -> None:
    assert isinstance(team.nats, NatsCluster)
    node = draw.choice(team.nats.nodes)
    await asyncio.to_thread(node.kill)
    await asyncio.sleep(draw.uniform(0, 3))
    await asyncio.to_thread(node.start)
    # Two of three nodes must have all messages before the next node may fail.
    await asyncio.to_thread(team.nats.wait_until_whole)


async def away_nats(team: Team, _: random.Random) -> None:
    await asyncio.to_thread(team.bus.stop)
    await asyncio.sleep(team.away)
    await asyncio.to_thread(team.bus.start)


async def full_disk(team: Team, draw: random.Random) -> None:
    assert team.disk is not None
    filler = team.disk / "filler"
    await asyncio.to_thread(fill, filler)
    await asyncio.sleep(team.away)
    await asyncio.to_thread(filler.unlink)
    await kill_nats(team, draw)  # after a failed write, NATS refuses writes until it starts again


async def reorder(team: Team, draw: random.Random) -> None:
    async with team.repeater.repeating(team.bus.url, (SUBJECT,), draw):
        await asyncio.sleep(team.away)


FAULTS: dict[str, Callable[[Team, random.Random], Awaitable[None]]] = {
    "kill-postgresql": kill_postgresql,
    "away-postgresql": away_postgresql,
    "cut-postgresql": cut,
    "kill-server": kill_server,
    "pause-server": pause_server,
    "kill-nats": kill_nats,
    "away-nats": away_nats,
    "cut-nats": cut,
    "kill-nats-node": kill_nats_node,
    "full-disk": full_disk,
    "reorder": reorder,
}
_OF_NATS = {
    "pause-server", "kill-nats", "away-nats", "cut-nats", "kill-nats-node", "full-disk", "reorder",
}  # fmt: skip
_LONG = {"away-postgresql", "away-nats"}


@asynccontextmanager
async def opened(fault: str, *, ingest: bool) -> AsyncIterator[Team]:
    """Start all parts, and end them afterwards."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        await asyncio.to_thread(folder.chmod, 0o755)
        postgres = PostgresServer(folder, durable=True)
        nats: NatsServer | NatsCluster | None = NatsServer(folder) if ingest else None
        net = stack.enter_context(network()) if fault.startswith("cut-") else None
        if net is not None:
            engine = postgres if fault == "cut-postgresql" else nats
            assert isinstance(engine, PostgresServer | NatsServer)
            engine.host, engine.prefix = net.host, net.prefix
        if fault == "kill-nats-node":
            nats = NatsCluster(folder)
        await asyncio.to_thread(postgres.start)
        stack.callback(postgres.stop)
        disk = None
        if fault == "full-disk":
            disk = stack.enter_context(small_disk(folder / "nats"))
        if nats is not None:
            await asyncio.to_thread(nats.start)
            stack.callback(nats.stop)
        url = await asyncio.to_thread(postgres.new_database)
        team = Team(folder, postgres, nats, net, url, disk)
        stack.push_async_callback(team.stop_servers)
        for port in team.ports:
            await team.start_server(port)
        yield team


@dataclass
class Figures:
    """The figures of all rounds of a fault. Each count of faults is the largest of any round."""

    rounds: int = 0
    acknowledged: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    longest: float = 0.0

    def add(self, ledger: Ledger, found: dict[str, int]) -> None:
        for name, count in found.items():
            self.faults[name] = max(self.faults[name], count)
        self.longest = max(self.longest, ledger.longest)

    def row(self, fault: str) -> str:
        names = ("missing", "incomplete", "twice", "wrong sums")
        figures = (self.acknowledged, *(self.faults[name] for name in names), self.unanswered)
        counts = " | ".join(f"{figure:,}" for figure in figures)
        return f"| `{fault}` | {self.rounds} | {counts} | {self.longest:.1f} s |"


async def play(
    fault: str, away: list[float], figures: Figures, draw: random.Random, *, ingest: bool
) -> None:
    """Play one round for each of the times that a part is away."""
    if not away:
        return
    async with opened(fault, ingest=ingest) as team, aiohttp.ClientSession() as http:
        ledger = Ledger()
        for team.away in away:
            stopped = asyncio.Event()
            client = Client(team, ledger, http, draw)

            async def work(client: Client = client, stopped: asyncio.Event = stopped) -> None:
                while not stopped.is_set():
                    await client.send()

            begun = time.monotonic()
            clients = [asyncio.create_task(work()) for _ in range(CLIENTS)]
            await asyncio.sleep(draw.uniform(0.5, 3.0))
            await FAULTS[fault](team, draw)
            await asyncio.sleep(draw.uniform(0.5, 2.0))
            stopped.set()
            await asyncio.gather(*clients)
            found = await settled(team, ledger)
            figures.rounds += 1
            figures.add(ledger, found)
            told = {
                "fault": fault, "round": figures.rounds, "ingest": ingest, "away": team.away,
                "acknowledged": len(ledger.acknowledged) * SPANS, **found,
                "unanswered": ledger.unanswered, "longest": round(ledger.longest, 1),
                "seconds": round(time.monotonic() - begun), "repeated": team.repeater.repeated,
                "statuses": dict(ledger.statuses),
            }  # fmt: skip
            print(json.dumps(told), file=sys.stderr, flush=True)
            if any(found.values()):
                await asyncio.to_thread(keep_logs, team)
        figures.acknowledged += len(ledger.acknowledged) * SPANS
        figures.unanswered += ledger.unanswered


def keep_logs(team: Team) -> None:
    """Print the last lines of the logs, since their folder is deleted."""
    for log in sorted(team.folder.glob("*.log")):
        print(f"--- {log.name}\n{log.read_text()[-3000:]}", file=sys.stderr, flush=True)


async def settled(team: Team, ledger: Ledger) -> dict[str, int]:
    """Wait until the acknowledged spans are stored, and count the faults."""
    found: dict[str, int] = {}
    for _ in range(240):
        found = await asyncio.to_thread(counted, team.url, ledger.acknowledged)
        if not any(found.values()):
            break
        await asyncio.sleep(0.5)
    return found


def counted(url: str, traces: set[int]) -> dict[str, int]:
    """Compare the spans with the ledger, and every sum with a recount."""
    with psycopg.connect(url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT set_config('treadle.project', 'default', false)")
        connection.execute(f"SET search_path = {SCHEMA}")
        rows = connection.execute(
            "SELECT t.trace_id, count(*), count(DISTINCT s.span_id), t.spans,"
            " count(*) FILTER (WHERE s.end_us IS NOT NULL AND s.input_preview IS NOT NULL)"
            " FROM traces t JOIN spans s ON s.trace = t.id GROUP BY t.trace_id, t.spans"
        ).fetchall()
        spans, in_rollups, in_threads = connection.execute(
            "SELECT (SELECT count(*) FROM spans),"
            " (SELECT coalesce(sum(spans), 0) FROM rollups WHERE dimension = 'all'),"
            " (SELECT coalesce(sum(spans), 0) FROM threads)"
        ).fetchone() or (0, 0, 0)
    stored = {int(trace, 16): distinct for trace, _, distinct, _, _ in rows}
    whole = {int(trace, 16): complete for trace, _, _, _, complete in rows}
    return {
        "missing": sum(SPANS - stored.get(trace, 0) for trace in traces),
        "incomplete": sum(SPANS - whole.get(trace, SPANS) for trace in traces),
        "twice": sum(count - distinct for _, count, distinct, _, _ in rows),
        "wrong sums": sum(count != total for _, count, _, total, _ in rows)
        + (spans != in_rollups)
        + (spans != in_threads),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="the rounds of each fault")
    parser.add_argument("--away", type=float, default=4.0, help="seconds that a part is away")
    parser.add_argument("--long", type=int, default=5, help="rounds with 30 s of absence")
    parser.add_argument("--only", nargs="*", choices=tuple(FAULTS), default=tuple(FAULTS))
    parser.add_argument("--seed", type=int, default=uuid4().int % 1_000_000)
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    draw = random.Random(options.seed)
    print("| fault | rounds | acknowledged spans | missing | incomplete | twice | wrong sums"
          " | unanswered | longest acknowledgement |\n|---|---|---|---|---|---|---|---|---|",
          flush=True)  # fmt: skip
    for fault in options.only:
        long = options.long if fault in _LONG else 0
        away = [LONG_SECONDS] * long + [options.away] * (options.rounds - long)
        draw.shuffle(away)
        figures = Figures()
        direct = 0 if fault in _OF_NATS else options.rounds // 2
        await play(fault, away[:direct], figures, draw, ingest=False)
        await play(fault, away[direct:], figures, draw, ingest=True)
        print(figures.row(fault), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
