"""Decides who may send requests. Limits and records the requests of senders with a key.

A request is authenticated by the token, the page key, an API key, the cookie of a signed-in user,
or its connection. Over loopback, the operating system reports whether the client process belongs to
the same user.

The user's browser is such a process, so a page of another site could send requests through it. That
page cannot choose the Host header, omit the Origin header or change Sec-Fetch-Site, and the guard
checks all three. The check of the Host header blocks requests to foreign DNS names that resolve to
this machine.
"""

import asyncio
import logging
import re
from collections.abc import Iterable
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.errors import StoreError
from treadle.identity.records import Action
from treadle.server.access import PUBLIC_PATHS
from treadle.server.authentication import READING, Authentication, Proven, client_address
from treadle.server.built_page import is_of_page
from treadle.server.credentials import SUBPROTOCOL, Credentials
from treadle.server.followed_requests import FollowedRequests
from treadle.server.identities import Credential
from treadle.server.identity_services import IdentityServices
from treadle.server.key_limits import LimitReachedError
from treadle.server.refusals import POLICY_VIOLATION, UNKNOWN, Refusal, RefusedError, refuse
from treadle.server.request_identity import (
    action_detail,
    action_of,
    identity_of,
    set_credential,
    set_identity,
)

_log = logging.getLogger(__name__)

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})

PROBES = frozenset({"/healthz", "/readyz"})
"""The addresses that load balancers request.

Load balancers have no key, and may use any Host header, so the guard refuses none of these
requests. The answers to unauthenticated requests contain no data.
"""
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?", re.ASCII)


class Guard:
    """Refuses requests for another host or from another site, and unauthenticated requests."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Iterable[str],
        credentials: Credentials,
        services: IdentityServices,
    ) -> None:
        """Create the middleware. `hosts` are the names of the server, without a port."""
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._authentication = Authentication(credentials, services)
        self._identities = services.identities
        self._limits = services.limits
        self._followed = FollowedRequests(self._authentication.current_identity, services.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an allowed request to the application. Answer any other request with an error."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        admitted = await self._admit(scope)
        if isinstance(admitted, Refusal):
            await refuse(admitted, scope, receive, send)
            return
        send = _choosing(scope, send)
        if admitted is None:
            await self._app(scope, receive, send)
            return
        set_identity(scope, admitted.identity)
        if admitted.credential is not None:
            set_credential(scope, admitted.credential)
        send = self._auditing(scope, send)
        if admitted.credential is None:
            await self._app(scope, receive, send)
        else:
            await self._run_followed(admitted, admitted.credential, scope, receive, send)

    async def _admit(self, scope: Scope) -> Proven | Refusal | None:
        """Return the sender of an allowed request, or the error for any other request.

        The result is None for an unauthenticated request to a public address.
        """
        headers = Headers(raw=list(scope["headers"]))
        public = scope["type"] == "http" and _is_public(scope)
        probe = scope["path"] in PROBES
        foreign = self._foreign(headers, public)
        if foreign is not None:
            return None if probe else foreign
        try:
            proven = await self._authentication.authenticate(scope, headers)
            if proven is not None and proven.credential is not None:
                await self._limits.admit_request(proven.identity)
        except RefusedError as error:
            return None if probe else error.refusal
        except LimitReachedError as error:
            return Refusal(429, error.message, error.hint or "", error.seconds)
        except StoreError as error:
            return (
                None if probe else Refusal(503, error.message, error.hint or "Try again later.", 5)
            )
        return proven if proven is not None or public else UNKNOWN

    def _foreign(self, headers: Headers, public: bool) -> Refusal | None:
        """Return the error for a request to another host or from another site, or None."""
        host = headers.get("host", "")
        if _name(host) not in self._hosts or len(headers.getlist("host")) != 1:
            known = ", ".join(sorted(self._hosts))
            shown = repr(host[:200]) if host else "without a name"
            return Refusal(
                421,
                f"This server is not {shown}.",
                f"Call it {known}. The setting server.address adds another name.",
            )
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}", f"https://{host}"}:
            shown = repr(origin[:200])
            return Refusal(
                403,
                f"Requests from pages of {shown} are refused.",
                "Open the page from this server.",
            )
        # A browser sends no Origin with a request for an image, a script or a frame, so
        # Sec-Fetch-Site is checked as well. A link on another site may open the page.
        follows_link = public and headers.get("sec-fetch-dest") == "document"
        site = headers.get("sec-fetch-site", "none")
        if site not in {"none", "same-origin"} and not follows_link:
            return Refusal(
                403, "Requests from other pages are refused.", "Open the page from this server."
            )
        return None

    async def _run_followed(
        self,
        admitted: Proven,
        credential: Credential,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Run the application until it ends or the credential becomes invalid."""
        started = False

        async def note_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        with self._followed.follow(credential, admitted.identity) as request:
            try:
                await self._app(scope, receive, note_start)
            except asyncio.CancelledError:
                if not request.ended:
                    raise
                request.task.uncancel()
        if request.ended:
            await _end(started, scope, receive, send)

    def _auditing(self, scope: Scope, send: Send) -> Send:
        """Wrap `send` so that a successful response adds an entry to the audit log.

        The entry is written before the client learns of the success.
        """

        async def audit(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                action = action_of(scope)
                if action is not None:
                    await self._record(action, scope)
            await send(message)

        return send if scope["type"] == "websocket" else audit

    async def _record(self, action: Action, scope: Scope) -> None:
        identity = identity_of(scope)
        subject = f"{scope['method']} {scope['path']} {action_detail(scope)}".strip()
        try:
            await self._identities.record(
                action, identity.who, subject, identity.project, client_address(scope)
            )
        except StoreError as error:  # only logged, because the action is already done
            _log.error("The audit log has no entry for %s by %s: %s", subject, identity.who, error)


def _is_public(scope: Scope) -> bool:
    """Whether everyone may send this request."""
    reads_page = scope["method"] in READING and is_of_page(scope["path"])
    return reads_page or (scope["method"], scope["path"]) in PUBLIC_PATHS


def _name(host: str) -> str | None:
    """Return the host name of a Host header in lower case, or None if the header is invalid."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else None


def _choosing(scope: Scope, send: Send) -> Send:
    """Wrap `send` so that it accepts the subprotocol `treadle` if the client offers it."""
    if scope["type"] != "websocket" or SUBPROTOCOL not in scope.get("subprotocols", ()):
        return send

    async def choosing(message: Message) -> None:
        if message["type"] == "websocket.accept":
            message = {**message, "subprotocol": SUBPROTOCOL}
        await send(message)

    return choosing


async def _end(started: bool, scope: Scope, receive: Receive, send: Send) -> None:
    """End a request whose credential became invalid.

    The server closes the connection of a response that has started and is not complete.
    """
    if scope["type"] == "websocket":
        reason = "The key or session is not valid any more."
        with suppress(RuntimeError):  # the WebSocket may be closed already
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": reason})
    elif not started:
        await refuse(UNKNOWN, scope, receive, send)
