"""How much script is loaded before the first screen appears."""

from playwright.sync_api import Page, Response

MAX_BYTES = 250_000
"""Bytes of compressed script; the limit is that of the page's design."""


def test_the_script_of_the_first_view_stays_within_its_limit(page: Page) -> None:
    scripts: dict[str, int] = {}

    def note(response: Response) -> None:
        if response.request.resource_type == "script":
            scripts[response.url.rpartition("/")[2]] = response.request.sizes()["responseBodySize"]

    page.on("response", note)
    page.goto("/", wait_until="networkidle")
    page.get_by_role("heading", name="Threads").wait_for()
    assert len(scripts) > 1
    assert sum(scripts.values()) < MAX_BYTES, scripts
