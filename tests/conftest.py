"""Guards for all tests, and the seed of those that draw foreign files."""

import datetime
import gc
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from uuid import uuid4

import hypothesis
import pytest

from tests.engines import NatsServer, NewAddress, PostgresServer, nats_server, postgres_server
from treadle.app.stores import Stores
from treadle.database import PostgresAddress

# No deadline: a busy machine is not a failure.
hypothesis.settings.register_profile("treadle", deadline=None)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=40)
hypothesis.settings.load_profile("treadle")

_LOOPBACK = ("127.", "::1", "localhost")
_FIXED_SEED = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--foreign-seed",
        type=int,
        default=None,
        help="the seed by which tests draw foreign files; also the variable FOREIGN_SEED",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Draw fewer examples in quick runs, before the test modules are loaded."""
    if _is_quick(config):
        hypothesis.settings.load_profile("quick")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect the tests without garbage collection, which takes as long as all the rest of it.

    The collected tests stay until the end, so later garbage collections leave them out.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Start three workers for two cores: a third of the time, a test waits for another process."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)


def _is_quick(config: pytest.Config) -> bool:
    return "not slow" in str(config.getoption("markexpr"))


def _seed(config: pytest.Config) -> int:
    """The option, the variable, otherwise a fixed seed in quick runs and a daily one in slow
    runs.
    """
    given = config.getoption("--foreign-seed")
    if given is None and (named := os.environ.get("FOREIGN_SEED")):
        given = int(named)
    if isinstance(given, int):
        return given
    if _is_quick(config):
        return _FIXED_SEED
    return datetime.datetime.now(datetime.UTC).date().toordinal()


@pytest.fixture
def foreign_seed(request: pytest.FixtureRequest) -> int:
    """The seed for `tests.foreign.samples`; printed, so that a failure can be repeated."""
    seed = _seed(request.config)
    sys.stdout.write(f"foreign files are drawn with --foreign-seed {seed}\n")
    return seed


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if (seed := _seed(config)) != _FIXED_SEED:
        terminalreporter.write_line(f"foreign files were drawn with --foreign-seed {seed}")


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse every connection that leaves this machine: no test may reach a live provider."""
    connect = socket.socket.connect
    connect_ex = socket.socket.connect_ex

    def check(self: socket.socket, address: object) -> None:
        if self.family not in {socket.AF_INET, socket.AF_INET6}:
            return  # a socket file, or the kernel
        if isinstance(address, tuple) and not str(address[0]).startswith(_LOOPBACK):
            raise RuntimeError(f"a test tried to reach {address[0]}; tests stay on loopback")

    def guarded(self: socket.socket, address: tuple[object, ...] | str | bytes) -> None:
        check(self, address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: tuple[object, ...] | str | bytes) -> int:
        check(self, address)
        return connect_ex(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket.socket, "connect_ex", guarded_ex)
        yield


@pytest.fixture(autouse=True, scope="session")
def _certificates_loaded_once() -> Iterator[None]:
    """Share the trusted certificates: each HTTP client would load them in 30 ms."""
    import httpcore2  # tests of the start-up time do not load it

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for all tests of this process. Each test uses a database of its own."""
    with _open_folder() as folder, postgres_server(folder) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_url(postgres: PostgresServer) -> str:
    """A database for the stores of many tests. Each test uses a project of its own."""
    return postgres.new_database()


@pytest.fixture(params=("sqlite", "postgres"))
def both_stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """The empty stores of a project, on each engine."""
    if request.param == "sqlite":
        return Stores(tmp_path / "data")
    url: str = request.getfixturevalue("postgres_url")
    return Stores(tmp_path / "data", url, f"p{uuid4().hex[:20]}")


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def new_address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> NewAddress:
    """A function that returns the address of a new trace store. A test runs once for each engine.

    Quick runs use only SQLite.
    """
    return _addresses(request, tmp_path_factory)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def both_addresses(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> NewAddress:
    """The same as `new_address`, for tests that also use PostgreSQL in quick runs."""
    return _addresses(request, tmp_path_factory)


def _addresses(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> NewAddress:
    folder, numbers = tmp_path_factory.mktemp("stores"), count()
    if request.param == "sqlite":
        return lambda: folder / str(next(numbers)) / "traces.db"
    url = request.getfixturevalue("postgres").new_database()
    return lambda: PostgresAddress(url, f"p{next(numbers)}", "traces", folder)


@pytest.fixture(scope="session")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A NATS server for all tests of this process."""
    with nats_server(tmp_path_factory.mktemp("nats")) as server:
        yield server


@contextmanager
def _open_folder() -> Iterator[Path]:
    """Create a temporary folder that every user may enter: PostgreSQL does not run as root."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
