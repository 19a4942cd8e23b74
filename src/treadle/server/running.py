"""Running the server: the address it binds to, who may call it by which name, and its end."""

import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from treadle.config.loader import LoadedConfig
from treadle.errors import TreadleError, UsageError
from treadle.server.app import create_app
from treadle.server.guard import LOOPBACK_NAMES

_GRACE_SECONDS = 1
"""How long connections may end by themselves when the server stops; event streams never do."""


async def serve(
    root: Path,
    loaded: LoadedConfig,
    env: Mapping[str, str],
    *,
    host: str,
    port: int,
    ready: Callable[[str, str | None], None],
) -> None:
    """Serve the repository until the process is told to end (port 0: any free one).

    `ready` is given the address, and the token if one is needed: beyond loopback it is, and it is
    made anew at each start unless the variable TREADLE_SERVE_TOKEN holds one. Raises UsageError
    when the address cannot be used.
    """
    listening = _bind(host, port)
    with listening:
        loopback = _is_loopback(host)
        token = None if loopback else env.get("TREADLE_SERVE_TOKEN") or secrets.token_urlsafe(24)
        hosts = LOOPBACK_NAMES if loopback else _names(host)
        app = create_app(root, loaded, env, hosts=hosts, token=token, host=host)
        config = uvicorn.Config(
            app,
            lifespan="on",
            log_level="error",
            access_log=False,
            ws="websockets-sansio",
            timeout_graceful_shutdown=_GRACE_SECONDS,
            server_header=False,
        )
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listening.getsockname()[1]}"
        server = _Server(config, lambda: ready(address, token))
        await server.serve([listening])
        if not server.started:
            raise TreadleError("The server did not start.", hint="What is above says why.")


class _Server(uvicorn.Server):
    """Tells when it can be called."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as stack:
            # Only a socket that says so is known as TCP, and its small pieces are sent at once.
            listening = stack.enter_context(
                socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            )
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            stack.pop_all()
            return listening
    except OSError as error:
        raise UsageError(
            f"Cannot serve at {host}:{port}: {error.strerror or error}.",
            hint="Choose another with --port N (0: any free one) or --host.",
        ) from error


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _names(host: str) -> frozenset[str]:
    """The names by which a server beyond loopback may be called."""
    return LOOPBACK_NAMES | {host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
