"""Two OpenID Connect providers: a published one, and one whose answers a test can forge."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.engines import free_port

SUBJECT = "7"


@contextmanager
def published_provider(**claims: object) -> Iterator[str]:
    """Run oidc-provider-mock with one user, and yield the issuer."""
    port = free_port()
    user = json.dumps({"sub": SUBJECT, **claims})
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "-p", str(port),
         "-H", "localhost", "--user-claims", user],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    issuer = f"http://localhost:{port}"
    try:
        for _ in range(200):
            try:
                httpx2.get(f"{issuer}/.well-known/openid-configuration", timeout=5)
                break
            except httpx2.TransportError:
                assert process.poll() is None
                time.sleep(0.05)
        yield issuer
    finally:
        process.terminate()
        process.wait(timeout=10)


def answer_of(address: str) -> dict[str, str]:
    """Authorize at the published provider, and return the parameters that it sends back."""
    answer = httpx2.post(address, data={"sub": SUBJECT}, follow_redirects=False, timeout=10)
    assert answer.status_code == 302, answer.text
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


@dataclass
class ForgingProvider:
    """Answers requests in the process of the test. The test chooses each part of the answers."""

    issuer: str = "https://login.example.com"
    claims: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256", "kid": "a"})
    description: dict[str, Any] = field(default_factory=dict)
    user_info: dict[str, Any] = field(default_factory=dict)
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "a"}))
    signing_key: Any = None
    """The key that signs tokens, if it differs from the published key."""
    requests: list[httpx2.Request] = field(default_factory=list)

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request of the client."""
        self.requests.append(request)
        match request.url.path:
            case "/.well-known/openid-configuration":
                return httpx2.Response(200, json={
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/jwks",
                    "userinfo_endpoint": f"{self.issuer}/userinfo",
                    "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
                    **self.description,
                })  # fmt: skip
            case "/jwks":
                return httpx2.Response(200, json={"keys": [self.key.as_dict(private=False)]})
            case "/userinfo":
                return httpx2.Response(200, json=self.user_info)
            case "/token":
                token = jwt.encode(
                    self.header, self.claims, self.signing_key or self.key,
                    algorithms=["RS256", "HS256"],
                )  # fmt: skip
                return httpx2.Response(
                    200, json={"access_token": "a", "token_type": "Bearer", "id_token": token}
                )
        return httpx2.Response(404)
