"""Finds the identity of a request by its token, key, cookie or connection."""

import re
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import Scope

from treadle.identity.identity import Identity, Proof, own_identity
from treadle.identity.identity import Scope as AccessScope
from treadle.identity.records import ApiKey, User
from treadle.identity.secret_values import KEY_PREFIX
from treadle.server.credentials import Credentials
from treadle.server.download_tickets import take_ticket
from treadle.server.identities import Credential, CredentialKind
from treadle.server.identity_services import IdentityServices
from treadle.server.peers import OWN_PEER
from treadle.server.refusals import (
    INVALID_KEY,
    KEY_IN_ADDRESS,
    NO_INGEST,
    NO_ORIGIN,
    NO_ROLE,
    SEVERAL_PROJECTS,
    SEVERAL_SECRETS,
    UNKNOWN,
    RefusedError,
)
from treadle.server.request_identity import set_session

READING = frozenset({"GET", "HEAD"})
"""The methods of requests that change nothing."""
PROJECT_HEADER = "x-treadle-project"
"""The header that names the project of a request, for senders with several projects."""
_PROJECT_SUBPROTOCOL = "treadle.project."
"""The prefix of the WebSocket subprotocol that names the project of a request from a page."""
_KEY_PARAMETER = re.compile(rb"(?:^|&)[\w-]+=" + KEY_PREFIX.encode() + rb"[\w-]{40}", re.ASCII)


_FORWARDED = b"x-forwarded-"
_FORWARDING = frozenset({
    b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"client-ip", b"true-client-ip",
    b"x-remote-addr", b"x-cluster-client-ip", b"x-original-forwarded-for",
    b"x-original-host", b"x-envoy-external-address",
    b"cf-connecting-ip", b"fastly-client-ip", b"fly-client-ip", b"x-azure-clientip",
})  # fmt: skip
"""Headers that proxies add.

A proxy on this machine may forward requests of other users. The connection therefore does not
authenticate a request with one of these headers.
"""


class Proven(NamedTuple):
    """The identity of a request, and its credential if it can become invalid during the request."""

    identity: Identity
    credential: Credential | None = None


_KINDS = {Proof.KEY: CredentialKind.KEY, Proof.SESSION: CredentialKind.SESSION}
_OWN = {proof: Proven(own_identity(proof)) for proof in (Proof.LOCAL, Proof.TOKEN)}


class Authentication:
    """Authenticates the requests of a server."""

    def __init__(self, credentials: Credentials, services: IdentityServices) -> None:
        self._credentials = credentials
        self._identities = services.identities
        self._cookies = services.cookies
        self._downloads = services.downloads

    async def authenticate(self, scope: Scope, headers: Headers) -> Proven | None:
        """Return the sender of a request, or None for an unauthenticated request.

        A secret in a header takes precedence over a cookie, and a cookie over the connection.
        Raises RefusedError for an invalid key, and StoreError if the store fails.
        """
        names = {name for name, _ in scope["headers"]}
        project = _take_project(scope, headers) if _may_name_project(scope, names) else None
        ticket = take_ticket(scope) if scope["query_string"] else None
        presented = self._credentials.take(scope, names)
        address = client_address(scope)
        if ticket is not None and (proven := await self._by_ticket(ticket)) is not None:
            return proven
        if scope["query_string"] and _KEY_PARAMETER.search(scope["query_string"]):
            raise RefusedError(KEY_IN_ADDRESS)
        if presented.keys:
            if len(presented.keys) > 1 or presented.own is not None:
                raise RefusedError(SEVERAL_SECRETS)
            (key,) = presented.keys
            return await self._by_key(key, project, address)
        if presented.own is not None:
            return await self._own(presented.own, project)
        secret = self._cookies.secret(headers) if b"cookie" in names else None
        if secret is not None and (proven := await self._by_session(secret, project, address)):
            _check_origin(scope, headers)
            set_session(scope, secret)
            return proven
        if _is_own_peer(scope, names):
            return await self._own(Proof.LOCAL, project)
        for wrong in presented.others:
            # These secrets cannot be valid keys. The call only counts the failed attempt.
            await self._identities.owner(Credential.of(CredentialKind.KEY, wrong), address)
        return None

    async def exporter(self, secret: str, address: str) -> Identity:
        """Return the sender of an export over gRPC. The secret must be the token or a key.

        Raises RefusedError if the sender may not send spans, and StoreError if the store fails.
        """
        if secret.startswith(KEY_PREFIX):
            identity = (await self._by_key(secret, None, address)).identity
            if not identity.may(AccessScope.INGEST):
                raise RefusedError(NO_INGEST)
            return identity
        if self._credentials.proof(secret) is not Proof.TOKEN:
            raise RefusedError(UNKNOWN)
        return own_identity(Proof.TOKEN)

    async def _by_ticket(self, hashed: str) -> Proven | None:
        """Return the holder of a download ticket with the holder's present rights.

        Returns None if the ticket is not valid, or if the holder's key or session no longer is.
        """
        holder = await self._downloads.take(hashed)
        if holder is None:
            return None
        kind = _KINDS.get(holder.proof)
        if kind is None:
            return Proven(own_identity(holder.proof, holder.project))
        credential = Credential(kind, holder.credential_hash, "")
        identity = await self.current_identity(credential, holder.project)
        return None if identity is None else Proven(identity, credential)

    async def _by_key(self, secret: str, project: str | None, address: str) -> Proven:
        credential = Credential.of(CredentialKind.KEY, secret)
        key = await self._identities.owner(credential, address)
        if not isinstance(key, ApiKey):
            raise RefusedError(INVALID_KEY)
        if project not in {None, key.project}:
            raise RefusedError(NO_ROLE)
        return Proven(key.identity(), credential)

    async def _by_session(self, secret: str, project: str | None, address: str) -> Proven | None:
        """Return the signed-in user of a cookie, or None if the session has ended."""
        credential = Credential.of(CredentialKind.SESSION, secret)
        user = await self._identities.owner(credential, address)
        if not isinstance(user, User):
            return None
        identity = user.identity(project)
        if identity is None:
            raise RefusedError(NO_ROLE)
        return Proven(identity, credential)

    async def _own(self, proof: Proof, project: str | None) -> Proven:
        if project is None:
            return _OWN[proof]
        if not await self._identities.has_project(project):
            raise RefusedError(NO_ROLE)
        return Proven(own_identity(proof, project))

    async def current_identity(self, credential: Credential, project: str) -> Identity | None:
        owner = await self._identities.current_owner(credential)
        if isinstance(owner, ApiKey):
            return owner.identity()
        return None if owner is None else owner.identity(project)


def _check_origin(scope: Scope, headers: Headers) -> None:
    """Raise RefusedError if a request with a cookie may come from a page of another site.

    A browser sends Origin or Sec-Fetch-Site with each request that changes something, so such a
    request must have one of them. The guard has already checked their values.
    """
    changes = scope["type"] == "websocket" or scope["method"] not in READING
    if changes and "origin" not in headers and "sec-fetch-site" not in headers:
        raise RefusedError(NO_ORIGIN)


def client_address(scope: Scope) -> str:
    """Return the network address at the other end of the connection, or an empty text."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _take_project(scope: Scope, headers: Headers) -> str | None:
    """Return the project that a request names, or None. Removes it from `scope`.

    Raises RefusedError if the request names several projects.
    """
    given = headers.getlist(PROJECT_HEADER)
    if given:
        name = PROJECT_HEADER.encode()
        scope["headers"] = [each for each in scope["headers"] if each[0] != name]
    if scope["type"] == "websocket":
        offered = scope.get("subprotocols", [])
        scope["subprotocols"] = [
            name for name in offered if not name.startswith(_PROJECT_SUBPROTOCOL)
        ]
        given += [
            name.removeprefix(_PROJECT_SUBPROTOCOL)
            for name in offered
            if name.startswith(_PROJECT_SUBPROTOCOL)
        ]
    if len(set(given)) > 1:
        raise RefusedError(SEVERAL_PROJECTS)
    return given[0] if given else None


def _may_name_project(scope: Scope, names: AbstractSet[bytes]) -> bool:
    return PROJECT_HEADER.encode() in names or scope["type"] == "websocket"


def _is_own_peer(scope: Scope, names: AbstractSet[bytes]) -> bool:
    """Whether a process of the server's own user sent the request directly, without a proxy."""
    own = scope.get("state", {}).get(OWN_PEER) is True
    return (
        own
        and names.isdisjoint(_FORWARDING)
        and not any(name.startswith(_FORWARDED) for name in names)
    )
