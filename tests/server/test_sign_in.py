"""A person signs in at a provider, and gets the role of an invitation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.fakes.oidc import answer_of, published_provider
from tests.server.identified import HOST, Identified, identified
from treadle.config.model import OidcSettings, Settings
from treadle.identity.identity import Role
from treadle.identity.records import Action

ADA = "ada@example.com"
CALLBACK = "/sign-in/oidc/callback"


@asynccontextmanager
async def server(
    folder: Path, issuer: str | None, *, secure: bool = False
) -> AsyncIterator[Identified]:
    oidc = OidcSettings(issuer=issuer, client_secret_env="OIDC_SECRET", label="Example")
    env = {"OIDC_SECRET": "of the client"}
    async with identified(folder, settings=Settings(oidc=oidc), env=env, secure=secure) as opened:
        yield opened


async def sign_in(opened: Identified) -> httpx2.Response:
    """Go to the provider as a browser does, and come back."""
    away = await opened.http.get("/sign-in/oidc")
    assert away.status_code == 302
    answer = await asyncio.to_thread(answer_of, away.headers["location"])
    opened.http.cookies.update(away.cookies)
    return await opened.http.get(CALLBACK, params=answer, headers=FROM_PROVIDER)


FROM_PROVIDER = {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}


async def test_an_invited_person_signs_in_and_out(tmp_path: Path) -> None:
    with published_provider(email="Ada@Example.com", email_verified=True) as issuer:
        async with server(tmp_path, issuer) as opened:
            opened.invitation(ADA, Role.EDITOR)
            home = await sign_in(opened)
            assert (home.status_code, home.headers["location"]) == (302, "/")
            cookie = next(c for c in home.headers.get_list("set-cookie") if "session" in c)
            assert "HttpOnly" in cookie
            assert "SameSite=strict" in cookie
            opened.http.cookies.update(home.cookies)
            sender = (await opened.http.get("/api/v1/identity")).json()
            assert (sender["proof"], sender["name"], sender["role"]) == ("session", ADA, "editor")
            origin = {"origin": f"http://{HOST}"}
            left = await opened.http.delete("/api/v1/identity/session", headers=origin)
            assert left.status_code == 204
            assert await opened.status() == 401
            actions = [entry.action for entry in opened.store.audit.entries()]
            assert {Action.USER_JOINED, Action.SIGN_IN, Action.SIGN_OUT} <= set(actions)


async def test_a_second_sign_in_keeps_the_role(tmp_path: Path) -> None:
    with published_provider(email=ADA, email_verified=True) as issuer:
        async with server(tmp_path, issuer) as opened:
            opened.session(ADA, Role.VIEWER)
            await sign_in(opened)
            user = opened.store.users.find(ADA)
            assert user is not None
            assert user.roles == {"default": Role.VIEWER}


async def test_a_person_whom_nobody_invited_is_refused(tmp_path: Path) -> None:
    with published_provider(email="eve@example.com", email_verified=True) as issuer:
        async with server(tmp_path, issuer) as opened:
            opened.invitation(ADA, Role.ADMIN)
            refused = await sign_in(opened)
            assert refused.headers["location"] == "/sign-in#problem=unknown"
            assert not any("session" in c for c in refused.headers.get_list("set-cookie"))
            assert opened.store.users.find("eve@example.com") is None


async def test_an_unverified_address_does_not_use_up_an_invitation(tmp_path: Path) -> None:
    with published_provider(email=ADA, email_verified=False) as issuer:
        async with server(tmp_path, issuer) as opened:
            opened.invitation(ADA, Role.ADMIN)
            refused = await sign_in(opened)
            assert refused.headers["location"] == "/sign-in#problem=unverified"
            assert len(opened.store.users.invitations(opened.clock.now_us())) == 1


@pytest.mark.parametrize("params", [{}, {"code": "c"}, {"state": "s", "code": "c"}, {"error": "x"}])
async def test_an_answer_without_an_attempt_is_refused(
    tmp_path: Path, params: dict[str, str]
) -> None:
    async with server(tmp_path, "http://127.0.0.1:1") as opened:
        back = await opened.http.get(CALLBACK, params=params, headers=FROM_PROVIDER)
        assert back.headers["location"] == "/sign-in#problem=expired"


async def test_a_provider_that_is_away_is_reported_on_the_page(tmp_path: Path) -> None:
    async with server(tmp_path, "http://127.0.0.1:1") as opened:
        back = await opened.http.get("/sign-in/oidc")
        assert back.headers["location"] == "/sign-in#problem=unavailable"


async def test_the_page_learns_the_name_of_the_provider(tmp_path: Path) -> None:
    async with server(tmp_path, "http://127.0.0.1:1") as opened:
        assert (await opened.http.get("/api/v1/identity/provider")).json() == {"label": "Example"}
    async with server(tmp_path, None) as opened:
        assert (await opened.http.get("/api/v1/identity/provider")).json() == {"label": None}
        back = await opened.http.get("/sign-in/oidc")
        assert back.headers["location"] == "/sign-in#problem=unavailable"


async def test_over_tls_cookies_are_secure_and_the_way_back_is_the_public_address(
    tmp_path: Path,
) -> None:
    with published_provider(email=ADA, email_verified=True) as issuer:
        async with server(tmp_path, issuer, secure=True) as opened:
            away = await opened.http.get("/sign-in/oidc")
            assert "Secure" in away.headers["set-cookie"]
            query = urlsplit(away.headers["location"]).query
            assert f"redirect_uri=https%3A%2F%2F{HOST}%2Fsign-in%2Foidc%2Fcallback" in query
