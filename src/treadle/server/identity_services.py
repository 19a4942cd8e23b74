"""The services of a server that know users and keys."""

from dataclasses import dataclass
from typing import Annotated, Self

from fastapi import Depends
from starlette.requests import HTTPConnection

from treadle.app.stores import Stores
from treadle.clock import Clock, SystemClock
from treadle.config.model import ServerSettings
from treadle.identity.store import IdentityStore
from treadle.server.identities import Identities
from treadle.server.key_limits import KeyLimits
from treadle.server.session_cookies import SessionCookies


@dataclass(frozen=True, slots=True)
class IdentityServices:
    """The services of a server that know users and keys."""

    identities: Identities
    limits: KeyLimits
    cookies: SessionCookies
    clock: Clock
    store: IdentityStore

    @classmethod
    def open(cls, store: IdentityStore, clock: Clock, *, secure: bool) -> Self:
        """Return the services. `secure` states whether browsers reach the server over TLS."""
        return cls(
            Identities(store, clock),
            KeyLimits(store, clock),
            SessionCookies(secure=secure),
            clock,
            store,
        )


def open_identity_services(settings: ServerSettings) -> IdentityServices:
    """Return the services for the identity store of this installation. Opens no file."""
    secure = (settings.address or "").startswith("https:")
    return IdentityServices.open(
        IdentityStore(Stores.of_user().identity), SystemClock(), secure=secure
    )


async def _services(connection: HTTPConnection) -> IdentityServices:
    services: IdentityServices = connection.app.state.identity_services
    return services


def limits_of(connection: HTTPConnection) -> KeyLimits:
    """Return the limits of API keys in the server of a request."""
    services: IdentityServices = connection.app.state.identity_services
    return services.limits


CurrentIdentityServices = Annotated[IdentityServices, Depends(_services)]
"""Annotation for route parameters that receive the services that know users and keys."""
