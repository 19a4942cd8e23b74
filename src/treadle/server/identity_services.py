"""The services of a server that know users and keys."""

from dataclasses import dataclass
from typing import Annotated, Self

from fastapi import Depends
from starlette.requests import HTTPConnection, Request

from treadle.app.stores import Stores
from treadle.clock import Clock, SystemClock
from treadle.config.model import ServerSettings
from treadle.gateway.key_spending import KeySpending, spending_of
from treadle.identity.identity import Identity
from treadle.identity.store import IdentityStore
from treadle.server.download_tickets import DownloadTickets
from treadle.server.identities import Identities
from treadle.server.key_limits import KeyLimits
from treadle.server.session_cookies import SessionCookies


@dataclass(frozen=True, slots=True)
class IdentityServices:
    """The services of a server that know users and keys."""

    identities: Identities
    limits: KeyLimits
    cookies: SessionCookies
    downloads: DownloadTickets
    clock: Clock
    store: IdentityStore
    address: str | None = None
    """The address at which browsers reach the server (the setting `server.address`)."""

    @classmethod
    def open(cls, store: IdentityStore, clock: Clock, *, address: str | None = None) -> Self:
        """Return the services of a server that browsers reach at `address`."""
        return cls(
            Identities(store, clock),
            KeyLimits(store, clock),
            SessionCookies(secure=(address or "").startswith("https:")),
            DownloadTickets(store, clock),
            clock,
            store,
            address,
        )

    def address_of(self, request: Request) -> str:
        """Return the address at which the browser that sent `request` reaches the server."""
        return self.address or str(request.base_url).rstrip("/")

    def spending(self, identity: Identity) -> KeySpending | None:
        """Return the object that counts a call's cost, or None if the sender has no cost limit."""
        return spending_of(identity, self.store.key_use, self.clock)


def open_identity_services(settings: ServerSettings) -> IdentityServices:
    """Return the services for the identity store of this installation. Opens no file."""
    store = IdentityStore(Stores.of_user().identity)
    return IdentityServices.open(store, SystemClock(), address=settings.address)


async def _services(connection: HTTPConnection) -> IdentityServices:
    services: IdentityServices = connection.app.state.identity_services
    return services


def limits_of(connection: HTTPConnection) -> KeyLimits:
    """Return the limits of API keys in the server of a request."""
    services: IdentityServices = connection.app.state.identity_services
    return services.limits


CurrentIdentityServices = Annotated[IdentityServices, Depends(_services)]
"""Annotation for route parameters that receive the services that know users and keys."""
