"""Signing in and out in the browser."""

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cli.command import treadle
from tests.fakes.oidc import SUBJECT, published_provider
from tests.page.axe import serious_faults
from tests.page.browsing import Faults, context_of
from tests.page.served import SETTINGS, Served, serving

ADA = "ada@example.com"
SIGN_IN = """
[oidc]
issuer = "{issuer}"
client_secret_env = "OIDC_SECRET"
label = "Example"
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that requires an identity, with a provider that knows Ada."""
    folder = tmp_path_factory.mktemp("signing")
    with published_provider(email=ADA, email_verified=True) as issuer:
        settings = SETTINGS + SIGN_IN.replace("{issuer}", issuer)
        with serving(folder, (), "--require-token", settings=settings, OIDC_SECRET="s") as served:
            yield served


def invite(served: Served, email: str, role: str = "editor") -> str:
    """The path and the fragment of a new invitation."""
    home = served.repo.parent / "home"
    ran = treadle("users", "invite", email, "--role", role, "--json", home=home)
    assert ran.status == 0, ran.err
    link = urlsplit(json.loads(ran.out)["link"])
    return f"{link.path}#{link.fragment}"


def test_an_invitation_signs_a_person_in_once(
    page: Page, shared: Served, browser: Browser, faults: Faults
) -> None:
    faults.expect("404|401|no valid credentials")
    link = invite(shared, "bob@example.com")
    page.goto(link)
    page.get_by_role("button", name="Accept the invitation").click()
    expect(page.get_by_text("bob@example.com")).to_be_visible()
    assert "invitation" not in page.url
    with context_of(browser, shared.address) as (other, seen):
        seen.expect("404|401")
        other.goto(link)
        other.get_by_role("button", name="Accept the invitation").click()
        expect(other.get_by_role("alert")).to_contain_text("The invitation was not accepted")
        expect(other.get_by_role("link", name="Sign in with Example")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in with Example")).to_be_visible()
    page.goto("/threads")
    expect(page.get_by_role("status").filter(has_text="does not know who you are")).to_be_visible()


def test_a_person_signs_in_at_the_provider(page: Page, shared: Served, faults: Faults) -> None:
    faults.expect("ERR_NAME_NOT_RESOLVED|404")  # the page of the provider is not complete here
    page.goto("/sign-in")
    assert serious_faults(page) == []
    page.get_by_role("link", name="Sign in with Example").click()
    page.locator(f'[name="sub"][value="{SUBJECT}"]').first.click()
    expect(page.get_by_role("alert")).to_contain_text("Nobody has invited your e-mail address")
    invite(shared, ADA)
    page.get_by_role("link", name="Sign in with Example").click()
    page.locator(f'[name="sub"][value="{SUBJECT}"]').first.click()
    expect(page.get_by_text(ADA)).to_be_visible()
