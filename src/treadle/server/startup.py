"""Starts the server: opens its socket, determines its host names, and runs until its end."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI

from treadle.app.running_server import recorded_server
from treadle.config.loader import LoadedConfig
from treadle.config.model import Settings
from treadle.errors import ConfigError, TreadleError, UsageError
from treadle.server.app import create_app
from treadle.server.connections import Admission, Connection, ServerConfig, most_strangers
from treadle.server.credentials import VARIABLE, Credentials, load_token, token_path
from treadle.server.current_project import ProjectServices
from treadle.server.draining import Drain, DrainTimes, refuse_connections, wait_for_tasks
from treadle.server.guard import LOOPBACK_NAMES
from treadle.server.identity_services import IdentityServices, open_identity_services
from treadle.server.measures import ServerMeasures
from treadle.server.peers import PeerUsers
from treadle.server.projects import Projects

_GRACE_SECONDS = 1
"""Seconds after which a stopping server closes the connections that are still open.

Event streams never end by themselves, so the server cannot wait for their end.
"""

_NAME_SECONDS = 2.0
"""The maximum time in seconds that the look-up of this machine's full name takes.

A slow name service can take minutes.
"""


@dataclass(frozen=True, slots=True)
class Ready:
    """The address of a running server, and the secrets that give access to it."""

    address: str
    page: str
    """A link with the page key. It gives a browser access until the server ends."""
    knows_user: bool
    """Whether programs of this user on this machine have access without a token."""
    token: str = field(repr=False)
    token_path: Path | None
    """The path of the file with the token. It is None if a variable contains the token."""
    warnings: tuple[str, ...] = ()
    """Sentences about data that the server cannot save or record."""


async def serve(
    root: Path,
    loaded: LoadedConfig,
    env: Mapping[str, str],
    *,
    host: str,
    port: int,
    require_token: bool = False,
    ready: Callable[[Ready], None],
) -> None:
    """Serve the repository until the process receives a signal. Port 0 chooses a free port.

    After SIGINT the server ends within a second. After SIGTERM it first completes its work
    (`draining`). A second signal after SIGTERM ends the process at once.

    `ready` is called when the server accepts connections. On a loopback address, programs of this
    user need no token if the system can distinguish users. With `require_token`, these programs
    need the token, too. On other addresses every request needs the token, an API key or a signed-in
    user. Raises UsageError if the address cannot be used. Raises ConfigError if the token is
    invalid, or if the address is not a loopback address and nobody else may use the server.
    """
    host = _unmapped(host)
    listening = _bind(host, port)
    with listening, ExitStack() as stack:
        bound = str(listening.getsockname()[0])
        ip = ip_address(bound)
        loopback = ip.is_loopback
        credentials = Credentials(load_token(env))
        peers = _open_peers(stack) if loopback and not require_token else None
        hosts = LOOPBACK_NAMES | {host.lower(), bound}
        settings = loaded.settings
        services = open_identity_services(settings.server)
        if not loopback:
            await asyncio.to_thread(_require_identities, services, settings, host)
            hosts |= await asyncio.to_thread(_machine_names)
        if settings.server.address is not None:
            hosts |= {(urlsplit(settings.server.address).hostname or "").lower()}
        app = create_app(
            root, loaded, env, hosts=hosts, credentials=credentials, services=services, host=host
        )
        config = _server_config(app, peers)
        name = bound if loopback or ip.is_unspecified else host
        address = _http_address(name, listening.getsockname()[1])
        reached = Ready(
            address,
            f"{_reachable(address)}/#key={credentials.page_key}",
            peers is not None,
            credentials.token,
            None if env.get(VARIABLE, "").strip() else token_path(),
        )

        record = stack.enter_context(ExitStack())

        def announce() -> None:
            projects: Projects[ProjectServices] = app.state.projects
            record.enter_context(recorded_server(root, _reachable(address)))
            ready(replace(reached, warnings=tuple(projects.default.server.app.warnings)))

        times = DrainTimes(settings.server.drain_notice, settings.server.drain_limit)
        server = _Server(config, announce, record.close, times)
        logging.getLogger("uvicorn.error").addFilter(_is_fault)
        stack.callback(logging.getLogger("uvicorn.error").removeFilter, _is_fault)
        await server.serve([listening])
        if not server.started:
            raise TreadleError("The server did not start.", hint="See the messages above.")


def _require_identities(services: IdentityServices, settings: Settings, host: str) -> None:
    """Raise ConfigError if there is no user, no key, and no provider that signs users in."""
    if settings.oidc.issuer is None and not services.store.has_identities(services.clock.now_us()):
        raise ConfigError(
            f"Other machines can reach a server at {host}, and it has no user and no API key yet.",
            hint="Invite a person with `treadle users invite EMAIL`, or create a key with "
            "`treadle keys create NAME`. Without --host only this machine reaches the server.",
        )


def _open_peers(stack: ExitStack) -> PeerUsers | None:
    """Open the look-up of users. Returns None if the system does not distinguish users."""
    peers = stack.enter_context(closing(PeerUsers()))
    return peers if peers.works else None


def _server_config(app: FastAPI, peers: PeerUsers | None) -> ServerConfig:
    return ServerConfig(
        app,
        Admission(peers, most_strangers(), app.state.drain),
        lifespan="on",
        log_level="error",
        access_log=False,
        ws="websockets-sansio",
        timeout_graceful_shutdown=_GRACE_SECONDS,
        server_header=False,
    )


def _http_address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


_NO_FAULTS = frozenset({
    # The gateway ends its response early if the response of the provider ends early.
    "ASGI callable returned without completing response.",
    # The server refused a WebSocket with an HTTP response.
    "ASGI callable returned without completing handshake.",
})  # fmt: skip


def _is_fault(record: logging.LogRecord) -> bool:
    return record.getMessage() not in _NO_FAULTS


class _Server(uvicorn.Server):
    """A uvicorn server that reports its start and its end, and drains after SIGTERM.

    It calls `ready` when it accepts connections, and `ending` when it begins to shut down. After
    the shutdown, uvicorn sends a received SIGINT to this process again. Therefore code after the
    shutdown runs only if the signal was SIGTERM.
    """

    def __init__(
        self,
        config: ServerConfig,
        ready: Callable[[], None],
        ending: Callable[[], None],
        times: DrainTimes,
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._ending = ending
        self._times = times
        self._drains = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._drains:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        elif sig == signal.SIGTERM and not self.should_exit:
            self._drains = True  # unlike this, `should_exit` would break off MCP responses
        else:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._drains

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()
        if self._drains:
            await self._drain(sockets or [])
        await super().shutdown(sockets)

    async def _drain(self, sockets: list[socket.socket]) -> None:
        app: FastAPI = self.config.app  # type: ignore[assignment]  # `_server_config` sets it
        drain: Drain = app.state.drain
        drain.begin()
        for connection in self.server_state.connections:
            if isinstance(connection, Connection):
                connection.announce_end()
        projects: Projects[ProjectServices] = app.state.projects

        measures: ServerMeasures = app.state.measures

        def tasks() -> list[asyncio.Task[Any]]:
            turns = (each.server.turns.running() for each in projects.opened())
            return [*measures.changing, *(turn.task for turn in chain.from_iterable(turns))]

        left = await wait_for_tasks(tasks, self._times)
        await refuse_connections(sockets)
        drain.end_streams()
        self.should_exit = True
        self.config.timeout_graceful_shutdown = max(_GRACE_SECONDS, round(left))


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as stack:
            # asyncio disables Nagle's algorithm only for a socket with an explicit protocol.
            # Without the algorithm, small parts of a response are sent at once.
            listening = stack.enter_context(
                socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            )
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            stack.pop_all()
            return listening
    except OSError as error:
        raise UsageError(
            f"The server cannot listen on {host}:{port}: {error.strerror or error}.",
            hint="Choose another port with --port N (0: any free port) or another --host.",
        ) from error


def _unmapped(host: str) -> str:
    """Return the IPv4 address of an IPv4-mapped IPv6 address, and other hosts unchanged."""
    try:
        ip = ip_address(host)
    except ValueError:
        return host
    return str(getattr(ip, "ipv4_mapped", None) or ip)


def _machine_names() -> frozenset[str]:
    """Return the host names of this machine, for clients on other machines.

    The full name is missing if the name service does not answer in time.
    """
    names = [socket.gethostname()]
    lookup = Thread(target=lambda: names.append(socket.getfqdn()), daemon=True)
    lookup.start()
    lookup.join(_NAME_SECONDS)
    return frozenset(name.lower() for name in tuple(names))


def _reachable(address: str) -> str:
    """Replace the host 0.0.0.0 or :: by a loopback address, which every browser can open."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
