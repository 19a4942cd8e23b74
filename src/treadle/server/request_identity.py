"""The identity of a request, which the guard finds and the routes read."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection
from starlette.types import Scope

from treadle.identity.identity import Identity

_KEY = "treadle_identity"


def set_identity(scope: Scope, identity: Identity) -> None:
    """Store the identity in the `state` of an ASGI scope."""
    scope.setdefault("state", {})[_KEY] = identity


def identity_of(scope: Scope) -> Identity:
    """Return the identity of an ASGI scope.

    Only requests that the guard has authenticated have an identity. The files of the page are
    public, so requests for them have none.
    """
    identity: Identity = scope["state"][_KEY]
    return identity


def has_identity(scope: Scope) -> bool:
    """Whether the guard has authenticated the request of this scope."""
    return _KEY in scope.get("state", {})


def _identity(connection: HTTPConnection) -> Identity:
    return identity_of(connection.scope)


CurrentIdentity = Annotated[Identity, Depends(_identity)]
"""Annotation for route parameters that receive the identity of the request."""
