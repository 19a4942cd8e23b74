"""People sign in with an OpenID Connect provider."""

import time
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from joserfc.jwk import OctKey, RSAKey

from tests.fakes.oidc import ForgingProvider, answer_of, published_provider
from treadle.clock import SystemClock
from treadle.config.model import OidcSettings
from treadle.server.oidc import OidcClient, SignInAttempt, SignInError

ADDRESS = "http://127.0.0.1:7070"


def client_of(issuer: str, secret: str | None = "a secret") -> OidcClient:
    settings = OidcSettings(issuer=issuer, client_id="treadle")
    return OidcClient(issuer, settings, secret=secret, clock=SystemClock())


@pytest.fixture
def forging(monkeypatch: pytest.MonkeyPatch) -> ForgingProvider:
    provider = ForgingProvider()
    transport = httpx2.MockTransport(provider.answer)
    create = httpx2.AsyncClient.__init__

    def created(self: httpx2.AsyncClient, **options: Any) -> None:
        create(self, **{**options, "transport": transport})

    monkeypatch.setattr(httpx2.AsyncClient, "__init__", created)
    return provider


def claims(attempt: SignInAttempt, **changes: object) -> dict[str, object]:
    now = int(time.time())
    sound = {
        "iss": "https://login.example.com", "aud": "treadle", "sub": "7", "nonce": attempt.nonce,
        "iat": now, "exp": now + 300, "email": "ada@example.com", "email_verified": True,
    }  # fmt: skip
    return {name: value for name, value in {**sound, **changes}.items() if value is not None}


async def finish(provider: ForgingProvider, attempt: SignInAttempt) -> str:
    client = client_of(provider.issuer)
    return await client.finish(attempt, {"state": attempt.state, "code": "c"}, ADDRESS)


async def test_a_person_signs_in_at_a_published_provider() -> None:
    with published_provider(email="ada@example.com", email_verified=True) as issuer:
        client = client_of(issuer)
        attempt = SignInAttempt.new()
        address = await client.start(attempt, ADDRESS)
        assert address.startswith(f"{issuer}/oauth2/authorize?")
        kept = SignInAttempt.from_cookie(attempt.to_cookie())
        assert await client.finish(kept, answer_of(address), ADDRESS) == "ada@example.com"


@pytest.mark.parametrize(
    ("secret", "methods", "sent"),
    [
        ("s", None, "basic"),
        ("s", ["client_secret_basic", "client_secret_post"], "basic"),
        ("s", ["client_secret_post"], "post"),
        (None, ["client_secret_basic"], "none"),
    ],
)
async def test_the_client_secret_is_sent_as_the_provider_requires(
    forging: ForgingProvider, secret: str | None, methods: list[str] | None, sent: str
) -> None:
    attempt = SignInAttempt.new()
    forging.claims = claims(attempt)
    if methods is not None:
        forging.description = {"token_endpoint_auth_methods_supported": methods}
    client = client_of(forging.issuer, secret)
    await client.finish(attempt, {"state": attempt.state, "code": "c"}, ADDRESS)
    request = next(each for each in forging.requests if each.url.path == "/token")
    body = request.content.decode()
    assert ("authorization" in request.headers) == (sent == "basic")
    assert ("client_secret=s" in body) == (sent == "post")
    assert f"code_verifier={attempt.verifier}" in body


async def test_an_address_that_the_provider_has_not_verified_is_refused() -> None:
    with published_provider(email="ada@example.com", email_verified=False) as issuer:
        client, attempt = client_of(issuer), SignInAttempt.new()
        with pytest.raises(SignInError, match="has not verified the address ada"):
            await client.finish(attempt, answer_of(await client.start(attempt, ADDRESS)), ADDRESS)


async def test_a_code_of_another_attempt_is_refused() -> None:
    with published_provider(email="ada@example.com", email_verified=True) as issuer:
        client, attempt = client_of(issuer), SignInAttempt.new()
        answer = answer_of(await client.start(attempt, ADDRESS))
        stolen = replace(SignInAttempt.new(), state=attempt.state)
        with pytest.raises(SignInError, match="ID token that is not valid"):
            await client.finish(stolen, answer, ADDRESS)


async def test_an_answer_with_another_state_is_refused_without_a_request(
    forging: ForgingProvider,
) -> None:
    attempt = SignInAttempt.new()
    for state in ("", "x", attempt.nonce):
        with pytest.raises(SignInError, match="another sign-in"):
            await client_of(forging.issuer).finish(attempt, {"state": state, "code": "c"}, ADDRESS)
    assert forging.requests == []


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://other.example.com"},
        {"iss": None},
        {"aud": "another"},
        {"aud": ["treadle", "another"], "azp": "another"},
        {"aud": None},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"nbf": int(time.time()) + 3_600},
    ],
)
async def test_an_id_token_for_another_purpose_is_refused(
    forging: ForgingProvider, changes: dict[str, object]
) -> None:
    attempt = SignInAttempt.new()
    forging.claims = claims(attempt, **changes)
    with pytest.raises(SignInError, match="ID token"):
        await finish(forging, attempt)


async def test_a_sound_id_token_is_accepted(forging: ForgingProvider) -> None:
    attempt = SignInAttempt.new()
    forging.claims = claims(attempt, aud=["treadle", "another"], azp="treadle")
    assert await finish(forging, attempt) == "ada@example.com"


async def test_an_id_token_of_another_key_is_refused(forging: ForgingProvider) -> None:
    attempt = SignInAttempt.new()
    forging.claims = claims(attempt)
    forging.signing_key = RSAKey.generate_key(2048, {"kid": "a"})
    with pytest.raises(SignInError, match="not valid"):
        await finish(forging, attempt)


async def test_an_id_token_signed_with_a_password_is_refused(
    forging: ForgingProvider,
) -> None:
    attempt = SignInAttempt.new()
    forging.claims = claims(attempt)
    forging.header = {"alg": "HS256", "kid": "a"}
    forging.signing_key = OctKey.generate_key(256)
    with pytest.raises(SignInError, match="not valid"):
        await finish(forging, attempt)


async def test_a_new_key_of_the_provider_is_fetched(forging: ForgingProvider) -> None:
    client, attempt = client_of(forging.issuer), SignInAttempt.new()
    forging.claims = claims(attempt)
    answer = {"state": attempt.state, "code": "c"}
    assert await client.finish(attempt, answer, ADDRESS) == "ada@example.com"
    client._keys = (client._clock.monotonic() - 61, client._keys[1]) if client._keys else None
    forging.key = RSAKey.generate_key(2048, {"kid": "b"})
    forging.header = {"alg": "RS256", "kid": "b"}
    assert await client.finish(attempt, answer, ADDRESS) == "ada@example.com"


async def test_the_address_comes_from_the_user_info_of_the_same_person(
    forging: ForgingProvider,
) -> None:
    attempt = SignInAttempt.new()
    forging.claims = claims(attempt, email=None, email_verified=None)
    forging.user_info = {"sub": "7", "email": "ada@example.com", "email_verified": True}
    assert await finish(forging, attempt) == "ada@example.com"
    forging.user_info["sub"] = "8"
    with pytest.raises(SignInError, match="did not state"):
        await finish(forging, attempt)


async def test_a_description_of_another_issuer_is_refused(forging: ForgingProvider) -> None:
    forging.description = {"issuer": "https://other.example.com"}
    with pytest.raises(SignInError, match="another issuer"):
        await client_of(forging.issuer).start(SignInAttempt.new(), ADDRESS)


async def test_a_provider_that_is_away_is_reported() -> None:
    with pytest.raises(SignInError, match="cannot be reached"):
        await client_of("http://127.0.0.1:1").start(SignInAttempt.new(), ADDRESS)


def test_a_damaged_cookie_is_refused() -> None:
    for text in ("", "a", "a.b", "a.b.", "a.b.c.d"):
        with pytest.raises(SignInError, match="cookie of the attempt is missing"):
            SignInAttempt.from_cookie(text)


def test_an_issuer_without_encryption_is_refused() -> None:
    with pytest.raises(ValueError, match="https://"):
        OidcSettings(issuer="http://login.example.com")
