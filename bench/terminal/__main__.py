"""How quickly the terminal starts, takes keys and shows answers, as Markdown tables.

Run: python -m bench.terminal [--only start|keys|stream|idle] [--runs N] [--lines N,N]

`treadle chat` runs in a pseudo-terminal of 100 columns and 30 lines, with a provider in a separate
process. A key is on the screen when the program has written its character. The conversation of
5,000 messages is saved before, and resumed.
"""

import argparse
import asyncio
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.processes import processor, resident
from bench.terminal.provider import LINE_RATE
from bench.terminal.screen import Screen, screen
from treadle.app.conversations import Conversations
from treadle.app.stores import Stores
from treadle.clock import SystemClock
from treadle.events import EventBus
from treadle.events.types import StopReason
from treadle.ids import new_id
from treadle.llm.messages import AssistantMessage, UserMessage
from treadle.session.conversation_writer import ConversationWriter

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = 5_000
KEYS = 100
IDLE_SECONDS = 10
ALPHABET = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿĀāĂăĄąĆćĈĉĊċČčĎďĐđĒēĔĕĖė"
"""Characters that no answer contains, so that each key is recognised in the output."""
NUMBER = re.compile(rb"(?:Line |row_)(\d{6})")
PATIENCE = 60
"""Seconds after the end of an answer after which it is given up."""
READY = "\x1b[?1004h"
PARTS = ("start", "keys", "stream", "idle")


@dataclass(frozen=True, slots=True)
class Place:
    """A repository, a data folder and a provider."""

    repository: Path
    environment: Mapping[str, str]

    @contextmanager
    def terminal(self, *options: str) -> Iterator[tuple[Screen, float]]:
        """Run `treadle chat`."""
        command = [sys.executable, "-m", "treadle.cli.main", "chat", *options]
        with screen(command, self.repository, self.environment) as opened:
            yield opened


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--lines", default="5000,50000")
    given = parser.parse_args()
    parts: dict[str, Callable[[Place], Sequence[str]]] = {
        "start": lambda place: start(place, given.runs),
        "keys": keys,
        "stream": lambda place: stream(place, [int(each) for each in given.lines.split(",")]),
        "idle": idle,
    }
    with place() as found:
        for part in [given.only] if given.only else PARTS:
            sys.stderr.write(f"terminal: {part}\n")
            print("\n".join(parts[part](found)), end="\n\n", flush=True)
    print(f"Load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


@contextmanager
def place() -> Iterator[Place]:
    """A copy of Treadle's own source as the repository, with a warm index."""
    with tempfile.TemporaryDirectory() as folder, provider() as address:
        base = Path(folder)
        repository = base / "treadle"
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", repository],
                       check=True)  # fmt: skip
        environment = {
            **{name: value for name, value in os.environ.items() if "TREADLE" not in name},
            "TREADLE_HOME": str(base / "home"),
            "TREADLE_BASE_URL": address,
            "TREADLE_API_KEY": "key",
            "TREADLE_MODEL": "fake-model",
            "PYTHONPATH": str(ROOT),
        }
        index = [sys.executable, "-m", "treadle.cli.main", "index", "--repo", str(repository)]
        subprocess.run(index, check=True, env=environment, stdout=subprocess.DEVNULL)
        os.environ["TREADLE_HOME"] = environment["TREADLE_HOME"]
        asyncio.run(save_conversation(repository))
        yield Place(repository, environment)


@contextmanager
def provider() -> Iterator[str]:
    """The address of a provider."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.terminal.provider"], cwd=ROOT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def save_conversation(repository: Path) -> None:
    """Save a conversation of 5,000 messages. Its last turn is unfinished."""
    clock = SystemClock()
    async with Conversations(repository, EventBus(clock), clock, Stores.of_user()) as conversations:
        conversation = await conversations.create("custom/fake-model")
        writer = ConversationWriter(conversation, await conversations.store(), clock)
        for number in range(MESSAGES // 2):
            await writer.append(UserMessage(f"Question {number}"), request_id=new_id())
            asked = conversation.entries[-1]
            await writer.append(AssistantMessage(f"Answer {number}.\n\n- with\n- a list\n" * 3))
            if number < MESSAGES // 2 - 1:
                await writer.end_turn(asked, StopReason.COMPLETED)


def start(place: Place, runs: int) -> Sequence[str]:
    """From the start of the process until a key that was pressed at once is on the screen."""
    times: dict[str, list[float]] = {"a new conversation": [], f"{MESSAGES:,} messages": []}
    for options, measured in zip(((), ("--session", "last")), times.values(), strict=True):
        for _ in range(runs):
            with place.terminal(*options) as (shown, began):
                shown.type(ALPHABET[0])
                measured.append(1_000 * (shown.wait_for(ALPHABET[0]) - began))
    lines = ["| start until a key is on the screen | median (ms) | slowest (ms) |", "|---|---|---|"]
    return [*lines, *(
        f"| {name} | {median(measured):.0f} | {max(measured):.0f} |"
        for name, measured in times.items()
    )]  # fmt: skip


def keys(place: Place) -> Sequence[str]:
    """Key echo in a conversation of 5,000 messages, idle and while an answer streams."""
    with place.terminal("--session", "last") as (shown, _):
        shown.wait_for("Question 2499")
        time.sleep(5)  # the index is compared with the files
        quiet = echoes(shown)
        shown.type("\x7f" * len(ALPHABET) + f"tokens {60}\r")
        shown.wait_for("parser", after=shown.size)
        busy = echoes(shown)
    lines = [
        f"| a key is on the screen, {MESSAGES:,} messages | p50 (ms) | p95 (ms) | max (ms) |",
        "|---|---|---|---|",
    ]
    for name, times in (("idle", quiet), ("while 200 tokens a second arrive", busy)):
        at = f"{median(times):.1f} | {times[int(0.95 * len(times))]:.1f} | {times[-1]:.1f}"
        lines.append(f"| {name} | {at} |")
    return lines


def echoes(shown: Screen) -> Sequence[float]:
    """Milliseconds until a key is on the screen, in order of size."""
    chance, times = random.Random(1), []
    for number in range(KEYS):
        time.sleep(0.05 + 0.1 * chance.random())
        if number % len(ALPHABET) == 0 and number:
            shown.type("\x7f" * len(ALPHABET))
            time.sleep(1)
        before, character = shown.size, ALPHABET[number % len(ALPHABET)]
        pressed = shown.type(character)
        times.append(1_000 * (shown.wait_for(character, after=before) - pressed))
    return sorted(times)


def stream(place: Place, sizes: Sequence[int]) -> Sequence[str]:
    """The processor time of the first and the last tenth of long answers."""
    lines = [
        "| 1,000 lines a second | lines | first tenth (s) | last (s) | answer (s) | memory (MB) |",
        "|---|---|---|---|---|---|",
    ]
    for size in sizes:
        with place.terminal() as (shown, _):
            shown.wait_for(READY)
            time.sleep(3)
            began = shown.type(f"lines {size}\r")
            lines.append(row("Treadle", shown, size, began))
        command = [sys.executable, "-m", "bench.terminal.printer", str(size)]
        with screen(command, ROOT, place.environment) as (shown, began):
            lines.append(row("`rich.live` with Markdown", shown, size, began))
    return lines


def row(name: str, shown: Screen, size: int, began: float) -> str:
    """Follow the numbers of the lines in the output until the last one is shown."""
    pid, position, reached = shown.process.pid, 0, 0
    used: list[float] = []
    """The processor time when the first line and each tenth were shown."""
    until = began + PATIENCE + size / LINE_RATE
    while reached < size - 1 and time.perf_counter() < until:
        time.sleep(0.005)
        output = shown.output_after(position)
        numbers = NUMBER.findall(output)
        if numbers:
            reached = max(map(int, numbers))
            position += max(0, len(output) - 20)
            while len(used) <= 10 * (reached + 1) // size:
                used.append(processor(pid))
    seconds, memory = time.perf_counter() - began, resident(pid)
    first = f"{used[1] - used[0]:.2f}" if len(used) > 1 else ""
    if reached < size - 1:
        done = f"{reached:,} lines in {seconds:.0f} s"
        return f"| {name} | {size:,} | {first} | | {done} | {memory:.0f} |"
    last = f"{used[10] - used[9]:.2f}"
    return f"| {name} | {size:,} | {first} | {last} | {seconds:.1f} | {memory:.0f} |"


def idle(place: Place) -> Sequence[str]:
    """The processor time of ten seconds without keys, and the memory."""
    lines = ["| without keys | processor (%) | memory (MB) |", "|---|---|---|"]
    with place.terminal() as (shown, _):
        shown.wait_for(READY)
        lines.append(quiet_row("a new conversation", shown))
    with place.terminal("--session", "last") as (shown, _):
        shown.wait_for("Question 2499")
        lines.append(quiet_row(f"{MESSAGES:,} messages, the last turn unfinished", shown))
        shown.type("silent\r")
        shown.wait_for("Well", after=shown.size)
        lines.append(quiet_row(f"{MESSAGES:,} messages, a turn waits for its provider", shown))
    return lines


def quiet_row(name: str, shown: Screen) -> str:
    """Measure after the start has settled."""
    time.sleep(8)
    before, began = processor(shown.process.pid), time.perf_counter()
    time.sleep(IDLE_SECONDS)
    used = (processor(shown.process.pid) - before) / (time.perf_counter() - began)
    return f"| {name} | {100 * used:.1f} | {resident(shown.process.pid):.0f} |"


if __name__ == "__main__":
    main()
