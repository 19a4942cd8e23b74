"""Signs people in with an OpenID Connect provider (authorization code with PKCE).

The provider proves an e-mail address. What a person with this address may do is stored in the
identity store. The libraries are part of the extra `treadle[team]`, and are imported at the first
sign-in.
"""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treadle.clock import Clock
from treadle.config.model import OidcSettings
from treadle.errors import ConfigError, TreadleError

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


class SignInError(TreadleError):
    """A person could not be signed in. The message is for that person."""


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """The secrets of one attempt. The browser keeps them in a cookie until it comes back."""

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> "SignInAttempt":
        """Return an attempt with random secrets."""
        return cls(*(secrets.token_urlsafe(32) for _ in range(3)))

    @classmethod
    def from_cookie(cls, text: str) -> "SignInAttempt":
        """Return the attempt of a cookie. Raises SignInError if the cookie is not one."""
        parts = text.split(".")
        if len(parts) != 3 or not all(parts):
            raise SignInError(
                "The sign-in took too long, or this browser blocks cookies.",
                hint="Sign in again.",
            )
        return cls(*parts)

    def to_cookie(self) -> str:
        """Return the value of the cookie."""
        return f"{self.state}.{self.nonce}.{self.verifier}"


class OidcClient:
    """Talks to the provider of the settings. Use it in one event loop."""

    def __init__(
        self, settings: OidcSettings, *, secret: str | None, address: str, clock: Clock
    ) -> None:
        """`secret` is the client secret, and `address` the public address of this server."""
        assert settings.issuer is not None
        self._issuer = settings.issuer
        self._client_id = settings.client_id
        self._secret = secret
        self._redirect = address + CALLBACK
        self._clock = clock
        self._lock = asyncio.Lock()
        self._provider: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    async def start(self, attempt: SignInAttempt) -> str:
        """Return the address of the provider to which the browser goes. Raises SignInError."""
        async with self._client() as client:
            provider = await self._discover(client)
            address, _ = client.create_authorization_url(
                _text(provider, "authorization_endpoint"),
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
            )
            return str(address)

    async def finish(self, attempt: SignInAttempt, answer: Mapping[str, str]) -> str:
        """Return the verified e-mail address of the person.

        `answer` has the parameters with which the provider sent the browser back. Raises
        SignInError if the person refused, or if the answer does not belong to the attempt.
        """
        if not secrets.compare_digest(answer.get("state", "").encode(), attempt.state.encode()):
            raise SignInError("The answer belongs to another sign-in.", hint="Sign in again.")
        if (reason := answer.get("error")) is not None:
            raise SignInError(
                f"The provider refused the sign-in: {reason[:200]!r}.", hint="Sign in again."
            )
        async with self._client() as client:
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

    def _client(self) -> "AsyncOAuth2Client":
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
            redirect_uri=self._redirect,
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
                    raise SignInError(
                        "The description of the provider names another issuer.",
                        hint="An administrator should correct the setting oidc.issuer.",
                    )
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
            raise SignInError(
                "The provider sent an ID token that is not valid.", hint="Sign in again."
            ) from error
        claims = dict(decoded.claims)
        is_for_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if is_for_several and claims.get("azp") != self._client_id:
            raise SignInError("The ID token is for another program.", hint="Sign in again.")
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
            raise SignInError(
                f"The sign-in provider answered with the status {answer.status_code}.",
                hint="Try again later. If the error remains, tell an administrator.",
            )
        return found

    async def _request(self, request: Any) -> Any:
        """Wait for a request to the provider. Raises SignInError if it fails."""
        from authlib.common.errors import AuthlibBaseError
        from httpx2 import HTTPError

        try:
            return await request
        except AuthlibBaseError as error:
            raise SignInError(
                f"The provider refused the sign-in: {str(error.error)[:200]!r}.",
                hint="Sign in again.",
            ) from error
        except (HTTPError, ValueError) as error:
            raise SignInError(
                "The sign-in provider cannot be reached.",
                hint="Try again later. If the error remains, an administrator should check the "
                "setting oidc.issuer.",
            ) from error


def _text(provider: Mapping[str, Any], name: str) -> str:
    value = provider.get(name)
    if not isinstance(value, str) or not value.startswith(("https://", "http://")):
        raise SignInError(
            f"The description of the sign-in provider has no valid {name}.",
            hint="An administrator should check the setting oidc.issuer.",
        )
    return value


def _verified_email(claims: Mapping[str, Any]) -> str:
    email = claims.get("email")
    if not isinstance(email, str) or "@" not in email:
        raise SignInError(
            "The provider did not state your e-mail address.",
            hint="An administrator of the provider should allow the scope `email` for Treadle.",
        )
    if claims.get("email_verified") not in (True, "true"):
        raise SignInError(
            f"The provider has not verified the address {email[:200]}.",
            hint="Verify your address at the provider, then sign in again.",
        )
    return email
