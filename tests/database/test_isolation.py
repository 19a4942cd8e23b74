"""Row-level security: a connection of one project neither reads nor changes another project."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.database.notes import NOTES, add
from tests.engines import PostgresServer
from treadle.app.project_databases import project_databases
from treadle.app.stores import Stores
from treadle.database import Connection, PostgresAddress, open_database
from treadle.database.postgres import PostgresDatabase
from treadle.database.postgres_connection import PostgresConnection
from treadle.database.tables import tables_of
from treadle.errors import StoreError


@pytest.fixture
def stores(postgres_url: str, tmp_path: Path) -> Stores:
    return Stores(tmp_path, postgres_url, f"p{uuid4().hex[:20]}")


@pytest.fixture
def database(stores: Stores) -> PostgresDatabase:
    found = open_database(stores.ui, NOTES)
    assert isinstance(found, PostgresDatabase)
    return found


def run(database: PostgresDatabase, sql: str) -> None:
    """Run a statement as a superuser."""
    with psycopg.connect(superuser(database.address.url), autocommit=True) as connection:
        connection.execute(sql)


def superuser(url: str) -> str:
    return url.replace("treadle@", "postgres@")


def test_no_statement_reaches_the_tables_of_another_project(
    stores: Stores, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Every table of every store has a row. No statement of the other project finds it."""
    url = superuser(stores.url or "")
    other = open_database(Stores(tmp_path, stores.url, f"p{uuid4().hex[:20]}").ui, NOTES)
    with other, other.use() as connection:
        for database in project_databases(stores):
            assert isinstance(database, PostgresDatabase)
            schema = database.address.schema
            with database.open():
                pass
            tables = [table.name for table in tables_of(database.schema)]
            for table in (*tables, "schema_version"):
                name = f"{schema}.{table}"
                _insert_row(url, name)
                before = _rows(url, name)
                assert before
                _expect_nothing(connection, name)
                assert _rows(url, name) == before


def _expect_nothing(connection: Connection, name: str) -> None:
    assert connection.execute(f"SELECT * FROM {name}").fetchall() == []
    (column,) = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = CAST(? AS regclass) AND attnum = 1",
        (name,),
    ).fetchone()
    for change in (f"DELETE FROM {name}", f"UPDATE {name} SET {column} = {column}"):
        with suppress(sqlite3.Error):  # a trigger of `spans` fails in another project
            assert connection.execute(change).rowcount == 0
    with pytest.raises(sqlite3.Error, match=r"row-level security|null value"):
        connection.execute(f"INSERT INTO {name} DEFAULT VALUES")


def _insert_row(url: str, name: str) -> None:
    """Insert a row with a value in each column, as a superuser who ignores foreign keys."""
    values = {"bigint": "7", "bytea": "'x'", "text": "'x'", "double precision": "1.0",
              "tsvector": "''", "text[]": "'{}'"}  # fmt: skip
    with psycopg.connect(url, autocommit=True) as connection:
        kinds = connection.execute(
            "SELECT format_type(atttypid, NULL) FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (name,),
        ).fetchall()
        connection.execute("SET session_replication_role = replica")
        row = ", ".join(values[kind] for (kind,) in kinds)
        with suppress(psycopg.errors.CheckViolation):  # the table already has its only row
            connection.execute(f"INSERT INTO {name} VALUES ({row})")


def _rows(url: str, name: str) -> list[object]:
    with psycopg.connect(url) as connection:
        return list(connection.execute(f"SELECT * FROM {name}").fetchall())


def test_a_table_without_a_policy_is_reported_and_protected_again(
    database: PostgresDatabase,
) -> None:
    with database:
        add(database, "one")
    schema = database.address.schema
    for damage in (
        f"ALTER TABLE {schema}.notes DISABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {schema}.notes NO FORCE ROW LEVEL SECURITY",
        f"DROP POLICY project ON {schema}.notes",
    ):
        run(database, damage)
        assert "no row-level policy protects the tables notes" in (database.examine() or "")
        database.migrate()
        assert database.examine() is None


def test_a_missing_table_or_column_is_reported(database: PostgresDatabase) -> None:
    database.open().close()
    run(database, f"ALTER TABLE {database.address.schema}.notes DROP COLUMN text CASCADE")
    assert database.examine() == "it lacks the columns notes.text"
    run(database, f"DROP TABLE {database.address.schema}.notes")
    assert database.examine() == "it lacks the tables notes"


def test_a_role_that_ignores_policies_is_reported(
    database: PostgresDatabase, postgres: PostgresServer, stores: Stores
) -> None:
    database.open().close()
    assert database.exposure() is None
    as_superuser = PostgresAddress(
        superuser(stores.url or ""), stores.project, "ui", database.folder
    )
    assert "does not apply to the role postgres" in (
        open_database(as_superuser, NOTES).exposure() or ""
    )


def test_a_role_without_the_right_to_create_gets_the_statement_that_gives_it(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.new_database()
    role = f"r{uuid4().hex}"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
    stores = Stores(tmp_path, url.replace("treadle@", f"{role}@"))
    with closing(open_database(stores.ui, NOTES)) as database:
        with pytest.raises(StoreError, match="permission denied for database") as caught:
            database.open()
        assert "GRANT CREATE, TEMPORARY ON DATABASE" in (caught.value.hint or "")


def test_a_prepared_statement_of_one_project_finds_nothing_in_the_next(
    stores: Stores, tmp_path: Path
) -> None:
    """A pooled connection keeps its prepared statements when it goes to another project.

    The test fails if the search path of both projects is the same.
    """
    own = open_database(stores.ui, NOTES)
    assert isinstance(own, PostgresDatabase)
    with own:
        add(own, "private")
    other = open_database(Stores(tmp_path, stores.url, f"p{uuid4().hex[:20]}").ui, NOTES)
    with other.open():
        pass
    schema = own.address.schema
    questions: list[tuple[str, tuple[str, ...], object]] = [
        (f"SELECT text FROM {schema}.notes", (), "private"),
        (f"SELECT text FROM {schema}.notes WHERE text = ?", ("private",), "private"),
        ("SELECT pg_temp.number_of_notes()", (), 1),
    ]
    with closing(own.connect()) as connection:
        assert isinstance(connection, PostgresConnection)
        connection.raw.execute(
            "CREATE FUNCTION pg_temp.number_of_notes() RETURNS bigint LANGUAGE plpgsql"
            f" AS $$ BEGIN RETURN (SELECT count(*) FROM {schema}.notes); END $$"
        )
        for mode in ("auto", "force_generic_plan"):
            connection.raw.execute(f"SET plan_cache_mode = {mode}")
            for statement, values, found in questions:
                for _ in range(12):  # psycopg prepares it, and PostgreSQL keeps its plan
                    assert connection.execute(statement, values).fetchall() == [(found,)]
    kept = connection.raw
    with closing(other.connect()) as reused:
        assert isinstance(reused, PostgresConnection)
        assert reused.raw is kept
        for statement, values, found in questions:
            for _ in range(12):
                nothing = [(0,)] if found == 1 else []
                assert reused.execute(statement, values).fetchall() == nothing


def test_a_connection_forgets_the_settings_of_its_last_use(database: PostgresDatabase) -> None:
    with database.open():
        pass
    with closing(database.connect()) as used:
        used.execute("SET enable_seqscan = off")
        with database.read(used, 5):
            used.execute("SELECT 1")
    with closing(database.connect()) as connection:
        assert connection.raw is used.raw
        for name, expected in (
            ("enable_seqscan", "on"),
            ("statement_timeout", "0"),
            ("jit", "off"),
        ):
            assert connection.raw.execute(f"SHOW {name}").fetchone() == (expected,)
