"""Breaks workers, NATS and its network at random moments under load, and checks every outcome.

A server keeps sixteen calls open. Half of the calls write. Three workers run them. In each round,
one part fails at a random moment:

- `kill-worker`: SIGKILL to a worker. Another worker starts.
- `pause-worker`: SIGSTOP to a worker until JetStream has delivered its calls to others
- `kill-nats`: SIGKILL to NATS, which starts again within two seconds
- `away-nats`: NATS is stopped for some seconds
- `cut-nats`: packets to NATS are dropped for some seconds (network namespace, root)
- `reorder`: half of the messages between the server and the workers is sent a second time, late

After each round, these statements must be true of every call:

- It has one outcome, and no result arrived late.
- A call that writes ran at most once. If it completed, it ran once from its beginning to its end.
- A failure with the effect "none" means that the call never ran.
- The queue is empty.

Run: python -m bench.team.worker_faults [--rounds 20] [--away 4] [--long 5] [--only FAULT]
"""

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.team.breaking import Network, Repeater, network
from tests.engines import NatsServer
from tests.workers.team import FAST, Team, team
from treadle.events import Outcome
from treadle.events.types import Effect, ToolCallCompleted, ToolCallFailed, ToolCallLate

WORKERS, CLIENTS = 3, 16
ROUND_SECONDS = 3.0
LONG_SECONDS = 30.0
LONGEST_CALL = 0.3
TIMING = replace(FAST, ack_wait=2.0, no_worker=20.0, away=60.0)
OUTCOME_SECONDS = 90.0
"""The time after which a call without an outcome counts as lost."""


@dataclass
class Load:
    """The calls of the clients, and their outcomes."""

    at: Team
    draw: random.Random
    outcomes: dict[str, Outcome | None] = field(default_factory=dict)
    stopped: bool = False
    longest: float = 0.0
    """The longest time of a call in seconds."""

    async def client(self) -> None:
        """Make calls until the load stops."""
        while not self.stopped:
            tool = "writing" if self.draw.random() < 0.5 else "reading"
            text = f"{tool[0]}-{len(self.outcomes)}"
            self.outcomes[text] = None
            future = await self.at.call(tool, text=text, seconds=self.draw.uniform(0, LONGEST_CALL))
            begun = time.monotonic()
            done, _ = await asyncio.wait({future}, timeout=OUTCOME_SECONDS)
            self.longest = max(self.longest, time.monotonic() - begun)
            if done:
                self.outcomes[text] = future.result()

    def faults(self) -> list[str]:
        """The statements of this module that are not true."""
        begun = Counter(line.split()[2] for line in self.at.runs("begin"))
        ended = Counter(line.split()[2] for line in self.at.runs("end"))
        found = []
        for text, outcome in self.outcomes.items():
            writes = text.startswith("w")
            match outcome:
                case None:
                    found.append(f"{text} has no outcome")
                case ToolCallCompleted() if json.loads(outcome.content)["text"] != text:
                    found.append(f"{text} has the result of another call")
                case ToolCallCompleted() if writes and (begun[text], ended[text]) != (1, 1):
                    found.append(f"{text} completed after {begun[text]} runs")
                case ToolCallCompleted() if not ended[text]:
                    found.append(f"{text} completed without a run")
                case ToolCallFailed(error=error) if error.effect is Effect.NONE and begun[text]:
                    if writes:
                        found.append(f"{text} ran, but its effect is none: {error.message}")
                case _:
                    pass
            if writes and begun[text] > 1:
                found.append(f"{text} ran {begun[text]} times")
        late = sum(isinstance(event, ToolCallLate) for event in self.at.events)
        return [*found, *([f"{late} late results"] if late else [])]


@dataclass
class Broken:
    """The parts that a fault may break."""

    at: Team
    nats: NatsServer
    network: Network | None
    draw: random.Random
    away: float = 0.0
    """The seconds for which a part is away in this round."""
    workers: list[asyncio.subprocess.Process] = field(default_factory=list)
    started: int = 0
    repeater: Repeater = field(default_factory=lambda: Repeater(share=0.5, latest=1.0))

    async def start_worker(self) -> None:
        self.started += 1
        self.workers.append(await self.at.process(f"worker{self.started}"))


async def kill_worker(broken: Broken) -> None:
    victim = broken.workers.pop(broken.draw.randrange(WORKERS))
    victim.kill()
    await victim.wait()
    await broken.start_worker()


async def pause_worker(broken: Broken) -> None:
    victim = broken.draw.choice(broken.workers)
    victim.send_signal(signal.SIGSTOP)
    await asyncio.sleep(2 * TIMING.ack_wait)
    victim.send_signal(signal.SIGCONT)


async def kill_nats(broken: Broken) -> None:
    await asyncio.to_thread(broken.nats.kill)
    await asyncio.sleep(broken.draw.uniform(0, 2))
    await asyncio.to_thread(broken.nats.start)


async def away_nats(broken: Broken) -> None:
    await asyncio.to_thread(broken.nats.stop)
    await asyncio.sleep(broken.away)
    await asyncio.to_thread(broken.nats.start)


async def cut_nats(broken: Broken) -> None:
    assert broken.network is not None
    broken.network.cut()
    await asyncio.sleep(broken.away)
    broken.network.heal()


async def reorder(broken: Broken) -> None:
    subjects = (broken.at.names.subject(">"),)
    async with broken.repeater.repeating(broken.nats.url, subjects, broken.draw):
        await asyncio.sleep(broken.away)


FAULTS: dict[str, Callable[[Broken], Awaitable[None]]] = {
    "kill-worker": kill_worker,
    "pause-worker": pause_worker,
    "kill-nats": kill_nats,
    "away-nats": away_nats,
    "cut-nats": cut_nats,
    "reorder": reorder,
}


@asynccontextmanager
async def opened(fault: str, draw: random.Random) -> AsyncIterator[Broken]:
    """Start NATS, a server and its workers, and end them afterwards."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        nats = NatsServer(folder)
        net = stack.enter_context(network()) if fault == "cut-nats" else None
        if net is not None:
            nats.host, nats.prefix = net.host, net.prefix
        await asyncio.to_thread(nats.start)
        stack.callback(nats.stop)
        at = await stack.enter_async_context(team(nats, folder, timing=TIMING))
        broken = Broken(at, nats, net, draw)
        for _ in range(WORKERS):
            await broken.start_worker()
        yield broken


async def run(fault: str, away: list[float], draw: random.Random) -> bool:
    """Play one round for each of the times that a part is away. Returns whether all went well."""
    async with opened(fault, draw) as broken:
        load, found = Load(broken.at, draw), list[str]()
        for number, broken.away in enumerate(away, 1):
            load.stopped = False
            clients = [asyncio.create_task(load.client()) for _ in range(CLIENTS)]
            before = draw.uniform(0, ROUND_SECONDS)
            await asyncio.sleep(before)
            await FAULTS[fault](broken)
            await asyncio.sleep(ROUND_SECONDS - before)
            load.stopped = True
            await asyncio.gather(*clients)
            left = await emptied(broken.at)
            queued = [f"{left} calls are left in the queue"] if left else []
            found = [*load.faults(), *queued]
            print(
                f"round {number}: {len(load.outcomes):,} calls, the longest took"
                f" {load.longest:.1f} s, {broken.repeater.repeated:,} repeated messages,"
                f" {len(found)} faults",
                flush=True,
            )
            if found:
                break
        report(load, len(away), fault, found)
        return not found


async def emptied(at: Team) -> int:
    """Wait until the queue is empty, but at most 20 seconds. Returns the number of calls in it."""
    left = 0
    for _ in range(40):
        if not (left := await at.queued()):
            break
        await asyncio.sleep(0.5)
    return left


def report(load: Load, rounds: int, fault: str, found: list[str]) -> None:
    """Print the numbers of outcomes and all faults."""
    kinds: Counter[str] = Counter()
    for text, outcome in load.outcomes.items():
        tool = "write" if text.startswith("w") else "read"
        if isinstance(outcome, ToolCallFailed):
            kinds[f"{tool} failed, {outcome.error.kind}, effect {outcome.error.effect}"] += 1
        elif outcome is not None:
            kinds[f"{tool} completed"] += 1
    print(f"{rounds} times {fault}; {len(load.outcomes):,} calls")
    for kind, count in sorted(kinds.items()):
        print(f"  {count:6,}  {kind}")
    print("\n".join(found) if found else "no fault", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="the rounds of each fault")
    parser.add_argument("--away", type=float, default=4.0, help="seconds that a part is away")
    parser.add_argument("--long", type=int, default=5, help="rounds of away-nats with 30 s")
    parser.add_argument("--only", nargs="*", choices=tuple(FAULTS), default=tuple(FAULTS))
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    draw = random.Random(options.seed)
    failed = False
    for fault in options.only:
        long = options.long if fault == "away-nats" else 0
        away = [LONG_SECONDS] * long + [options.away] * (options.rounds - long)
        draw.shuffle(away)
        failed |= not asyncio.run(run(fault, away, draw))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
