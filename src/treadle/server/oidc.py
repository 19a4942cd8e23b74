"""Signs people in with an OpenID Connect provider (authorization code with PKCE).

The provider proves an e-mail address. What a person with this address may do is stored in the
identity store. The libraries are part of the extra `treadle[team]`, and are imported at the first
sign-in.
"""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from treadle.clock import Clock, SystemClock
from treadle.config.model import OidcSettings
from treadle.errors import ConfigError, TreadleError
from treadle.secrets import register

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import AsyncOAuth2Client
    from joserfc.jwk import KeySet

CALLBACK = "/sign-in/oidc/callback"
"""The path to which the provider sends the browser back."""

_SCOPE = "openid email"
_BASIC = "client_secret_basic"
"""The default way of sending the client secret: HTTP basic authentication."""
_KEPT_SECONDS = 3_600.0
"""The time for which the documents of the provider are used without a new request."""
_RENEWAL_SECONDS = 60.0
"""The minimum time between two requests for the keys of the provider."""
_TIMEOUT_SECONDS = 10.0
_LEEWAY_SECONDS = 60
_ALGORITHMS = frozenset({
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
})  # fmt: skip
"""The algorithms of accepted signatures. All of them use a public key."""


class SignInProblem(StrEnum):
    """Why a person could not be signed in. The page shows a sentence for each value."""

    EXPIRED = "expired"
    """The attempt took too long, or the browser blocks cookies."""
    REFUSED = "refused"
    """The provider did not confirm the person, or its answer is not valid."""
    UNVERIFIED = "unverified"
    """The provider has not verified the e-mail address of the person."""
    UNKNOWN = "unknown"
    """Nobody has invited the person."""
    UNAVAILABLE = "unavailable"
    """The provider cannot be reached, or is not set up correctly."""


class SignInError(TreadleError):
    """A person could not be signed in. The message is for the log of the server."""

    def __init__(self, problem: SignInProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """The secrets of one attempt. A cookie keeps them until the provider sends the browser back."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> "SignInAttempt":
        """Return an attempt with random secrets."""
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))

    @classmethod
    def from_cookie(cls, text: str) -> "SignInAttempt":
        """Return the attempt in the value of a cookie. Raises SignInError for any other value."""
        parts = text.split(".")
        if len(parts) != 3 or not all(parts):
            raise SignInError(SignInProblem.EXPIRED, "The cookie of the attempt is missing.")
        return cls(*parts)

    def to_cookie(self) -> str:
        """Return the value of the cookie."""
        return f"{self.state}.{self.nonce}.{self.verifier}"


class OidcClient:
    """Talks to the provider of the settings. Use it in one event loop."""

    def __init__(
        self, issuer: str, settings: OidcSettings, *, secret: str | None, clock: Clock
    ) -> None:
        """Create a client. `secret` is the client secret. It is None for a public client."""
        self.label = settings.label
        self._issuer = issuer
        self._client_id = settings.client_id
        self._secret = secret
        self._clock = clock
        self._lock = asyncio.Lock()
        self._provider: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    async def start(self, attempt: SignInAttempt, server: str) -> str:
        """Return the address of the provider to which the browser goes.

        `server` is the address at which the browser reaches this server. Raises SignInError.
        """
        async with self._client(server) as client:
            provider = await self._discover(client)
            address, _ = client.create_authorization_url(
                _text(provider, "authorization_endpoint"),
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
            )
            return str(address)

    async def finish(self, attempt: SignInAttempt, answer: Mapping[str, str], server: str) -> str:
        """Return the verified e-mail address of the person.

        `server` is the same as for `start`. `answer` has the parameters with which the provider
        sent the browser back. Raises SignInError if the person refused, or if the answer does not
        belong to the attempt.
        """
        if not secrets.compare_digest(answer.get("state", "").encode(), attempt.state.encode()):
            raise SignInError(SignInProblem.EXPIRED, "The answer belongs to another sign-in.")
        if (reason := answer.get("error")) is not None:
            message = f"The provider refused the sign-in: {reason[:200]!r}."
            raise SignInError(SignInProblem.REFUSED, message)
        async with self._client(server) as client:
            provider = await self._discover(client)
            token = await self._request(
                client.fetch_token(
                    _text(provider, "token_endpoint"),
                    code=answer.get("code", ""),
                    code_verifier=attempt.verifier,
                )
            )
            claims = await self._claims(client, provider, str(token.get("id_token", "")), attempt)
            if "email" not in claims and "userinfo_endpoint" in provider:
                address = _text(provider, "userinfo_endpoint")
                more = await self._get(client, address, with_token=True)
                if more.get("sub") == claims.get("sub"):
                    claims = {**more, **claims}
        return _verified_email(claims)

    def _client(self, server: str) -> "AsyncOAuth2Client":
        try:
            from authlib.integrations.httpx_client import AsyncOAuth2Client
        except ImportError as error:
            raise ConfigError(
                "The setting oidc.issuer needs the extra `team`, which is not installed.",
                hint="Run `pip install 'treadle[team]'`.",
            ) from error
        return AsyncOAuth2Client(
            self._client_id,
            self._secret,
            scope=_SCOPE,
            redirect_uri=server + CALLBACK,
            code_challenge_method="S256",
            token_endpoint_auth_method=_BASIC if self._secret else "none",
            timeout=_TIMEOUT_SECONDS,
        )

    async def _discover(self, client: "AsyncOAuth2Client") -> dict[str, Any]:
        """Return the description of the provider (OpenID Connect Discovery 1.0)."""
        async with self._lock:
            now = self._clock.monotonic()
            if self._provider is None or now - self._provider[0] > _KEPT_SECONDS:
                address = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
                found = await self._get(client, address)
                if str(found.get("issuer", "")).rstrip("/") != self._issuer.rstrip("/"):
                    message = f"The description at {address} names another issuer."
                    raise SignInError(SignInProblem.UNAVAILABLE, message)
                self._provider = (now, found)
            provider = self._provider[1]
        methods = provider.get("token_endpoint_auth_methods_supported") or [_BASIC]
        if self._secret and _BASIC not in methods:
            client.token_endpoint_auth_method = "client_secret_post"  # noqa: S105  (a method)
        return provider

    async def _claims(
        self,
        client: "AsyncOAuth2Client",
        provider: Mapping[str, Any],
        token: str,
        attempt: SignInAttempt,
    ) -> dict[str, Any]:
        """Return the claims of an ID token after all checks (OpenID Connect Core 1.0, 3.1.3.7)."""
        from joserfc import jwt
        from joserfc.errors import JoseError

        algorithms = _ALGORITHMS.intersection(
            provider.get("id_token_signing_alg_values_supported") or ("RS256",)
        )
        try:
            try:
                keys = await self._signing_keys(client, provider, renew=False)
                decoded = jwt.decode(token, keys, algorithms=algorithms)
            except (JoseError, ValueError):  # the provider may have a new key
                keys = await self._signing_keys(client, provider, renew=True)
                decoded = jwt.decode(token, keys, algorithms=algorithms)
            checks = jwt.JWTClaimsRegistry(
                now=lambda: self._clock.now_us() // 1_000_000,
                leeway=_LEEWAY_SECONDS,
                iss={"essential": True, "value": str(provider["issuer"])},
                aud={"essential": True, "value": self._client_id},
                nonce={"essential": True, "value": attempt.nonce},
                exp={"essential": True},
                sub={"essential": True},
            )
            checks.validate(decoded.claims)
        except (JoseError, ValueError) as error:
            message = f"The provider sent an ID token that is not valid: {error}."
            raise SignInError(SignInProblem.REFUSED, message) from error
        claims = dict(decoded.claims)
        is_for_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if is_for_several and claims.get("azp") != self._client_id:
            raise SignInError(SignInProblem.REFUSED, "The ID token is for another program.")
        return claims

    async def _signing_keys(
        self, client: "AsyncOAuth2Client", provider: Mapping[str, Any], *, renew: bool
    ) -> "KeySet":
        from joserfc.jwk import KeySet

        async with self._lock:
            now = self._clock.monotonic()
            age = None if self._keys is None else now - self._keys[0]
            limit = _RENEWAL_SECONDS if renew else _KEPT_SECONDS
            if self._keys is None or (age is not None and age > limit):
                found: Any = await self._get(client, _text(provider, "jwks_uri"))
                self._keys = (now, KeySet.import_key_set(found))
            return self._keys[1]

    async def _get(
        self, client: "AsyncOAuth2Client", address: str, *, with_token: bool = False
    ) -> dict[str, Any]:
        request = client.request("GET", address, withhold_token=not with_token)
        answer = await self._request(request)
        found = answer.json() if answer.status_code == 200 else None
        if not isinstance(found, dict):
            message = f"{address} answered with the status {answer.status_code}."
            raise SignInError(SignInProblem.UNAVAILABLE, message)
        return found

    async def _request(self, request: Any) -> Any:
        """Wait for a request to the provider. Raises SignInError if it fails."""
        from authlib.common.errors import AuthlibBaseError
        from httpx2 import HTTPError

        try:
            return await request
        except AuthlibBaseError as error:
            message = f"The provider refused the sign-in: {str(error.error)[:200]!r}."
            raise SignInError(SignInProblem.REFUSED, message) from error
        except (HTTPError, ValueError) as error:
            message = f"The provider cannot be reached: {type(error).__name__}."
            raise SignInError(SignInProblem.UNAVAILABLE, message) from error


def _text(provider: Mapping[str, Any], name: str) -> str:
    value = provider.get(name)
    if not isinstance(value, str) or not value.startswith(("https://", "http://")):
        message = f"The description of the provider has no valid {name}."
        raise SignInError(SignInProblem.UNAVAILABLE, message)
    return value


def _verified_email(claims: Mapping[str, Any]) -> str:
    email = claims.get("email")
    if not isinstance(email, str) or "@" not in email:
        message = "The provider did not state the e-mail address. Allow the scope `email`."
        raise SignInError(SignInProblem.UNVERIFIED, message)
    if claims.get("email_verified") not in (True, "true"):
        message = f"The provider has not verified the address {email[:200]}."
        raise SignInError(SignInProblem.UNVERIFIED, message)
    return email


def open_oidc(settings: OidcSettings, env: Mapping[str, str]) -> OidcClient | None:
    """Return the client of the provider in the settings, or None if they name no provider."""
    if settings.issuer is None:
        return None
    name = settings.client_secret_env
    secret = env.get(name, "").strip() if name is not None else ""
    if secret:
        register(secret)
    return OidcClient(settings.issuer, settings, secret=secret or None, clock=SystemClock())
