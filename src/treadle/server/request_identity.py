"""The identity of a request, which the guard finds and the routes read."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection
from starlette.types import Scope

from treadle.identity.identity import Identity
from treadle.identity.records import Action, TicketHolder
from treadle.server.identities import Credential

_IDENTITY = "treadle_identity"
_CREDENTIAL = "treadle_credential"
_ACTION = "treadle_action"
_DETAIL = "treadle_action_detail"
_SESSION = "treadle_session"


def set_identity(scope: Scope, identity: Identity) -> None:
    """Store the identity in the `state` of an ASGI scope."""
    scope.setdefault("state", {})[_IDENTITY] = identity


def identity_or_none(scope: Scope) -> Identity | None:
    """Return the identity of an ASGI scope, or None for a request to a public route."""
    identity: Identity | None = scope.get("state", {}).get(_IDENTITY)
    return identity


def identity_of(scope: Scope) -> Identity:
    """Return the identity of an ASGI scope.

    Only requests that the guard has authenticated have an identity. The files of the page are
    public, so requests for them have none.
    """
    identity: Identity = scope["state"][_IDENTITY]
    return identity


def set_credential(scope: Scope, credential: Credential) -> None:
    """Store the API key or session of a request, for the download tickets that it requests."""
    scope["state"][_CREDENTIAL] = credential


def ticket_holder(scope: Scope) -> TicketHolder:
    """Return the sender of a request as the holder of a download ticket."""
    identity = identity_of(scope)
    credential: Credential | None = scope["state"].get(_CREDENTIAL)
    hashed = "" if credential is None else credential.hashed
    return TicketHolder(identity.proof, identity.project, hashed)


def set_session(scope: Scope, secret: str) -> None:
    """Store the secret of the browser session of a request, so that the user can sign out."""
    scope.setdefault("state", {})[_SESSION] = secret


def session_of(scope: Scope) -> str | None:
    """Return the secret of the browser session of a request, or None."""
    secret: str | None = scope["state"].get(_SESSION)
    return secret


def set_action(scope: Scope, action: Action) -> None:
    """Add `action` to the audit log if the response to this request is successful."""
    scope["state"][_ACTION] = action


def action_of(scope: Scope) -> Action | None:
    """Return the action that the audit log records for this request, or None."""
    action: Action | None = scope["state"].get(_ACTION)
    return action


def set_approval(connection: HTTPConnection, detail: str) -> None:
    """Add an approval with `detail` to the audit log if the response is successful.

    Routes call this function if only some of their requests approve something.
    """
    set_action(connection.scope, Action.APPROVAL)
    describe_action(connection, detail)


def withdraw_action(connection: HTTPConnection) -> None:
    """Add no entry to the audit log, because the request changed nothing."""
    connection.scope["state"].pop(_ACTION, None)


def describe_action(connection: HTTPConnection, detail: str) -> None:
    """Add a detail to the entry of this request in the audit log, such as the answer given."""
    connection.scope["state"][_DETAIL] = detail


def action_detail(scope: Scope) -> str:
    """Return the detail for the audit log, or an empty text."""
    detail: str = scope["state"].get(_DETAIL, "")
    return detail


async def _identity(connection: HTTPConnection) -> Identity:
    return identity_of(connection.scope)


CurrentIdentity = Annotated[Identity, Depends(_identity)]
"""Annotation for route parameters that receive the identity of the request."""
