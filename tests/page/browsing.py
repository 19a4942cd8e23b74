"""The browser of the page's tests, and what must not go wrong in it unseen."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Response, sync_playwright

from tests.project.pages import ROOT

_FLAGS = (
    "--no-sandbox",  # CI is root
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDE = (1280, 800)
NARROW = (390, 844)


def find_browser() -> str | None:
    """Where the browser is, if there is one."""
    found = subprocess.run(
        [ROOT / "scripts" / "browser.sh", "--find"], capture_output=True, text=True, check=False
    )
    return shutil.which(found.stdout.strip()) if found.returncode == 0 else None


@contextmanager
def browsing(executable: str) -> Iterator[Browser]:
    """The browser until it is left. Meanwhile no asyncio runs in this thread: Playwright does."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=_FLAGS)
        yield browser
        browser.close()


@dataclass
class Faults:
    """What went wrong in the pages of a context: errors, violations, requests that failed."""

    seen: list[str] = field(default_factory=list)
    _expected: list[re.Pattern[str]] = field(default_factory=list)

    def expect(self, pattern: str) -> None:
        """Let faults pass in which the pattern is found, since the test brings them about."""
        self._expected.append(re.compile(pattern))

    @property
    def unexpected(self) -> list[str]:
        """All others."""
        return [each for each in self.seen if not any(e.search(each) for e in self._expected)]

    def watch(self, context: BrowserContext) -> None:
        """Note them from now on. Violations of the policy are errors on the console."""
        context.on("console", lambda message: self._note(message.type, message.text))
        context.on("weberror", lambda error: self._note("error", str(error.error)))
        context.on("response", self._answered)
        context.on("requestfailed", lambda request: self._failed(request.url, request.failure))

    def _note(self, kind: str, text: str) -> None:
        if kind == "error":
            self.seen.append(text)

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.seen.append(f"{response.status} {response.request.method} {response.url}")

    def _failed(self, url: str, failure: str | None) -> None:
        if failure != "net::ERR_ABORTED":  # a page that is left, or a query nobody waits for
            self.seen.append(f"{failure} {url}")


def asked_from_now(page: Page) -> list[str]:
    """What the page asks of its server from now on, as "GET /path"; the list grows."""
    asked: list[str] = []
    page.on("request", lambda it: asked.append(f"{it.method} {urlsplit(it.url).path}"))
    return asked


def let_through(page: Page, address: str) -> None:
    """Let requests through that a test had routed, when the page has come to rest.

    What it reads while it is still connecting, it reads again: that would be a try of its own.
    """
    page.wait_for_load_state("networkidle")
    page.unroute(address)


@contextmanager
def context_of(
    browser: Browser, address: str, *, size: tuple[int, int] = WIDE, dark: bool = False
) -> Iterator[tuple[Page, Faults]]:
    """A page in a context of its own, as a person with reduced motion has it."""
    context = browser.new_context(
        base_url=address,
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        locale="en-US",
        timezone_id="UTC",
    )
    faults = Faults()
    faults.watch(context)
    yield context.new_page(), faults
    context.close()
    assert not faults.unexpected, "\n".join(["this went wrong in the page:", *faults.unexpected])
