"""Ways to break an installation: a network that drops packets, a full disk, repeated messages."""

import asyncio
import contextlib
import os
import random
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import nats
import nats.errors
from nats.aio.msg import Msg

_MARK = "Treadle-Repeated"
_EXPECTATIONS = ("Nats-Msg-Id", "Nats-Expected")
"""The beginnings of headers with which JetStream would refuse a repeated message."""


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


@contextmanager
def network() -> Iterator[Network]:
    """Create a network namespace, and remove it at the end. Only root may do so."""
    opened = Network()
    opened.open()
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a tmpfs of 64 MB at a new folder, and unmount it at the end. Only root may do so."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(folder)]
    subprocess.run(command, check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def fill(path: Path) -> None:
    """Write a file until the disk is full."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4_096))


@dataclass
class Repeater:
    """Sends some messages of NATS a second time, late and therefore in another order."""

    share: float = 0.2
    """The part of the messages that is sent again."""
    latest: float = 1.0
    """The maximum delay in seconds."""
    repeated: int = 0

    @asynccontextmanager
    async def repeating(
        self, url: str, subjects: tuple[str, ...], draw: random.Random
    ) -> AsyncIterator[None]:
        """Repeat messages of the subjects until the context ends."""
        client = await nats.connect(
            url.split(","), error_cb=_ignore, max_reconnect_attempts=-1,
            reconnect_time_wait=0.1,
        )  # fmt: skip
        later: set[asyncio.Task[None]] = set()

        async def send(message: Msg, headers: dict[str, str]) -> None:
            await asyncio.sleep(draw.uniform(0, self.latest))
            with contextlib.suppress(nats.errors.Error):
                await client.publish(
                    message.subject, message.data, reply=message.reply, headers=headers
                )
                self.repeated += 1

        async def see(message: Msg) -> None:
            headers = dict(message.headers or {})
            if _MARK in headers or draw.random() > self.share:
                return
            kept = {
                name: value for name, value in headers.items() if not name.startswith(_EXPECTATIONS)
            }
            task = asyncio.create_task(send(message, {**kept, _MARK: "1"}))
            later.add(task)
            task.add_done_callback(later.discard)

        for subject in subjects:
            await client.subscribe(subject, cb=see)
        await client.flush()
        try:
            yield
            if later:
                await asyncio.wait(later)
        finally:
            await client.close()


async def _ignore(_error: Exception) -> None:
    """Ignore an error of the connection, because NATS is killed on purpose."""
