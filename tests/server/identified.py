"""A server in this process with its own users, keys and clock. Its projects are not opened."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from fastapi import FastAPI

from tests.fakes.clock import FakeClock
from treadle.config.loader import LoadedConfig
from treadle.config.model import Settings
from treadle.identity.identity import NO_LIMITS, Limits, Role, Scope
from treadle.identity.store import IdentityStore
from treadle.server.app import create_app
from treadle.server.credentials import Credentials
from treadle.server.identity_services import IdentityServices

TOKEN = "a-token-of-the-user"
HOST = "treadle.example.com"
HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Identified:
    """A server, its store of identities, and a client without credentials."""

    app: FastAPI
    store: IdentityStore
    services: IdentityServices
    credentials: Credentials
    clock: FakeClock
    http: httpx2.AsyncClient

    def key(
        self,
        *scopes: Scope,
        name: str = "ci",
        project: str = "default",
        expires_us: int | None = None,
        limits: Limits = NO_LIMITS,
    ) -> str:
        """The secret of a new key."""
        _, secret = self.store.keys.create(
            project, name, frozenset(scopes), limits,
            created_by="test", expires_us=expires_us, now_us=self.clock.now_us(),
        )  # fmt: skip
        return secret

    def invitation(self, email: str, role: Role, project: str = "default") -> str:
        """The secret of a new invitation."""
        _, secret = self.store.users.invite(
            email, project, role, now_us=self.clock.now_us(), microseconds=HOUR_US
        )
        return secret

    def session(self, email: str, role: Role, project: str = "default") -> str:
        """The secret of a session of a user, who is created."""
        secret = self.invitation(email, role, project)
        user, _ = self.store.users.accept_invitation(secret, self.clock.now_us())
        return self.store.sessions.create(user.id, self.clock.now_us())

    async def status(self, path: str = "/api/v1/identity", **headers: str) -> int:
        """The status of a GET request."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return (await self.http.get(path, headers=named)).status_code


@asynccontextmanager
async def identified(
    folder: Path,
    *,
    secure: bool = False,
    client: str = "192.0.2.1",
    settings: Settings | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Identified]:
    """Create the server. `client` is the network address of its clients."""
    clock = FakeClock(1_700_000_000.0)
    with IdentityStore(folder / "identity.db") as store:
        address = f"https://{HOST}" if secure else None
        services = IdentityServices.open(store, clock, address=address)
        credentials = Credentials(TOKEN)
        app = create_app(
            folder,
            LoadedConfig(settings or Settings(), {}),
            env or {},
            hosts=[HOST],
            credentials=credentials,
            services=services,
        )
        transport = httpx2.ASGITransport(app=app, client=(client, 4711), raise_app_exceptions=True)
        scheme = "https" if secure else "http"
        async with httpx2.AsyncClient(transport=transport, base_url=f"{scheme}://{HOST}") as http:
            yield Identified(app, store, services, credentials, clock, http)
