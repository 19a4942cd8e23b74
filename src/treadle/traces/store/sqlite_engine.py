"""What the trace store does only on SQLite: the search index, triggers, and cleaning the file.

SQLite overwrites deleted rows (`secure_delete`), but their words stay in the search index until the
parts of the index are merged. When SQLite splits a page, the old page may keep a copy of a row that
moves to the new page. Only rewriting the file removes such copies. This is done for files of up to
`_MAX_REWRITTEN_BYTES`.
"""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from treadle.database import Connection, Database, transaction
from treadle.traces.store import connections, statements
from treadle.traces.store.columns import SpanRow
from treadle.traces.store.engine import Engine, Job, SearchTexts
from treadle.traces.store.statements import Text

_TRIGGER = """
    CREATE TRIGGER IF NOT EXISTS segments_{name} AFTER {event} ON spans
    WHEN {key} <= (SELECT max(last) FROM segments)
    BEGIN INSERT OR IGNORE INTO changed_spans VALUES ({key}); END"""

_CACHE_KILOBYTES = 64_000  # enough for the pages of indexes that are written at random positions
_PAGES_AT_ONCE = 500
_MAX_REWRITTEN_BYTES = 100_000_000
"""The maximum size in bytes of a file that is rewritten. Rewriting it takes about a second."""
_LOG_ATTEMPTS = 50
_LOG_WAIT_MS = 200


class SqliteEngine(Engine):
    """The parts of the trace store for SQLite."""

    text_tables = (
        # The plain text that text search reads. The rowid is spans.id. The table keeps the text, so
        # that a match can be verified character by character.
        """CREATE VIRTUAL TABLE texts USING fts5(
            name, input, output, tokenize = "unicode61 remove_diacritics 2"
        )""",
        # The index is merged less often than by default, which makes writing a tenth cheaper.
        # In return, a search reads a few more parts of the index.
        "INSERT INTO texts (texts, rank) VALUES ('automerge', 16)",
    )
    adaptations = ()
    triggers = tuple(
        _TRIGGER.format(name=event.lower(), event=event, key=key)
        for event, key in (("INSERT", "NEW.id"), ("UPDATE", "OLD.id"), ("DELETE", "OLD.id"))
    )

    outage_seconds = 0.0

    def transaction_id(self, connection: Connection) -> str | None:  # noqa: ARG002
        return None

    def is_committed(self, connection: Connection, transaction_id: str) -> bool:  # noqa: ARG002
        return False

    def prepare_writer(self, connection: Connection) -> None:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KILOBYTES}")

    def maintain(self, connection: Connection) -> None:
        """Do nothing: the planner needs no statistics, and `LogKeeper` keeps the log small."""

    def index_text(self, text: Text) -> Text:
        return text

    def index_row(self, row: SpanRow) -> SpanRow:
        return row

    def text_row(self, texts: SearchTexts) -> tuple[Any, ...]:
        return texts

    def insert_texts(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        statements.insert(connection, "INSERT INTO texts (rowid, name, input, output)", rows)

    def delete_texts(self, connection: Connection, keys: Sequence[int]) -> None:
        statements.run(connection, "DELETE FROM texts WHERE rowid IN ({})", keys)

    def columns_of(self, connection: Connection, table: str) -> set[str]:
        return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}

    def used_bytes(self, connection: Connection, spans: int) -> int:  # noqa: ARG002
        return _used_bytes(connection)

    def clean(self, database: Database, do: Callable[[Job[Any]], Any]) -> None:  # noqa: ARG002
        """Merge the search index, rewrite a small file, free unused pages, and empty the log."""
        # A round merges about `_PAGES_AT_ONCE` pages. The search index has less than half of the
        # pages of the file, so this number of rounds is enough.
        rounds = do(_pages) // _PAGES_AT_ONCE * 2 + 16
        while rounds and do(_merge):
            rounds -= 1
        if do(_used_bytes) <= _MAX_REWRITTEN_BYTES:
            do(_rewrite)
        while do(_release):
            pass
        for _ in range(_LOG_ATTEMPTS):
            if do(_truncate_log):
                break


SQLITE = SqliteEngine()


def _used_bytes(connection: Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _pages(connection: Connection) -> int:
    return int(connection.execute("PRAGMA page_count").fetchone()[0])


def _merge(connection: Connection) -> bool:
    """Merge a part of the search index. Returns whether the index changed and more may remain."""
    assert isinstance(connection, sqlite3.Connection)
    before = connection.total_changes
    with transaction(connection):
        connection.execute(
            "INSERT INTO texts (texts, rank) VALUES ('merge', ?)", (-_PAGES_AT_ONCE,)
        )
    return connection.total_changes - before > 1


def _rewrite(connection: Connection) -> None:
    connection.execute("VACUUM")


def _release(connection: Connection) -> bool:
    """Return some free pages to the file system, if the file supports it.

    Returns whether free pages are left.
    """
    if connection.execute("PRAGMA auto_vacuum").fetchone() != (connections.INCREMENTAL,):
        return False
    connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
    return bool(connection.execute("PRAGMA freelist_count").fetchone()[0])


def _truncate_log(connection: Connection) -> bool:
    return connections.empty_log(connection, _LOG_WAIT_MS)
