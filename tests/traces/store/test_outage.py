"""The writer of spans repeats its commits while PostgreSQL is away, for a limited time."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import OperationalError
from uuid import uuid4

import pytest

from tests.engines import PostgresServer
from tests.spans.runs import span
from treadle.database import Connection, PostgresAddress
from treadle.database.postgres import PostgresDatabase
from treadle.database.postgres_connection import PostgresConnection
from treadle.errors import StoreError
from treadle.traces import TraceStore
from treadle.traces.store.outage import Timing


class Pauses:
    """Takes the place of waiting. Starts the server in the pause with the given number."""

    def __init__(self, server: PostgresServer, start_in: int | None) -> None:
        self._server = server
        self._start_in = start_in
        self.seconds: list[float] = []
        self.timing = Timing(lambda: sum(self.seconds), self.sleep)

    def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if len(self.seconds) == self._start_in:
            self._server.start()


@pytest.fixture
def address(postgres_url: str, tmp_path: Path) -> PostgresAddress:
    return PostgresAddress(postgres_url, f"p{uuid4().hex[:20]}", "traces", tmp_path)


def ids(store: TraceStore) -> set[str]:
    return {each.span_id for each in store.spans().data}


def test_requests_during_a_restart_succeed(
    postgres: PostgresServer, address: PostgresAddress
) -> None:
    pauses = Pauses(postgres, start_in=5)
    with closing(TraceStore.open(address, timing=pauses.timing)) as store:
        store.write([span("before")], redacted={"key": 1}).result()
        postgres.kill()
        during: list[Future[None]] = [
            store.write([span(f"s{number}")], redacted={"key": 1}) for number in range(10)
        ]
        for request in during:
            request.result()

        assert ids(store) == {"before", *(f"s{number}" for number in range(10))}
        assert store.redactions() == {"key": 11}
        assert pauses.seconds == sorted(pauses.seconds)
        assert pauses.seconds[0] < pauses.seconds[-1]


def test_requests_fail_if_the_server_is_away_for_longer(
    postgres: PostgresServer, address: PostgresAddress
) -> None:
    pauses = Pauses(postgres, start_in=None)
    with closing(TraceStore.open(address, timing=pauses.timing)) as store:
        store.write([span("before")]).result()
        postgres.kill()
        try:
            failure = store.write([span("lost")]).exception()
            assert isinstance(failure, StoreError)
            assert "could not be written" in failure.message
            assert "store.url" in (failure.hint or "")
            assert sum(pauses.seconds) == pytest.approx(30)
            assert isinstance(store.write([span("later")]).exception(), StoreError)
            assert sum(pauses.seconds) == pytest.approx(30)  # it does not wait 30 s again
        finally:
            postgres.start()
        store.write([span("after")]).result()
        assert ids(store) == {"before", "after"}


@pytest.mark.parametrize("committed", [True, False])
def test_redactions_of_a_repeated_commit_count_once(
    postgres: PostgresServer,
    address: PostgresAddress,
    monkeypatch: pytest.MonkeyPatch,
    committed: bool,
) -> None:
    losses = 0

    write = PostgresDatabase.write

    @contextmanager
    def losing(database: PostgresDatabase, connection: Connection) -> Iterator[None]:
        """Lose the connection before or after the first commit."""
        nonlocal losses
        assert isinstance(connection, PostgresConnection)
        losses += 1
        with write(database, connection):
            yield
            if losses == 1 and not committed:
                connection.raw.close()
        if losses == 1:
            connection.raw.close()
            raise OperationalError("the reply to the commit is lost")

    monkeypatch.setattr(PostgresDatabase, "write", losing)
    pauses = Pauses(postgres, start_in=None)
    with closing(TraceStore.open(address, timing=pauses.timing)) as store:
        store.write([span("s")], redacted={"key": 3}).result()
        assert ids(store) == {"s"}
        assert store.redactions() == {"key": 3}
        assert len(pauses.seconds) == 1
