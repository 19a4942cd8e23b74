"""The way to the sign-in provider and back, for browsers."""

import logging
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse

from treadle.errors import TreadleError
from treadle.server.authentication import client_address
from treadle.server.identity_services import CurrentIdentityServices
from treadle.server.oidc import CALLBACK, OidcClient, SignInAttempt, SignInError, SignInProblem
from treadle.server.openapi import JsonOf
from treadle.server.routers import api_router, plain_router

_log = logging.getLogger(__name__)

START = "/sign-in/oidc"
"""The path that sends a browser to the provider."""

_COOKIE = "treadle_sign_in"
_COOKIE_SECONDS = 600

browser_routes = plain_router(include_in_schema=False)
router = api_router("/identity", "identity")


@dataclass(frozen=True, slots=True)
class Provider:
    """The sign-in provider. `label` is its name, or null if people sign in with links only."""

    label: str | None


def _oidc(connection: HTTPConnection) -> OidcClient | None:
    client: OidcClient | None = connection.app.state.oidc
    return client


CurrentOidc = Annotated[OidcClient | None, Depends(_oidc)]


@router.get("/provider")
async def provider(oidc: CurrentOidc) -> JsonOf[Provider]:
    """Return the provider with which people sign in. The response does not need an identity."""
    return Provider(None if oidc is None else oidc.label)


@browser_routes.get(START)
async def start(
    request: Request, oidc: CurrentOidc, services: CurrentIdentityServices
) -> RedirectResponse:
    """Send the browser to the provider."""
    attempt = SignInAttempt.new()
    try:
        if oidc is None:
            raise SignInError(SignInProblem.UNAVAILABLE, "The setting oidc.issuer is not set.")
        address = await oidc.start(attempt, services.address_of(request))
    except TreadleError as error:
        return _refused(error)
    response = RedirectResponse(address, HTTPStatus.FOUND)
    # The provider sends the browser back from another site, so the cookie cannot be strict.
    response.set_cookie(
        _COOKIE, attempt.to_cookie(), max_age=_COOKIE_SECONDS, path=START,
        secure=services.cookies.is_secure, httponly=True, samesite="lax",
    )  # fmt: skip
    return response


@browser_routes.get(CALLBACK)
async def finish(
    request: Request, oidc: CurrentOidc, services: CurrentIdentityServices
) -> RedirectResponse:
    """Sign in the person whom the provider sent back, and open the page."""
    try:
        if oidc is None:
            raise SignInError(SignInProblem.UNAVAILABLE, "The setting oidc.issuer is not set.")
        attempt = SignInAttempt.from_cookie(request.cookies.get(_COOKIE, ""))
        answer = dict(request.query_params)
        email = await oidc.finish(attempt, answer, services.address_of(request))
        secret = await services.identities.sign_in(email, client_address(request.scope))
        if secret is None:
            message = f"Nobody has invited {email[:200]!r}."
            raise SignInError(SignInProblem.UNKNOWN, message)
    except TreadleError as error:
        return _refused(error)
    response = RedirectResponse("/", HTTPStatus.FOUND)
    response.delete_cookie(_COOKIE, path=START)
    services.cookies.set(response, secret)
    return response


def _refused(error: TreadleError) -> RedirectResponse:
    """Log why a sign-in failed, and send the browser to the page that states the problem."""
    _log.warning("A sign-in failed: %s", error)
    problem = error.problem if isinstance(error, SignInError) else SignInProblem.UNAVAILABLE
    response = RedirectResponse(f"/sign-in#problem={problem}", HTTPStatus.FOUND)
    response.delete_cookie(_COOKIE, path=START)
    return response
