"""What every test of the page has: the build, a browser, a server with data to come.

The tests here are no coroutines: Playwright keeps the loop of their thread while a module of them
runs, hence the scope of `browser`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.browsing import Faults, browsing, context_of, find_browser
from tests.page.served import Served, serving
from treadle.server.built_page import FOLDER

expect.set_options(timeout=20_000)  # milliseconds: the machine may be busy


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("browser")


def _missing(what: str) -> None:
    """Pass the tests over where they cannot run, but never in CI."""
    if os.environ.get("CI"):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    if not (FOLDER / "index.html").is_file():
        _missing("The page is not built: run `make web`.")


@pytest.fixture(scope="session")
def executable() -> str:
    """Where Chromium is."""
    found = find_browser()
    if found is None:
        _missing("There is no Chromium: run `scripts/browser.sh`.")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def browser(executable: str) -> Iterator[Browser]:
    """One browser for a module; each page has a context of its own."""
    with browsing(executable) as browser:
        yield browser


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for the tests of a module that do not mind what the others did with it."""
    with serving(tmp_path_factory.mktemp("shared")) as served:
        yield served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server of the test's own, with nothing recorded yet; it takes a second or more to start."""
    with serving(tmp_path) as served:
        yield served


@pytest.fixture
def _opened(request: pytest.FixtureRequest, browser: Browser) -> Iterator[tuple[Page, Faults]]:
    """At the server that the test has."""
    name = "served" if "served" in request.fixturenames else "shared"
    with context_of(browser, request.getfixturevalue(name).address) as opened:
        yield opened


@pytest.fixture
def page(_opened: tuple[Page, Faults]) -> Page:
    """An empty page at `served`, or else at `shared`; whatever goes wrong in it fails the test."""
    return _opened[0]


@pytest.fixture
def faults(_opened: tuple[Page, Faults]) -> Faults:
    """What goes wrong in `page`; a test says here what it brings about."""
    return _opened[1]
