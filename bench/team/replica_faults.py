"""Kills servers and NATS at random moments under load, and checks the statements below.

Two servers share their stores. Exporters send spans through JetStream, and send some of them again
in another order. People start turns at one server, and follow, cancel and approve them at the
other. Pages follow the events. A program sends some messages between the servers a second time, and
late. In each round, one process is killed with SIGKILL at a random moment and started again. At the
end, these statements must be true:

- Every acknowledged span is in the store, once, and the summary has exact sums.
- Every request of a turn ended in time, and every turn ended unless its server was killed.
- No page received an event twice, or the events of a turn in another order, unless the server
  reported a gap to the page.

Run: python -m bench.team.replica_faults [--rounds 20] [--postgres]
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from bench.team.breaking import Repeater
from tests.engines import NatsServer, free_port, nats_server, postgres_server
from tests.fakes.provider import FakeProvider, RecordedRequest
from tests.fakes.replies import Answer, Call, Pause, Script, delta, sse
from tests.server.exports import export, span

ROUND_SECONDS = 6.0
EXPORTERS, PEOPLE = 4, 4
SPANS = 20
REQUEST_SECONDS = 40.0
"""The time after which a request counts as one that waits for ever."""
END_SECONDS = 90.0
"""The time after which a turn without an end counts as one that waits for ever."""
ENDS = {"SessionFinished", "SessionFailed", "SessionCancelled"}


@dataclass
class Server:
    """A server process, which starts again at the same address."""

    repo: Path
    variables: dict[str, str]
    port: int = field(default_factory=free_port)
    starts: int = 0
    process: asyncio.subprocess.Process | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start the process, and wait until it accepts requests."""
        command = (sys.executable, "-m", "treadle", "serve", "--json", "--port", str(self.port))
        while True:
            self.process = await asyncio.create_subprocess_exec(
                *command, "--repo", str(self.repo), env={**os.environ, **self.variables},
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            assert self.process.stdout is not None
            if await self.process.stdout.readline():
                break
            await self.process.wait()  # without NATS it ends, and is started again
        self.starts += 1

    async def kill(self) -> None:
        """End the process at once."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


@dataclass
class Load:
    """What the clients did, and the faults that they saw."""

    servers: list[Server]
    draw: random.Random
    http: httpx2.AsyncClient
    sent: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    turns: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    events: int = 0
    gaps: int = 0
    answered: int = 0
    faults: list[str] = field(default_factory=list)
    approving: set[asyncio.Task[None]] = field(default_factory=set)
    stopped: bool = False

    def any(self) -> Server:
        return self.draw.choice(self.servers)

    async def request(self, server: Server, method: str, path: str, **more: Any) -> Any:
        """Send a request. Returns None if the connection fails, as it does after a kill."""
        started = time.monotonic()
        try:
            answer = await self.http.request(method, f"{server.address}{path}", **more)
        except httpx2.TimeoutException:
            self.faults.append(f"{method} {path} did not end")
            return None
        except httpx2.HTTPError:
            return None
        if time.monotonic() - started > REQUEST_SECONDS - 5:
            self.faults.append(f"{method} {path} took {time.monotonic() - started:.0f} s")
        self.statuses[f"{path.split('/')[1]} {answer.status_code}"] += 1
        return answer

    async def exporter(self, number: int) -> None:
        """Send spans. About every fifth export repeats an earlier one."""
        old: list[tuple[bytes, list[str]]] = []
        count = 0
        while not self.stopped:
            if old and self.draw.random() < 0.2:
                body, ids = self.draw.choice(old[-50:])
            else:
                count += 1
                trace = number * 1_000_000 + count
                ids = [f"{trace:032x}/{each:016x}" for each in range(1, SPANS + 1)]
                body = json.dumps(export(*(_span(each, trace) for each in range(1, SPANS + 1))))\
                    .encode()  # fmt: skip
                old.append((body, ids))
            self.sent.update(ids)
            answer = await self.request(
                self.any(), "POST", "/v1/traces", content=body,
                headers={"Content-Type": "application/json"},
            )  # fmt: skip
            if answer is not None and answer.status_code == 200:
                self.acknowledged.update(ids)
            else:
                await asyncio.sleep(0.05)

    async def person(self) -> None:
        """Start turns at one server, and follow and cancel them at another."""
        while not self.stopped:
            owner, other = self.draw.sample(self.servers, 2)
            starts = owner.starts
            begun = await self.request(owner, "POST", "/api/v1/turns", json={"text": "Look."})
            if begun is None or begun.status_code != 202:
                await asyncio.sleep(0.2)
                continue
            path = f"/api/v1/turns/{begun.json()['request_id']}"
            if self.draw.random() < 0.3:
                await asyncio.sleep(self.draw.uniform(0, 0.5))
                await self.request(other, "POST", f"{path}/cancel")
            self.turns[await self.end(owner, other, path, starts)] += 1

    async def end(self, owner: Server, other: Server, path: str, starts: int) -> str:
        """Wait for the end of a turn, and return how it ended."""
        until = time.monotonic() + END_SECONDS
        while time.monotonic() < until:
            shown = await self.request(other, "GET", path, params={"wait": 5})
            if owner.starts != starts:
                return "server killed"
            if shown is not None and shown.status_code == 200:
                state: str = shown.json()["state"]
                if state != "running":
                    return state
            else:
                await asyncio.sleep(0.2)
        self.faults.append(f"{path} has no end")
        return "no end"

    async def page(self) -> None:
        """Follow the events at any server, and answer approval questions at any server."""
        after: int | None = None
        newest: dict[str, int] = {}
        while not self.stopped:
            query = "?approve=true" + (f"&after={after}" if after is not None else "")
            address = self.any().address.replace("http", "ws")
            try:
                async with connect(f"{address}/api/v1/events/socket{query}") as socket:
                    while not self.stopped:
                        event = json.loads(await asyncio.wait_for(socket.recv(), 30))
                        after = self.see(event, newest, after)
                        if event["type"] == "ApprovalRequested":
                            self.approving.add(asyncio.create_task(self.approve(event)))
            except (OSError, WebSocketException, TimeoutError):
                await asyncio.sleep(0.1)

    def see(self, event: dict[str, Any], newest: dict[str, int], after: int | None) -> int | None:
        """Check the order of an event, and return the number after which the page resumes."""
        if event["type"] == "gap":
            self.gaps += 1
            newest.clear()
            return int(event["next"]) - 1
        if event["type"] == "open":
            return after if after is not None else int(event["after"])
        if event["type"] in {"alive", "SpanStarted", "SpanEnded", "SpansLeftOut"}:
            return event.get("seq", after)
        self.events += 1
        request = event["request_id"]
        number = event.get("origin_seq", event["seq"])
        if number <= newest.get(request, 0):
            self.faults.append(f"{event['type']} {number} came after {newest[request]}")
        newest[request] = number
        return int(event["seq"])

    async def approve(self, event: dict[str, Any]) -> None:
        answers = [
            await self.request(
                server, "POST", f"/api/v1/approvals/{event['approval_id']}", json={"scope": "once"}
            )
            for server in self.draw.sample(self.servers, 2)
        ]
        taken = [each.json()["taken"] for each in answers if each and each.status_code == 200]
        self.answered += sum(taken)
        if sum(taken) > 1:
            self.faults.append("a question took two answers")


def _span(number: int, trace: int) -> dict[str, Any]:
    made = span(number, trace=trace)
    usage = {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "3"}}
    return {**made, "attributes": [*made["attributes"], usage]}


def _reply(request: RecordedRequest) -> Script | Answer:
    """Return a call that reads a private file, which needs approval, and then a slow answer."""
    if request.messages[-1]["role"] == "user":
        return Answer("", (Call("read_file", {"path": ".env"}, id="c1"),))
    words = [step for _ in range(4) for step in (delta(content="a "), Pause(0.1))]
    return sse(*words, delta(content=".", finish_reason="stop"))


async def repeat_messages(url: str, load: Load, repeater: Repeater) -> None:
    """Send some of the messages between the servers again."""
    subjects = tuple(f"treadle.default.{each}" for each in ("events", "servers", "server.*"))
    async with repeater.repeating(url, subjects, load.draw):
        while not load.stopped:  # noqa: ASYNC110  (the load has no event)
            await asyncio.sleep(0.2)


@asynccontextmanager
async def environment(
    folder: Path, *, postgres: bool, ingest: bool = True, count: int = 2
) -> AsyncIterator[tuple[NatsServer, Load]]:
    """Start NATS, a provider and `count` servers. With `ingest`, spans go through NATS."""
    repo = folder / "repo"
    repo.mkdir()
    (repo / ".env").write_text("TOKEN=abc\n")
    async with AsyncExitStack() as stack:
        bus = stack.enter_context(nats_server(folder))
        provider = await stack.enter_async_context(FakeProvider([_reply] * 100_000))
        variables = {
            "TREADLE_HOME": str(folder / "home"),
            "TREADLE_BUS__URL": bus.url,
            "TREADLE_BUS__INGEST": str(ingest).lower(),
            "TREADLE_BASE_URL": provider.base_url,
            "TREADLE_API_KEY": "sk-fake-0123456789",
        }
        if postgres:
            database = stack.enter_context(postgres_server(folder, durable=True))
            variables["TREADLE_STORE__URL"] = database.url()
        servers = [Server(repo, variables) for _ in range(count)]
        for server in servers:
            await server.start()
            stack.push_async_callback(server.kill)
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=REQUEST_SECONDS))
        yield bus, Load(servers, random.Random(), http)


async def run(rounds: int, seed: int, *, postgres: bool) -> int:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # noqa: ASYNC240  (PostgreSQL runs as another user)
        async with environment(Path(name), postgres=postgres) as (bus, load):
            load.draw.seed(seed)
            repeater = Repeater()
            tasks = [
                *(asyncio.create_task(load.exporter(number + 1)) for number in range(EXPORTERS)),
                *(asyncio.create_task(load.person()) for _ in range(PEOPLE)),
                *(asyncio.create_task(load.page()) for _ in range(2)),
                asyncio.create_task(repeat_messages(bus.url, load, repeater)),
            ]
            killed: Counter[str] = Counter()
            for number in range(rounds):
                before = load.draw.uniform(0, ROUND_SECONDS)
                await asyncio.sleep(before)
                victims: list[str | Server] = ["NATS", *load.servers]
                victim = load.draw.choice(victims)
                await kill(victim, bus, load.draw.uniform(0, 2))
                killed["NATS" if isinstance(victim, str) else "a server"] += 1
                await asyncio.sleep(ROUND_SECONDS - before)
                print(f"round {number + 1}: {len(load.acknowledged):,} spans, "
                      f"{load.turns.total():,} turns, {load.events:,} events, {load.gaps} gaps, "
                      f"{len(load.faults)} faults", flush=True)  # fmt: skip
            load.stopped = True
            await asyncio.wait(tasks, timeout=END_SECONDS)
            for task in tasks:
                if not task.done():
                    task.cancel()
            await check_store(load)
            return report(load, killed, repeater)


async def kill(victim: "str | Server", bus: NatsServer, seconds: float) -> None:
    """Kill a process, and start it again after some seconds."""
    if isinstance(victim, Server):
        await victim.kill()
        await asyncio.sleep(seconds)
        await victim.start()
        return
    await asyncio.to_thread(bus.kill)
    await asyncio.sleep(seconds)
    await asyncio.to_thread(bus.start)


async def check_store(load: Load) -> None:
    """Wait until all acknowledged spans are stored, and compare the store with what was sent."""
    of_exporters = {"query": "model:small"}
    stored: set[str] = set()
    rows = 0
    until = time.monotonic() + 120
    while time.monotonic() < until:
        stored, rows = await read_spans(load)
        if load.acknowledged <= stored:
            break
        await asyncio.sleep(1)
    if lost := load.acknowledged - stored:
        load.faults.append(f"{len(lost)} acknowledged spans are lost")
    if rows != len(stored):
        load.faults.append(f"{rows} rows for {len(stored)} spans")
    if unknown := stored - load.sent:
        load.faults.append(f"{len(unknown)} spans were never sent")
    answer = await load.http.get(f"{load.servers[0].address}/api/v1/summary", params=of_exporters)
    found = answer.json()
    load.statuses[f"spans stored {rows}"] += 1
    for name, value in (("total_spans", rows), ("total_input_tokens", 3 * rows)):
        if (counted := _find(found, name)) != value:
            load.faults.append(f"the summary has {counted} {name}, the store {value}")


async def read_spans(load: Load) -> tuple[set[str], int]:
    """The ids of the stored spans of the exporters, and the number of rows."""
    found: set[str] = set()
    rows = 0
    cursor = None
    while True:
        parameters: dict[str, Any] = {"limit": 1000, "query": "model:small"}
        if cursor is not None:
            parameters["cursor"] = cursor
        answer = await load.http.get(f"{load.servers[0].address}/api/v1/spans", params=parameters)
        answer.raise_for_status()
        page = answer.json()
        rows += len(page["data"])
        found |= {f"{each['trace_id']}/{each['span_id']}" for each in page["data"]}
        cursor = page["pagination"].get("next_cursor")
        if not cursor:
            return found, rows


def _find(value: Any, name: str) -> Any:
    """The first number with this name in nested JSON."""
    if isinstance(value, dict):
        if isinstance(value.get(name), int):
            return value[name]
        for each in value.values():
            if (found := _find(each, name)) is not None:
                return found
    return None


def report(load: Load, killed: Counter[str], repeater: Repeater) -> int:
    """Print the numbers and the faults, and return the exit status."""
    print("kill -9: " + ", ".join(f"{count} times {name}" for name, count in killed.items()))
    print(f"spans: {len(load.sent):,} sent, {len(load.acknowledged):,} acknowledged")
    print(f"turns: {dict(load.turns)}; approvals taken: {load.answered}")
    print(f"events at pages: {load.events:,}, gaps: {load.gaps}; repeated: {repeater.repeated:,}")
    print(f"responses: {dict(sorted(load.statuses.items()))}")
    print("\n".join(load.faults[:20]) if load.faults else "no fault")
    return 1 if load.faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--postgres", action="store_true", help="use PostgreSQL, not SQLite")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    return asyncio.run(run(options.rounds, options.seed, postgres=options.postgres))


if __name__ == "__main__":
    sys.exit(main())
