"""The fixtures of every page test: the build, a browser, and a server.

These tests are not coroutines: Playwright keeps the loop of their thread while a module of them
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
    """Skip the tests if they cannot run, but never in CI."""
    if os.environ.get("CI"):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    if not (FOLDER / "index.html").is_file():
        _missing("The page is not built: run `make web`.")


@pytest.fixture(scope="session")
def executable() -> str:
    """The path of Chromium."""
    found = find_browser()
    if found is None:
        _missing("There is no Chromium: run `scripts/browser.sh`.")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def browser(executable: str) -> Iterator[Browser]:
    """One browser for a module; each page has a separate context."""
    with browsing(executable) as browser:
        yield browser


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for tests of a module that tolerate each other's data."""
    with serving(tmp_path_factory.mktemp("shared")) as served:
        yield served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A separate server for one test, with an empty store; it takes a second or more to start."""
    with serving(tmp_path) as served:
        yield served


@pytest.fixture
def _opened(request: pytest.FixtureRequest, browser: Browser) -> Iterator[tuple[Page, Faults]]:
    """The address of the test's server."""
    name = "served" if "served" in request.fixturenames else "shared"
    with context_of(browser, request.getfixturevalue(name).address) as opened:
        yield opened


@pytest.fixture
def page(_opened: tuple[Page, Faults]) -> Page:
    """An empty page at `served`, otherwise at `shared`. Every fault in it fails the test."""
    return _opened[0]


@pytest.fixture
def faults(_opened: tuple[Page, Faults]) -> Faults:
    """The faults in `page`. A test declares here which faults it causes."""
    return _opened[1]
