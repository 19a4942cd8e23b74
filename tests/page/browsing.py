"""The browser of the page tests, and the faults that it must not hide."""

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
    "--no-sandbox",  # CI runs as root
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
    """The path of the browser, if there is one."""
    found = subprocess.run(
        [ROOT / "scripts" / "browser.sh", "--find"], capture_output=True, text=True, check=False
    )
    return shutil.which(found.stdout.strip()) if found.returncode == 0 else None


@contextmanager
def browsing(executable: str) -> Iterator[Browser]:
    """The browser, until the block ends.

    Playwright's loop occupies this thread meanwhile, so asyncio cannot run.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=_FLAGS)
        yield browser
        browser.close()


@dataclass
class Faults:
    """The faults in the pages of a context: errors, policy violations, failed requests."""

    seen: list[str] = field(default_factory=list)
    _expected: list[re.Pattern[str]] = field(default_factory=list)

    def expect(self, pattern: str) -> None:
        """Allow faults that match the pattern, since the test causes them."""
        self._expected.append(re.compile(pattern))

    @property
    def unexpected(self) -> list[str]:
        """All others."""
        return [each for each in self.seen if not any(e.search(each) for e in self._expected)]

    def watch(self, context: BrowserContext) -> None:
        """Collect them from now on. Policy violations are console errors."""
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
        if failure != "net::ERR_ABORTED":  # a page that was left, or a query that was dropped
            self.seen.append(f"{failure} {url}")


def asked_from_now(page: Page) -> list[str]:
    """The page's requests to its server from now on, as "GET /path"; the list grows."""
    asked: list[str] = []
    page.on("request", lambda it: asked.append(f"{it.method} {urlsplit(it.url).path}"))
    return asked


def let_through(page: Page, address: str) -> None:
    """Release the requests that a test has routed, when the page has settled.

    While it is still connecting, the page repeats its requests, which would count as retries.
    """
    page.wait_for_load_state("networkidle")
    page.unroute(address)


@contextmanager
def context_of(
    browser: Browser, address: str, *, size: tuple[int, int] = WIDE, dark: bool = False
) -> Iterator[tuple[Page, Faults]]:
    """A page in a separate context, for a person with reduced motion."""
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
