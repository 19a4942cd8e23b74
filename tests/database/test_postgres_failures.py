"""PostgreSQL servers that stop, die, refuse, or only read."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.database.notes import NOTES, add, texts
from tests.engines import PostgresServer
from tests.spans.runs import span
from treadle.app.stores import Stores
from treadle.database import Database, PostgresAddress, open_database
from treadle.database.probe import require_writable
from treadle.errors import StoreError
from treadle.traces import TraceStore
from treadle.traces.store.outage import Timing


def at(url: str, folder: Path, project: str = "default") -> Database:
    return open_database(PostgresAddress(url, project, "notes", folder), NOTES)


@pytest.fixture
def server(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[PostgresServer]:
    """A server of this test only, whose data folder is below that of the session's server."""
    folder = postgres.folder / uuid4().hex
    folder.mkdir(mode=0o755)
    server = PostgresServer(folder)
    server.start()
    yield server
    server.stop()


def test_a_dead_connection_is_replaced_at_the_next_use(
    server: PostgresServer, tmp_path: Path
) -> None:
    with at(server.new_database(), tmp_path) as database:
        add(database, "one")
        server.stop()  # between two uses
        with pytest.raises(StoreError, match="Connection refused") as caught:
            texts(database)
        assert "setting store.url" in (caught.value.hint or "")
        server.start()
        assert texts(database) == ["one"]
        server.stop()
        server.start()
        assert texts(database) == ["one"]

        def killed_meanwhile(crash: bool) -> None:
            with database.transaction() as connection:
                connection.execute("INSERT INTO notes (text) VALUES ('lost')")
                server.kill() if crash else server.stop()
                connection.execute("INSERT INTO notes (text) VALUES ('lost too')")

        for crash in (False, True):
            with pytest.raises(StoreError, match=r"server closed|terminating connection"):
                killed_meanwhile(crash)
            server.start()
            assert texts(database) == ["one"]
        reader = database.connect_reader()
        assert database.is_usable(reader)
        server.kill()
        assert not database.is_usable(reader)
        reader.close()
        server.start()
        reader = database.connect_reader()
        assert reader.execute("SELECT text FROM notes").fetchall() == [("one",)]
        reader.close()


def test_a_connection_that_dies_inside_a_transaction_is_not_replaced_in_it(
    postgres_url: str, tmp_path: Path
) -> None:
    with at(postgres_url, tmp_path, f"p{uuid4().hex[:20]}") as database:
        add(database, "one")

        def nested() -> None:
            with database.transaction() as connection:
                connection.execute("INSERT INTO notes (text) VALUES ('lost')")
                (process,) = connection.execute("SELECT pg_backend_pid()").fetchone()
                end_backend(postgres_url, process)
                with database.use() as same:
                    same.execute("INSERT INTO notes (text) VALUES ('lost too')")

        with pytest.raises(StoreError):
            nested()
        assert texts(database) == ["one"]


def end_backend(url: str, process: int) -> None:
    with psycopg.connect(url.replace("treadle@", "postgres@")) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", (process,))


def test_a_failure_of_the_trace_store_names_the_setting_and_not_a_file(
    server: PostgresServer, tmp_path: Path
) -> None:
    stores = Stores(tmp_path, server.new_database())
    waited: list[float] = []
    timing = Timing(lambda: sum(waited), waited.append)
    with closing(TraceStore.open(stores.traces, timing=timing)) as store:
        store.write([span("one")]).result()
        server.stop()
        for use in (store.runs, lambda: store.write([span("two")]).result()):
            with pytest.raises(StoreError) as caught:
                use()
            assert "setting store.url" in (caught.value.hint or "")
            assert "file" not in (caught.value.hint or "")
        server.start()


def test_too_many_connections_are_a_store_error(postgres: PostgresServer, tmp_path: Path) -> None:
    role = f"r{uuid4().hex}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 1")
    url = postgres.new_database().replace("treadle@", f"{role}@")
    with psycopg.connect(url), pytest.raises(StoreError, match="too many connections"):
        at(url, tmp_path).open()


def test_a_wrong_password_is_never_shown(server: PostgresServer, tmp_path: Path) -> None:
    url = server.new_database()
    (server.data / "pg_hba.conf").write_text("host all all all scram-sha-256\n")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("SET password_encryption = 'scram-sha-256'")
        connection.execute("ALTER ROLE treadle PASSWORD 'correct'")
        connection.execute("SELECT pg_reload_conf()")
    wrong = [
        url.replace("treadle@", "treadle:hunter2@"),
        url.replace("treadle@", "treadle:hunter2%zz@"),
        f"{url}?password=hunter2",
        f"{url}?hunter2=hunter2",
    ]
    for each in wrong:
        with pytest.raises(StoreError) as caught:
            at(each, tmp_path).open()
        assert "hunter2" not in str(caught.value)
    with at(url.replace("treadle@", "treadle:correct@"), tmp_path) as database:
        add(database, "one")


def test_a_missing_database_is_named(postgres: PostgresServer, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match='database "missing" does not exist'):
        at(postgres.url("missing", user="treadle"), tmp_path).open()


def test_a_server_that_only_reads_can_be_read(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.new_database()
    with at(url, tmp_path) as database:
        add(database, "one")
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        name = url.rpartition("/")[2]
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with at(f"{url}?application_name=other", tmp_path) as database:
        assert texts(database) == ["one"]
        with pytest.raises(StoreError, match="read-only transaction"):
            add(database, "two")
        assert texts(database) == ["one"]


def test_a_reader_has_a_deadline(postgres_url: str, tmp_path: Path) -> None:
    with at(postgres_url, tmp_path, f"p{uuid4().hex[:20]}") as database:
        add(database, "one")
        reader = database.connect_reader()
        with (
            pytest.raises(sqlite3.Error, match="the statement took too long"),
            database.read(reader, 0.01),
        ):
            reader.execute("SELECT pg_sleep(60)")
        with database.read(reader, 10):
            assert reader.execute("SELECT text FROM notes").fetchall() == [("one",)]
        reader.close()


def test_a_missing_psycopg_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.startswith("treadle.database.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match="psycopg is not installed") as caught:
        open_database(Stores(tmp_path, "postgresql://h/d").ui, NOTES)
    assert "pip install 'treadle[team]'" in (caught.value.hint or "")


def test_an_unsuitable_database_is_refused_before_a_store_exists(
    server: PostgresServer, tmp_path: Path
) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE latin OWNER treadle TEMPLATE template0 ENCODING 'LATIN1'"
        )
        connection.execute("CREATE DATABASE limited OWNER treadle")
        connection.execute("CREATE ROLE narrow LOGIN")
        connection.execute("GRANT CREATE ON DATABASE limited TO narrow")
        connection.execute("REVOKE TEMPORARY ON DATABASE limited FROM PUBLIC")
    for url, reason in (
        (server.url("latin", user="treadle"), "has the encoding LATIN1"),
        (server.url("limited", user="narrow"), "cannot create temporary tables"),
    ):
        address = PostgresAddress(url, "default", "notes", tmp_path)
        with at(url, tmp_path) as database, pytest.raises(StoreError, match=reason) as caught:
            database.open()
        assert "store.url" not in (caught.value.hint or "")
        with pytest.raises(StoreError, match=reason):
            require_writable(address)
