"""Records the statements that a request executes, and in which file or PostgreSQL schema."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from treadle.database import Connection, Database
from treadle.database.postgres_connection import PostgresConnection

T = TypeVar("T")

Statements = list[tuple[str, str]]
"""The name of the database and the text without values, for each statement."""

PROBE_HEADER = "x-probe"
_current: ContextVar[Statements | None] = ContextVar("current", default=None)
_VALUE = re.compile(r"x?'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")


class RecordedStatements:
    """An ASGI application that records the statements of each request with a probe header."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.of_probe: dict[str, Statements] = defaultdict(list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        probe = dict(scope.get("headers", ())).get(PROBE_HEADER.encode())
        if probe is not None:
            _current.set(self.of_probe[probe.decode()])
        await self._app(scope, receive, send)


def record_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record the statements of PostgreSQL connections, and of SQLite connections from now on.

    Threads of `asyncio.to_thread` have the context of their request, so their statements belong to
    this request. Work in the thread of a database gets the context of its caller. The statements of
    other threads, such as the writer of spans, are not recorded.
    """
    connect = sqlite3.connect

    def recorded(database: Any, *options: Any, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database, *options, **more)
        path = str(database).removeprefix("file://").removesuffix("?mode=ro")
        connection.set_trace_callback(partial(_note, path))
        return connection

    run = Database.run

    async def run_in_context(database: Database, work: Callable[[Connection], T]) -> T:
        context = copy_context()
        return await run(database, lambda connection: context.run(work, connection))

    monkeypatch.setattr(sqlite3, "connect", recorded)
    monkeypatch.setattr(Database, "run", run_in_context)
    for name in ("execute", "executemany"):
        monkeypatch.setattr(PostgresConnection, name, _noting(getattr(PostgresConnection, name)))


def _noting(run: Callable[..., Any]) -> Callable[..., Any]:
    def noting(connection: PostgresConnection, sql: str, *parameters: Any) -> Any:
        _note(connection.schema, sql)
        return run(connection, sql, *parameters)

    return noting


def _note(database: str, statement: str) -> None:
    current = _current.get()
    if current is not None and not statement.startswith("--"):  # a statement of SQLite itself
        current.append((database, _VALUE.sub("?", statement)))
