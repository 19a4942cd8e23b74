"""Kills or pauses workers, or kills NATS, at random moments under load, and checks every outcome.

A server keeps sixteen calls open. Half of the calls write. Three workers run them. In each round,
one process is killed with SIGKILL at a random moment and started again a moment later, or one
worker is paused. A paused worker continues after JetStream has delivered its calls to others. At
the end, these statements must be true of every call:

- It has one outcome, and no result arrived late.
- A call that writes ran at most once. If it completed, it ran once from its beginning to its end.
- A failure with the effect "none" means that the call never ran.
- The queue is empty.

Run: python -m bench.team.worker_faults [--rounds 20] [--fault kill-worker|pause-worker|kill-nats]
"""

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.engines import NatsServer, nats_server
from tests.workers.team import FAST, Team, team
from treadle.events import Outcome
from treadle.events.types import Effect, ToolCallCompleted, ToolCallFailed, ToolCallLate

FAULTS = ("kill-worker", "pause-worker", "kill-nats")
WORKERS, CLIENTS = 3, 16
ROUND_SECONDS = 3.0
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

    async def client(self, number: int) -> None:
        """Make calls until the load stops."""
        count = 0
        while not self.stopped:
            count += 1
            tool = "writing" if self.draw.random() < 0.5 else "reading"
            text = f"{tool[0]}-{number}-{count}"
            self.outcomes[text] = None
            future = await self.at.call(tool, text=text, seconds=self.draw.uniform(0, LONGEST_CALL))
            done, _ = await asyncio.wait({future}, timeout=OUTCOME_SECONDS)
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


async def run(rounds: int, fault: str, seed: int) -> int:
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, nats_server(Path(name)) as server:
        async with AsyncExitStack() as stack:
            at = await stack.enter_async_context(team(server, Path(name), timing=TIMING))
            load = Load(at, draw)
            processes = [await at.process(f"worker{number}") for number in range(WORKERS)]
            clients = [asyncio.create_task(load.client(number)) for number in range(CLIENTS)]
            for number in range(rounds):
                before = draw.uniform(0, ROUND_SECONDS)
                await asyncio.sleep(before)
                victim = draw.randrange(WORKERS)
                if fault == "kill-nats":
                    await restart(server, draw.uniform(0, 2))
                elif fault == "pause-worker":
                    processes[victim].send_signal(signal.SIGSTOP)
                    await asyncio.sleep(2 * TIMING.ack_wait)
                    processes[victim].send_signal(signal.SIGCONT)
                else:
                    processes[victim].kill()
                    await processes[victim].wait()
                    processes[victim] = await at.process(f"worker{WORKERS + number}")
                await asyncio.sleep(ROUND_SECONDS - before)
                print(f"round {number + 1}: {len(load.outcomes):,} calls", flush=True)
            load.stopped = True
            await asyncio.gather(*clients)
            left = await emptied(at)
            return report(load, rounds, fault, left)


async def restart(server: NatsServer, seconds: float) -> None:
    """Kill NATS, and start it again after some seconds."""
    await asyncio.to_thread(server.kill)
    await asyncio.sleep(seconds)
    await asyncio.to_thread(server.start)


async def emptied(at: Team) -> int:
    """Wait until the queue is empty, but at most 20 seconds. Returns the number of calls in it."""
    left = 0
    for _ in range(40):
        if not (left := await at.queued()):
            break
        await asyncio.sleep(0.5)
    return left


def report(load: Load, rounds: int, fault: str, left: int) -> int:
    """Print the numbers of outcomes and all faults, and return the exit status."""
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
    faults = [*load.faults(), *([f"{left} calls are left in the queue"] if left else [])]
    print("\n".join(faults) if faults else "no fault")
    return 1 if faults else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--fault", choices=FAULTS, default=FAULTS[0])
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    return asyncio.run(run(options.rounds, options.fault, options.seed))


if __name__ == "__main__":
    sys.exit(main())
