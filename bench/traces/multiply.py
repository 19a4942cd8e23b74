"""Multiplies the spans of a store by SQL, so that a store becomes large within minutes.

Run: python -m bench.traces.multiply ADDRESS FOLDER COPIES

ADDRESS is a SQLite file or the URL of a PostgreSQL database, and FOLDER is the data folder. The
store must have been filled by `bench.traces.fill`. Each copy has the texts of the original, its own
ids, its own threads, and a period of its own after the original. Users and labels are the same.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.traces.figures import say
from treadle.database import Connection, PostgresAddress, StoreAddress, open_database, transaction
from treadle.traces.store import segment_builder
from treadle.traces.store.columns import COLUMNS
from treadle.traces.store.counters import COUNTER_COLUMNS, COUNTER_NAMES
from treadle.traces.store.engines import engine_of
from treadle.traces.store.migrations import SCHEMA
from treadle.traces.store.schema import KEY_BITS
from treadle.traces.store.sums import HOUR_US

_LIMITS = """
    SELECT min(start_us), max(last_us), max(id), (SELECT max(revision) FROM spans),
        (SELECT max(id) FROM runs), (SELECT max(id) FROM threads), (SELECT count(*) FROM threads)
    FROM traces"""
_INDEXES = """
    SELECT indexname, indexdef FROM pg_indexes i
    WHERE schemaname = current_schema() AND NOT EXISTS (
        SELECT 1 FROM pg_constraint WHERE conname = indexname
            AND connamespace = CAST(current_schema() AS regnamespace))"""


def multiply(connection: Connection, copies: int) -> None:
    """Add `copies` copies of all spans in the store."""
    first, last, *most = connection.execute(_LIMITS).fetchone()
    shift = (last - first) // HOUR_US * HOUR_US + HOUR_US
    texts: list[str] = [name for name in ("texts", "partial", "tokens", "folded")
             if name in engine_of(connection).columns_of(connection, "texts")]  # fmt: skip
    with _without_indexes(connection):
        for copy in range(1, copies + 1):
            with transaction(connection):
                numbers = [copy * each for each in most]
                for statement in _statements(copy, shift, numbers, first + shift, texts):
                    connection.execute(statement)
            say(f"copy {copy}")
        with transaction(connection):
            changes = ", ".join(f"{name} = {name} * {copies + 1}" for name in COUNTER_NAMES)
            connection.execute(f"UPDATE properties SET {changes}")
            connection.execute("UPDATE given SET number = number * ?", (copies + 1,))
    while segment_builder.advance(connection):
        pass


def _statements(
    copy: int, shift: int, numbers: list[int], end: int, texts: list[str]
) -> Iterator[str]:
    """Yield the statements that insert one copy of the rows that start before `end`."""
    trace, revision, run, thread, named = numbers
    key, time = copy * shift << KEY_BITS, copy * shift
    last = end << KEY_BITS

    def rotated(column: str) -> str:
        return f"substr({column}, {copy + 1}) || substr({column}, 1, {copy})"

    def thread_of(column: str) -> str:
        return f"'thread-' || CAST(CAST(substr({column}, 8) AS bigint) + {named} AS text)"

    changed = {
        "id": f"id + {key}", "trace": f"trace + {trace}", "revision": f"revision + {revision}",
        "start_us": f"start_us + {time}", "end_us": f"end_us + {time}",
        "content_key": f"content_key + {copy}",
        "own_thread": f"CASE WHEN own_thread IS NOT NULL THEN {thread_of('own_thread')} END",
    }  # fmt: skip
    selected = ", ".join(changed.get(name, name) for name in COLUMNS)
    yield f"INSERT INTO spans ({', '.join(COLUMNS)}) SELECT {selected} FROM spans WHERE id < {last}"
    yield f"INSERT INTO contents (id, data) SELECT id + {key}, data FROM contents WHERE id < {last}"
    columns = ", ".join(["name", "input", "output", *(each for each in texts)])
    yield (
        f"INSERT INTO texts (rowid, {columns})"
        f" SELECT rowid + {key}, {columns} FROM texts WHERE rowid < {last}"
    )
    times = f"start_us + {time}, last_us + {time}"
    yield (
        "INSERT INTO traces (id, trace_id, own_run, own_thread, run_id, root, rooted, start_us,"
        f" last_us, {COUNTER_COLUMNS}) SELECT id + {trace}, {rotated('trace_id')}, own_run,"
        f" {changed['own_thread']}, {rotated('run_id')}, root + {key}, rooted, {times},"
        f" {COUNTER_COLUMNS} FROM traces WHERE root < {last}"
    )
    yield (
        f"INSERT INTO runs (id, run_id, thread_id, root, start_us, last_us, {COUNTER_COLUMNS})"
        f" SELECT id + {run}, {rotated('run_id')}, {thread_of('thread_id')}, root + {key}, {times},"
        f" {COUNTER_COLUMNS} FROM runs WHERE root < {last}"
    )
    yield (
        f"INSERT INTO threads (id, thread_id, runs, start_us, last_us, {COUNTER_COLUMNS})"
        f" SELECT id + {thread}, {thread_of('thread_id')}, runs, {times}, {COUNTER_COLUMNS}"
        f" FROM threads WHERE start_us < {end}"
    )
    for where, value in (("facet = 'thread'", thread_of("value")), ("facet <> 'thread'", "value")):
        yield (
            "INSERT INTO trace_facets (facet, value, trace, count)"
            f" SELECT facet, {value}, trace + {trace}, count FROM trace_facets"
            f" WHERE {where} AND trace <= {trace // copy}"
        )
    for table, names in (("span_labels", "label"), ("span_properties", "name, value")):
        yield (
            f"INSERT INTO {table} ({names}, span) SELECT {names}, span + {key} FROM {table}"
            f" WHERE span < {last}"
        )
    sums = ", ".join(f"{name} = rollups.{name} + excluded.{name}" for name in COUNTER_NAMES)
    yield (
        f"INSERT INTO rollups (dimension, value, hour_us, {COUNTER_COLUMNS})"
        f" SELECT dimension, value, hour_us + {time}, {COUNTER_COLUMNS} FROM rollups"
        f" WHERE hour_us < {end}"
        f" ON CONFLICT (dimension, value, hour_us) DO UPDATE SET {sums}"
    )


@contextmanager
def _without_indexes(connection: Connection) -> Iterator[None]:
    """Remove the indexes of PostgreSQL and create them again, which is faster than updating them.

    Without the row-level policy of the owner, rows could be read with COPY. It stays as it is.
    """
    from treadle.database.postgres_connection import PostgresConnection

    if not isinstance(connection, PostgresConnection):
        yield
        return
    indexes: list[tuple[Any, ...]] = connection.raw.execute(_INDEXES.replace("%", "%%")).fetchall()
    for name, _ in indexes:
        connection.raw.execute(f"DROP INDEX {name}")
    try:
        yield
    finally:
        connection.raw.execute("SET maintenance_work_mem = '512MB'")
        connection.raw.execute("SET max_parallel_maintenance_workers = 1")
        for name, definition in indexes:
            say(name)
            connection.raw.execute(definition)
        connection.raw.execute("VACUUM ANALYZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("folder", type=Path)
    parser.add_argument("copies", type=int)
    options = parser.parse_args()
    address: StoreAddress = Path(options.address)
    if "://" in options.address:
        address = PostgresAddress(options.address, "default", "traces", options.folder)
    with open_database(address, SCHEMA) as database, database.use() as connection:
        multiply(connection, options.copies)


if __name__ == "__main__":
    main()
