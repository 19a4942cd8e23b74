"""The tables of one store in PostgreSQL: their row-level policies, and the functions they use."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from psycopg.sql import SQL, Identifier, Literal

from treadle.database.postgres_connection import PostgresConnection, lock_key
from treadle.database.postgres_functions import FUNCTIONS
from treadle.database.postgres_functions import SCHEMA as SHARED
from treadle.database.postgres_functions import VERSION as FUNCTIONS_VERSION
from treadle.database.schema import Schema
from treadle.errors import StoreError

POLICY = "project"
"""The name of the row-level policy of each table."""

_VERSION_TABLE = "schema_version"
READ_VERSION = f"SELECT version, works_since FROM {_VERSION_TABLE}"  # noqa: S608  (a constant)
"""Reads the values of `StoredVersion` from tables that exist."""

# `to_regclass` would be shorter, but inside a transaction it can miss a table that another process
# has just created.
_KNOWN = """
    SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = %s AND c.relname = %s),
        (SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s)"""

_UNPROTECTED = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relkind IN ('r', 'p')
        AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND EXISTS
            (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = %s))
    ORDER BY c.relname"""

_COLUMNS = """
    SELECT c.relname, a.attname FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE n.nspname = %s AND c.relkind IN ('r', 'p')"""


class StoredVersion(NamedTuple):
    """The version of the tables, and the oldest version whose code works with them.

    Both are 0 if the tables do not exist.
    """

    version: int
    works_since: int


def stored_version(connection: PostgresConnection) -> StoredVersion:
    """Return the version of the store's tables."""
    return _versions(connection)[0]


def is_current(connection: PostgresConnection, schema: Schema) -> bool:
    """Whether the code of `schema` can use the tables and the shared functions as they are."""
    stored, functions = _versions(connection)
    usable = stored.works_since <= schema.version and stored.version >= schema.oldest_tables
    return usable and functions >= FUNCTIONS_VERSION


def _versions(connection: PostgresConnection) -> tuple[StoredVersion, int]:
    known, functions = connection.raw.execute(
        _KNOWN, (connection.schema, _VERSION_TABLE, SHARED)
    ).fetchone() or (False, None)
    stored = StoredVersion(0, 0)
    if known:
        row = connection.raw.execute(READ_VERSION).fetchone()
        stored = StoredVersion(*row) if row else stored
    return stored, int(functions or 0)


def require_suitable(connection: PostgresConnection) -> None:
    """Raise StoreError if the database cannot contain stores."""
    row = connection.raw.execute(
        "SELECT current_setting('server_encoding'), current_database(),"
        " has_database_privilege(current_database(), 'TEMPORARY'), current_user"
    ).fetchone()
    assert row is not None
    encoding, database, may_create_temporary, user = row
    if encoding != "UTF8":
        raise StoreError(
            f"The PostgreSQL database {database} has the encoding {encoding}, which cannot store "
            "every text.",
            hint="Create another one with `createdb --encoding=UTF8 --template=template0 NAME`.",
        )
    if not may_create_temporary:
        raise StoreError(
            f"The user {user} cannot create temporary tables in the PostgreSQL database "
            f"{database}.",
            hint=f"Run `GRANT TEMPORARY ON DATABASE {database} TO {user}` as an administrator.",
        )


def create_store(connection: PostgresConnection) -> None:
    """Create the schema of the store without the tables of its records."""
    run_ddl(connection, "CREATE SCHEMA IF NOT EXISTS {}", connection.schema)
    run_ddl(
        connection,
        f"CREATE TABLE {{}}.{_VERSION_TABLE}"
        " (version bigint NOT NULL, works_since bigint NOT NULL)",
        connection.schema,
    )
    connection.raw.execute(f"INSERT INTO {_VERSION_TABLE} VALUES (0, 0)")  # noqa: S608


def set_version(connection: PostgresConnection, schema: Schema) -> None:
    """Store the version of the tables, which `schema` has created or upgraded."""
    connection.raw.execute(
        f"UPDATE {_VERSION_TABLE} SET version = %s, works_since = %s",  # noqa: S608
        (schema.version, schema.oldest_tables),
    )


def create_functions(connection: PostgresConnection) -> None:
    """Create the functions that all projects share, unless they are up to date.

    Raises StoreError if the database is not suitable.
    """
    connection.raw.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(SHARED),))
    if _versions(connection)[1] >= FUNCTIONS_VERSION:
        return
    require_suitable(connection)
    connection.raw.execute(f"CREATE SCHEMA IF NOT EXISTS {SHARED}")
    for function in FUNCTIONS:
        connection.raw.execute(function)
    connection.raw.execute(f"COMMENT ON SCHEMA {SHARED} IS '{FUNCTIONS_VERSION}'")


def unprotected_tables(connection: PostgresConnection) -> list[str]:
    """Return the tables of the store that lack the row-level policy."""
    rows = connection.raw.execute(_UNPROTECTED, (connection.schema, POLICY))
    return [table for (table,) in rows]


def protect_tables(connection: PostgresConnection, project: str) -> None:
    """Let each table show its rows to its own project only."""
    for table in unprotected_tables(connection):
        names = (connection.schema, table)
        run_ddl(connection, "ALTER TABLE {}.{} ENABLE ROW LEVEL SECURITY", *names)
        run_ddl(connection, "ALTER TABLE {}.{} FORCE ROW LEVEL SECURITY", *names)
        run_ddl(connection, f"DROP POLICY IF EXISTS {POLICY} ON {{}}.{{}}", *names)
        check = SQL("treadle.is_project({})").format(Literal(project))
        connection.raw.execute(
            SQL("CREATE POLICY {} ON {}.{} USING ({check})").format(
                *map(Identifier, (POLICY, *names)), check=check
            )
        )


def columns(connection: PostgresConnection, schema: str) -> Mapping[str, set[str]]:
    """Return the columns of each table in a PostgreSQL schema."""
    found: dict[str, set[str]] = {}
    for table, column in connection.raw.execute(_COLUMNS, (schema,)):
        found.setdefault(table, set()).add(column)
    return found


def bypassing_role(connection: PostgresConnection) -> str | None:
    """Return the role of the connection if no row-level policy applies to it, otherwise None."""
    row: Any = connection.raw.execute(
        "SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    return row[0] if row and row[1] else None


def run_ddl(connection: PostgresConnection, statement: str, *names: str) -> None:
    """Run a statement with quoted names in place of `{}`."""
    connection.raw.execute(SQL(statement).format(*map(Identifier, names)))
